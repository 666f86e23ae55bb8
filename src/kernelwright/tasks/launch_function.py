"""Ordinary host code as a launch plan: the function `launch` of a `.cu` file, read into a Recipe. Nothing of it is run.

It takes the buffers as pointers, in the order of the signature, and may hold constants and launches alone:

    void launch(const float* x, float* out) {
      const int n = 65536;
      twice<<<(n + 255) / 256, 256>>>(x, out, n);
    }

Constants are put into the expressions that name them, with C's division; numbers get the width of the kernel's parameter.
Whatever else such a function may do needs a launch plan, or host code that runs (`cuda_host`).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.languages import COMMENTS, LAUNCH
from kernelwright.records.candidate import ONE, Expressions3, Recipe, RecipeConstant, RecipeLaunch

MOST_GIVEN = 4
"""Grid, block, shared memory and stream stand between `<<<` and `>>>`."""
_INTEGER = (
    r"(?:unsigned\s+|signed\s+)?(?:long\s+long|long|short|int|unsigned|size_t|(?:std::)?u?int(?:8|16|32|64)_t|auto)"
    r"(?:\s+int)?"
)
_DECLARED = re.compile(
    rf"^(?:static\s+)?(?:const\s+|constexpr\s+)*(?:(?P<whole>{_INTEGER})|(?P<fraction>float|double)|dim3)\s+"
    r"(?:const\s+)?(?P<rest>\w.*)$",
    re.DOTALL,
)
_CONSTEXPR = re.compile(rf"\bconstexpr\s+(?:static\s+)?(?:const\s+)?{_INTEGER}\s+([^;{{}}]+);")
_NAMED = re.compile(r"^(\w+)\s*(?:=\s*(.+)|\((.*)\)|\{(.*)\})$", re.DOTALL)
_CALL = re.compile(r"^(?P<kernel>\w+\s*(?:<[^<].*?>)?)\s*<<<(?P<given>.*?)>>>\s*\((?P<arguments>.*)\)$", re.DOTALL)
_IGNORED = re.compile(r"^(?:cudaFuncSetAttribute|cudaGetLastError|C10_CUDA_KERNEL_LAUNCH_CHECK)\b|^return$")
"""Calls that change nothing of what the referee launches: it allows each kernel the shared memory that it is given."""
_KERNEL = re.compile(r"__global__[^;{}()]*?\b(\w+)\s*\(")
_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)")
_CAST = re.compile(rf"\(\s*{_INTEGER}\s*\)(?=\s*[\w(])|\bstatic_cast\s*<\s*[\w\s:]+>\s*(?=\()|\b(?:std)?::")
_SUFFIXED = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?|[zZ])\b")
_FRACTION = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)[fF]?")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([\w\s]+?)\s*\)")
_SIZES = {
    "char": 1, "bool": 1, "short": 2, "__half": 2, "half": 2, "int": 4, "unsigned": 4, "float": 4, "long long": 8,
    "double": 8,
}  # fmt: skip
_WIDTHS = {
    "bool": "u8", "char": "i8", "signed char": "i8", "unsigned char": "u8", "int8_t": "i8", "uint8_t": "u8",
    "short": "i16", "unsigned short": "u16", "int16_t": "i16", "uint16_t": "u16",
    "int": "i32", "unsigned": "u32", "unsigned int": "u32", "int32_t": "i32", "uint32_t": "u32",
    "long": "i64", "long int": "i64", "long long": "i64", "long long int": "i64", "int64_t": "i64",
    "unsigned long": "u64", "unsigned long long": "u64", "uint64_t": "u64", "size_t": "u64", "ptrdiff_t": "i64",
    "float": "f32", "double": "f64", "__half": "f16", "half": "f16",
}  # fmt: skip
"""What a launch plan calls a number, by the type of the kernel's parameter."""
_ELSE = "write a launch plan in a comment /* kernelwright … */ for what is more"


class _Function(NamedTuple):
    begin: int
    end: int
    parameters: str
    body: str


def launch_at(source: str) -> tuple[int, int]:
    """Where in the source its function `launch` begins and ends; nowhere, where it has none."""
    found = _function(source)
    return (found.begin, found.end) if found else (0, 0)


