"""Techniques as rewritings of a serial function, each offered only where it changes something and what it needs is given.

A candidate made here says in its first line which techniques it has, so that the next one is made from the serial code again
with one more: the order in which they came does not matter, and two ways to the same set meet in the same text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import islpy

from kernelwright.nests.cpp import cpp_source, elements, named
from kernelwright.nests.cuda import cuda_source
from kernelwright.nests.cuts import cut, parted
from kernelwright.nests.dependence import Verdict, beyond, verdicts
from kernelwright.nests.device import CannotError
from kernelwright.nests.loops import Loop, Nest
from kernelwright.nests.macros import preprocessed
from kernelwright.nests.normal import normal
from kernelwright.nests.plan import by_stride, fused, outward, shared, slanted
from kernelwright.nests.reader import read_nest
from kernelwright.nests.syntax import called, functions, parse, walk
from kernelwright.records.expression import worth
from kernelwright.records.task import SerialSpec

WRITTEN = {"cpu": "cpp", "cuda": "cuda"}
"""By kind of device, the language of what is made here."""
UNFORESEEN = (AssertionError, StopIteration, LookupError, ValueError, RecursionError, islpy.Error)
"""How a reader of text ends on text that it was not written for."""
UNKNOWN = "its code has a form that the reader does not know ({}: {})"
_MARK = re.compile(r"^// techniques: ([\w, -]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Rewriting:
    """A technique that the rewriter masters."""

    technique: str
    kinds: tuple[str, ...]
    think: str
    """Why it is taken, in a sentence."""
    port: bool = False
    """It makes a kernel of serial code; any other one needs a kernel."""


REWRITINGS = (
    Rewriting("function-with-constants", ("cpu",), "The sizes are known, so the loops' ends are too.", port=True),
    Rewriting("threads-over-rows", ("cpu",), "Passes that need no order are shared out among the cores.", port=True),
    Rewriting(
        "thread-per-element", ("cuda",), "Passes that need no order are shared out among the threads.", port=True
    ),
    Rewriting("warp-per-row", ("cuda",), "A warp's lanes share out the loops within a pass, side by side in memory."),
    Rewriting("privatised-histogram", ("cuda",), "Each block counts in its own memory first."),
    Rewriting("grid-stride-persistent", ("cuda",), "As many blocks as run at once take pass after pass."),
    Rewriting(
        "simd-reduction", ("cpu",), "Passes of the innermost loops run in the lanes of a core; sums in any order."
    ),
    Rewriting("loop-interchange", ("cpu", "cuda"), "The loop with the smaller steps through memory goes inside."),
    Rewriting("privatised-partials", ("cpu",), "Each core adds to an array of its own; they meet at the end."),
    Rewriting("restrict-pointers", ("cpu", "cuda"), "No argument overlaps another one."),
    Rewriting("loop-unrolling", ("cpu", "cuda"), "Fewer jumps, and more work that waits for nothing."),
    Rewriting("fused-passes", ("cpu", "cuda"), "Neighbouring loops over the same passes go over memory once."),
)


@dataclass(frozen=True)
class Rewritten:
    """What a technique makes of a code."""

    technique: str
    think: str
    code: str


def applied(code: str) -> frozenset[str]:
    """The techniques that a candidate made here says it has; none: it is no such candidate."""
    found = _MARK.search(code)
    return frozenset(found[1].split(", ")) if found else frozenset()


def rewritten(origin: str, spec: SerialSpec, kind: str, code: str) -> Iterator[Rewritten]:
    """All that can be made of a code: of the serial function what makes a kernel, of a kernel made here one technique more."""
    have = applied(code)
    if not have and code != origin:
        return
    for one in REWRITINGS:
        if kind not in one.kinds or one.technique in have or not (one.port or have):
            continue
        made = source(origin, spec, kind, have | {one.technique})
        if made is not None and _MARK.sub("", made) != _MARK.sub("", code):
            yield Rewritten(one.technique, one.think, made)


def whole_numbers(spec: SerialSpec) -> dict[str, int]:
    """What the function is given by value, where it is a whole number."""
    return {
        a.name: worth(a.value, spec.sizes)
        for a in spec.arguments
        if not a.pointer and not isinstance(a.value, float) and not a.dtype.startswith("float")
    }


def hindrance(origin: str, spec: SerialSpec, kind: str) -> str:
    """Why no kernel can be made of a function; empty: one can."""
    said = spec.model_dump_json()
    try:
        _, nest, known = _read(origin, said, frozenset())
        if shared(nest, known, 1):
            _made(origin, said, kind, frozenset({next(r.technique for r in REWRITINGS if r.port and kind in r.kinds)}))
            return ""
    except CannotError as error:
        return str(error)
    kept = [f"of the loop over {loop.head.variable}, {v.reason}" for loop, v in known.items() if v.reason and loop.head]
    kept += [f"of a loop that does not count, {v.reason}" for loop, v in known.items() if not loop.head]
    return "; ".join(dict.fromkeys(kept)) or _unseen(nest) or "it has no loop that counts"


def _unseen(nest: Nest) -> str:
    """What is said of a function whose loops are another function's; empty: it calls none of the file."""
    own = functions(parse(nest.code))
    names = dict.fromkeys(called(c) for c in walk(nest.function, "call_expression") if called(c) in own)
    return "; ".join(
        f"{name} returns from within, or is a template, and is not put in its caller's place" for name in names
    )


