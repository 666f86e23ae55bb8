"""A C++17 file: comment, headers, macros, helpers, and the functions, of which one has plain C linkage and takes pointers.

The author's kernels and Inductor's are written by it. The helpers stand in `parts/functions.cpp.txt`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kernelwright.propose.author.emit.cpp import MEMORY
from kernelwright.propose.author.emit.scope import WIDTH
from kernelwright.propose.author.ir.program import CODED, Tensor

FLAGS = ("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
"""They let square roots, selections and fused products be vector code; none changes what a result means."""
ALIGNMENT = 64
"""Bytes: where a buffer in the workspace begins."""
HEADERS = {"vector": ("std::vector",), "algorithm": ("std::min", "std::fill"), "cmath": ("INFINITY", "NAN", "std::")}
"""What needs a header."""
MARKS: dict[str, str] = {"amax": "fast::amax :", "amin": "fast::amin :", **{kind: f"_{kind}(" for kind in CODED}}
"""How a body names the helpers that are not called by their own name."""
INTRINSICS = ("#if defined(__SSE2__)", "#include <immintrin.h>", "#endif", "")


class Function(NamedTuple):
    """A helper and the helpers that it calls."""

    name: str
    text: str
    needs: tuple[str, ...]
    headers: tuple[str, ...]

    @classmethod
    def read(cls, block: str) -> "Function":
        """Of a block of `parts/functions.cpp.txt`, whose first line has its name, what it calls, and its headers."""
        head, _, text = block.partition("\n")
        name, *words = head.split()
        needs, headers = ([w.strip("<>") for w in words if w.startswith("<") == angled] for angled in (False, True))
        return cls(name, text, tuple(needs), tuple(headers))


_BLOCKS = (Path(__file__).parent / "parts" / "functions.cpp.txt").read_text(encoding="utf-8").split("//: ")[1:]
FUNCTIONS = {function.name: function for function in map(Function.read, _BLOCKS)}
"""The helpers by name, each behind those that it calls."""
LIBM = "exp_libm"
"""The exponential of the C library, which may stand for our own."""


def selected(names: Iterable[str], *, libm: bool = False) -> list[Function]:
    """The named helpers with all that they need, each behind what it calls; `libm`: the exponential is the C library's."""
    table = FUNCTIONS | ({"exp": FUNCTIONS[LIBM]} if libm else {})
    wanted: dict[str, Function] = {}

    def want(name: str) -> None:
        for need in table[name].needs:
            want(need)
        wanted.setdefault(name, table[name])

    for name in table:
        if name in names:
            want(name)
    return list(wanted.values())


def cpp_file(
    comment: Sequence[str], body: str, helpers: Sequence[Function], headers: Iterable[str], macros: Sequence[str] = ()
) -> str:
    """The file.

    Args:
        comment: Lines at its head.
        body: The functions.
        helpers: What of the vector functions they call, each declared before its use.
        headers: What they include, beside the helpers' own.
        macros: Lines between headers and helpers, the last one empty.
    """
    included = sorted({"cstdint", *headers, *(h for helper in helpers for h in helper.headers)})
    lines = [f"// {line}" for line in comment]
    lines += ["#include <omp.h>", ""] if "omp_get" in body and "omp.h" not in included else []
    lines += [*(f"#include <{header}>" for header in included), ""]
    lines += INTRINSICS if any(helper.name == "line" for helper in helpers) else ()
    lines += macros
    if helpers:
        texts = [line for helper in helpers for line in ("", *helper.text.rstrip("\n").split("\n"))]
        lines += ["namespace fast {", *texts, "", "}  // namespace fast", ""]
    return "\n".join(lines) + "\n" + body


def helpers_in(body: str, *, libm: bool = False) -> list[Function]:
    """The vector functions that a body calls; `libm` takes the exponential from the C library."""
    return selected({name for name in FUNCTIONS if MARKS.get(name, f"fast::{name}(") in body}, libm=libm)


def headers_of(body: str) -> set[str]:
    """The standard headers that a body needs."""
    return {header for header, marks in HEADERS.items() if any(mark in body for mark in marks)}


def signature(name: str, arguments: Sequence[Tensor], outputs: Sequence[Tensor], *, workspace: bool = False) -> str:
    """The entry's first line or lines."""
    parameters = [f"const {MEMORY[t.dtype]}* __restrict {t.identifier}" for t in arguments]
    parameters += [f"{MEMORY[t.dtype]}* __restrict {t.identifier}" for t in outputs]
    parameters += ["void* workspace"] * workspace
    line = f'extern "C" void {name}({", ".join(parameters)}) {{'
    return line if len(line) <= WIDTH else f'extern "C" void {name}(\n    ' + ",\n    ".join(parameters) + ") {"


def aligned(nbytes: int) -> int:
    """Bytes of the workspace that a buffer takes."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