def without_launch(source: str) -> str:
    """The source without its function `launch`, line by line where it was: what the compiler of device code is given."""
    found = _function(source)
    if found is None:
        return source
    gone = "\n" * source.count("\n", found.begin, found.end)
    return f"{source[: found.begin]}{gone}{source[found.end :]}"


def read_launch(source: str, macros: Mapping[str, str], tuned: Collection[str]) -> Recipe:
    """The launches of the function `launch`. Buffers are called `buffer0`, `buffer1`, … in the order of its parameters.

    Args:
        source: The whole file.
        macros: Constants that it defines as one integer.
        tuned: Names of the tunables that it declares.

    Raises:
        UsageError: it holds what no plan can, or is never closed; the message says the fix.
    """
    found = _function(source)
    if found is None:
        raise UsageError("the function `launch` is never closed: write it whole")
    code = COMMENTS["c"].sub(" ", source)
    reader = _Reader(_kernels(code), _pointers(found.parameters))
    for declared in _CONSTEXPR.findall(without_launch(code)):
        reader.declare(declared, whole=True, hidden=tuned)
    for statement in _split(found.body, ";"):
        reader.statement(" ".join(statement.split()))
    if not reader.launches:
        raise UsageError("the function `launch` launches nothing: say kernel<<<grid, block>>>(…) in it")
    constants = [RecipeConstant(name=n, value=v, in_source=True) for n, v in macros.items() if n not in tuned]
    return Recipe(launches=tuple(reader.launches), constants=tuple(constants))


def _function(source: str) -> _Function | None:
    """The function, found in the text without comments of the same length."""
    code = COMMENTS["c"].sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    start = LAUNCH.search(code)
    if start is None:
        return None
    closed = _closing(code, start.end() - 1, "()")
    opened = code.find("{", closed)
    end = _closing(code, opened, "{}") if opened >= 0 else -1
    if closed < 0 or end < 0:
        return None
    return _Function(start.start(), end + 1, code[start.end() : closed], code[opened + 1 : end])


def _closing(text: str, at: int, pair: str) -> int:
    """Where the bracket at a place is closed; -1: nowhere."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place
    return -1


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks that stand in no bracket."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == mark and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [part for part in (*parts, text[begin:]) if part.strip()]


def _pointers(text: str) -> dict[str, str]:
    """What the plan calls each pointer; beside them there may be streams alone."""
    pointers: dict[str, str] = {}
    for parameter in _split(text, ","):
        name = re.findall(r"\w+", parameter)[-1]
        if "*" in parameter:
            pointers[name] = f"buffer{len(pointers)}"
        elif "cudaStream_t" not in parameter:
            raise UsageError(f"`launch` takes pointers, and {name!r} is none: dimensions are constants of the source")
    return pointers


def _kernels(code: str) -> dict[str, list[str]]:
    """Each kernel's parameters by what the plan calls their widths; empty for pointers and what it has no name for."""
    code, found = _BOUNDS.sub(" ", code), {}
    for start in _KERNEL.finditer(code):
        closed = _closing(code, start.end() - 1, "()")
        found[start[1]] = [_width(one) for one in _split(code[start.end() : closed], ",")]
    return found


def _width(parameter: str) -> str:
    words = [w for w in re.findall(r"[\w*&]+", parameter.replace("std::", "")) if w not in ("const", "volatile")]
    return "" if "*" in parameter else _WIDTHS.get(" ".join(words[:-1]), "")