def source(origin: str, spec: SerialSpec, kind: str, used: frozenset[str]) -> str | None:
    """A candidate with these techniques; None: nothing of the function can be shared out."""
    return _source(origin, spec.model_dump_json(), kind, used)


@lru_cache(maxsize=2048)
def _source(origin: str, said: str, kind: str, used: frozenset[str]) -> str | None:
    try:
        return _made(origin, said, kind, used)
    except CannotError:
        return None


def _made(origin: str, said: str, kind: str, used: frozenset[str]) -> str:
    head, nest, known = _read(origin, said, used & {"loop-interchange", "fused-passes", "privatised-partials"})
    if not shared(nest, known, 1):
        raise CannotError("no loop can be shared out")
    spec, mark = SerialSpec.model_validate_json(said), f"// techniques: {', '.join(sorted(used))}\n"
    far = beyond(nest, {n: elements(a, spec) for a in spec.arguments if a.pointer for n in [named(nest, spec)[a.name]]})
    if far:
        raise CannotError(
            f"the serial code leaves a loop before it reads {far} to its end, which may lie outside of the array"
        )
    try:
        if kind == "cpu":
            return mark + cpp_source(head, nest, known, spec, used)
        return cuda_source(nest, known, spec, used).replace("*/\n", f"*/\n{mark}", 1)
    except UNFORESEEN as error:
        raise CannotError(UNKNOWN.format(type(error).__name__, error)) from error


def _read(origin: str, said: str, used: frozenset[str]) -> tuple[str, Nest, dict[Loop, Verdict]]:
    """What is known of a function after legal changes of its loops' order.

    Raises:
        CannotError: the code has a form that nobody here has thought of.
    """
    try:
        return _known(origin, said, used)
    except UNFORESEEN as error:
        raise CannotError(UNKNOWN.format(type(error).__name__, error)) from error


@lru_cache(maxsize=256)
def _known(origin: str, said: str, used: frozenset[str]) -> tuple[str, Nest, dict[Loop, Verdict]]:
    spec = SerialSpec.model_validate_json(said)
    head, code = preprocessed(origin, spec.dialect)
    name, sizes = spec.function, whole_numbers(spec)
    code = normal(code, name)
    if "fused-passes" in used:
        code = fused(code, name, sizes)
    if "privatised-partials" not in used:
        code = outward(code, name, sizes)
    if "loop-interchange" in used:
        code = by_stride(code, name, sizes)
    nest = read_nest(code, name, sizes)
    known = verdicts(nest)
    for change in (cut, slanted, lambda *said: slanted(parted(*said), name, sizes)):
        if shared(nest, known, 1):
            break
        nest = read_nest(change(code, name, sizes), name, sizes)
        known = verdicts(nest)
    return head, nest, known
