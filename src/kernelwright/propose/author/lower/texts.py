"""A kernel's text over sizes, from its texts at several: where these differ in numbers alone, each becomes an expression."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.records.candidate import Candidate
from kernelwright.records.expression import worth
from kernelwright.tasks.free_axes import Sizes, all_fitted

NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_BUFFER = re.compile(r"(static_cast<char\*>\(workspace\) \+ )(\d+)")
FLOAT = "\v"
"""Around what makes a float of a whole number: an end such as `.0f`, or `/` and the end of one over it."""
_WHOLE, _FLOAT = re.compile(r"(?<![\w.])(\d+)(\.0f?)(?![\w.])"), re.compile(rf"{FLOAT}(/?)((?:\.0)?f?){FLOAT}")
_PART = re.compile(r"(?<![\w.])(\d\.\d+(?:e-\d+)?)(f?)(?![\w.])")
MOST_PARTS = 1 << 40
PLACED = " /* placed */"
"""Behind where a buffer begins, which is rounded up."""


@dataclass(frozen=True)
class Text:
    """A text over sizes, in parts between which its numbers stand."""

    skeleton: tuple[str, ...]
    numbers: tuple[str, ...]
    workspace: str
    """Bytes of workspace."""

    def over(self, spell: Callable[[str], str]) -> str:
        """The whole of it, with each number that varies as it is spelt; of a float, times one."""
        parts = [self.skeleton[0]]
        for number, part in zip(self.numbers, self.skeleton[1:], strict=True):
            kind = _FLOAT.match(part)
            parts += [_spelt(number, kind, spell), part[kind.end() :] if kind else part]
        return "".join(parts)

    def gives(self, made: Candidate, sizes: Sizes) -> bool:
        """Whether it is this kernel's at these sizes; where a buffer begins is rounded up, and may differ."""
        skeleton, numbers = _parted(made)
        if skeleton != self.skeleton:
            return False
        pairs = zip(self.skeleton[1:], self.numbers, numbers, strict=True)
        return all(after.startswith(PLACED) or worth(text, sizes) == number for after, text, number in pairs)


def _spelt(number: str, kind: re.Match[str] | None, spell: Callable[[str], str]) -> str:
    """A number as it stands in a text."""
    fixed, (over, end) = number.isdecimal(), kind.groups() if kind else ("", "")
    if over:
        return f"{1 / int(number)!r}{end}" if fixed else f"(1.0{end} / {spell(number)})"
    if kind:
        return f"{number}{end}" if fixed else f"({spell(number)} * 1{end})"
    return number if fixed else spell(number)


def compared(made: Sequence[Candidate], points: Sequence[Sizes]) -> Text | None:
    """The text that gives these kernels at these sizes; None where they differ otherwise than in numbers that follow."""
    parted = [_parted(one) for one in made]
    if any(skeleton != parted[0][0] for skeleton, _ in parted):
        return None
    columns = zip(*(numbers for _, numbers in parted), strict=True)
    found = all_fitted([*columns, [one.workspace_bytes for one in made]], points)
    return Text(parted[0][0], tuple(found[:-1]), found[-1]) if found is not None else None


def alike_but_numbers(one: Candidate, other: Candidate) -> bool:
    """Whether two texts differ in numbers alone."""
    return _parted(one)[0] == _parted(other)[0]


def _parted(made: Candidate) -> tuple[tuple[str, ...], tuple[int, ...]]:
    text = _WHOLE.sub(rf"\1{FLOAT}\2{FLOAT}", _BUFFER.sub(rf"\1(\2{PLACED})", made.source))
    text = _PART.sub(_as_part, text)
    return tuple(NUMBER.split(text)), tuple(map(int, NUMBER.findall(text)))


def _as_part(found: re.Match[str]) -> str:
    """One over a whole number, such as the factor of a mean, as that number; any other float as it is."""
    value = float(found[1])
    whole = round(1 / value) if value > 1 / MOST_PARTS else 1
    return f"{whole}{FLOAT}/{found[2]}{FLOAT}" if whole > 1 and repr(1 / whole) == found[1] else found[0]