class _Reader:
    """The body, statement by statement."""

    def __init__(self, kernels: dict[str, list[str]], pointers: dict[str, str]) -> None:
        self.launches: list[RecipeLaunch] = []
        self._kernels, self._pointers = kernels, pointers
        self._values: dict[str, str] = {}
        self._extents: dict[str, Expressions3] = {}

    def statement(self, text: str) -> None:
        """A launch, a constant, or what may be left out.

        Raises:
            UsageError: it is none of them.
        """
        if (call := _CALL.match(text)) is not None:
            self.launches.append(self._launch(call))
        elif (declared := _DECLARED.match(text)) is not None:
            if declared["whole"] or declared["fraction"]:
                self.declare(declared["rest"], whole=declared["whole"] is not None)
            else:
                self._declare_extents(declared["rest"])
        elif _IGNORED.match(text) is None:
            raise UsageError(
                f"`launch` holds {text[:60]!r}, and only constants and kernel<<<grid, block, shared>>>(…) are read: {_ELSE}"
            )

    def declare(self, text: str, whole: bool, hidden: Collection[str] = ()) -> None:
        """Constants of one type; those that a tunable sets stay names."""
        for one in _split(text, ","):
            named = _NAMED.match(one.strip())
            if named is not None and named[1] not in hidden:
                value = next(part for part in named.groups()[1:] if part is not None)
                self._values[named[1]] = f"({self._expression(value, whole)})"

    def _declare_extents(self, text: str) -> None:
        for one in _split(text, ","):
            named = _NAMED.match(one.strip())
            if named is None:
                raise UsageError(f"`launch` declares {one.strip()[:40]!r} without extents: say dim3 grid(x, y)")
            value = next(part for part in named.groups()[1:] if part is not None)
            self._extents[named[1]] = self._three(value if value.strip().startswith("dim3") else f"dim3({value})")

    def _launch(self, call: re.Match[str]) -> RecipeLaunch:
        name = re.sub(r"\s+", "", call["kernel"].partition("<")[0])
        if name not in self._kernels:
            raise UsageError(f"`launch` calls {name}<<<…>>>, and the file has no __global__ function {name}")
        given = _split(call["given"], ",")
        if not 2 <= len(given) <= MOST_GIVEN:
            raise UsageError(f"{name}<<<…>>> has {len(given)} parts: say grid, block and, if need be, shared bytes")
        return RecipeLaunch(
            kernel=self._called(call["kernel"]),
            grid=self._three(given[0]),
            block=self._three(given[1]),
            shared_bytes=self._expression(given[2], whole=True) if len(given) > 2 else "0",
            arguments=tuple(self._arguments(name, _split(call["arguments"], ","))),
        )

    def _called(self, kernel: str) -> str:
        head, bracket, rest = (part.strip() for part in kernel.partition("<"))
        return head + bracket + re.sub(r"\w+", lambda word: self._values.get(word[0], word[0]), rest)

    def _three(self, text: str) -> Expressions3:
        text = text.strip()
        if text in self._extents:
            return self._extents[text]
        if (several := re.match(r"^dim3\s*[({](.*)[)}]$", text, re.DOTALL)) is None:
            return (self._expression(text, whole=True), *ONE[1:])
        parts = [self._expression(part, whole=True) for part in _split(several[1], ",")]
        x, y, z = [*parts, *ONE][:3]
        return (x, y, z)

    def _arguments(self, name: str, given: list[str]) -> Iterator[str]:
        widths = self._kernels[name]
        if len(given) != len(widths):
            raise UsageError(f"{name} has {len(widths)} parameters, and `launch` passes {len(given)}")
        for position, (text, width) in enumerate(zip(given, widths, strict=True)):
            if (pointer := self._pointers.get(text.strip())) is not None:
                yield pointer
            elif text.strip() == "nullptr":
                yield "null"
            elif width:
                yield f"{width}({self._expression(text, whole=width[0] != 'f')})"
            else:
                raise UsageError(
                    f"argument {position} of {name}, {text.strip()[:40]!r}, is no pointer that `launch` was given and no "
                    f"number of a plain type: {_ELSE}"
                )

    def _expression(self, text: str, whole: bool) -> str:
        """C's arithmetic as the plan's: division of integers, no casts, no suffixes, constants by their values."""
        text = _SIZEOF.sub(lambda found: str(_SIZES.get(found[1], found[0])), text.replace("'", ""))
        text = _FRACTION.sub(r"\1", _SUFFIXED.sub(r"\1", _CAST.sub("", text)))
        if whole:
            text = re.sub(r"/+", "//", text)
        return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda word: self._values.get(word[0], word[0]), text).strip()
