"""A kernel for other sizes: the author's text at several sizes, with the numbers in which they differ as expressions of them.

The text that is judged has its sizes as constants, which pays where they are inner ones. What it is at other sizes is written
at some of them (`tasks/free_axes.py`), of which no block divides any; where these texts differ in numbers alone, and each
number is a polynomial of the sizes, the text over the sizes is right between them. It is held against the text at the ends
of a range, which shrinks until they agree: a block that was made as long as a row is wrong beyond it. Nothing is said of a
kernel whose text differs otherwise, or that would need the length of an array to vary.
"""

import re
from collections.abc import Callable

from kernelwright.errors import ProposeError
from kernelwright.records.candidate import Candidate
from kernelwright.records.expression import worth
from kernelwright.records.free_sizes import FreeAxis, OtherSizes
from kernelwright.records.task import Task
from kernelwright.tasks.free_axes import FACTORS, STEP, Sizes, at, fitted, points

FACTORS_TRIED = (256, 64, 16, 4, 2)
"""How many times as large as the traced sizes others may be, the most first."""
LEAST = (2, 3, 5, 7, 11, 13, 17, 49, 97, 257, 1009)
"""Sizes that are tried as the least one for which the text holds."""
FEW = 3
"""Where it holds for as few, it does for one, of which the author makes no loop."""
MARK = "\a"
"""Before a number that varies."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_PLACED = re.compile(r"(static_cast<char\*>\(workspace\) \+ )(\d+)")
_FIXED = re.compile(
    r"^\s*(alignas\(\d+\) )?(const )?[\w:]+ \w+\[[^\]]*\a|constexpr [^;]*\a|\w<[^<>\s]*\a", re.MULTILINE
)
"""C++ in which a number cannot be a variable: lengths of arrays, constants, arguments of templates."""
Write = Callable[[Task], Candidate]


def other_sizes(task: Task, write: Write) -> OtherSizes | None:
    """The kernel over the sizes of as many of the task's first free axes as can be; None where none can.

    Args:
        task: with its free axes.
        write: the kernel for a task at other sizes, of the same schedule; it may raise ProposeError.
    """
    axes = task.free.axes if task.free else ()
    chosen = [axes[:count] for count in range(len(axes), 0, -1)] + [(axis,) for axis in axes[1:]]
    found = (_Texts(task, one, write).general() for one in chosen)
    return next((one for one in found if one is not None), None)


class _Texts:
    """The kernel's text at some sizes of these axes."""

    def __init__(self, task: Task, axes: tuple[FreeAxis, ...], write: Write) -> None:
        self._task, self._axes, self._write, self._compared = task, axes, write, points(axes)
        self._skeleton: list[str] = []
        self._numbers: list[str] = []

    def general(self) -> OtherSizes | None:
        """The text over the sizes, and the ranges of these for which it holds."""
        written = [made for point in self._compared if (made := self._at(point)) is not None]
        skeletons = [_NUMBER.split(text) for text, _ in written]
        if len(written) < len(self._compared) or any(skeleton != skeletons[0] for skeleton in skeletons):
            return None
        columns = zip(*(_NUMBER.findall(text) for text, _ in written), strict=True)
        numbers = [fitted([int(n) for n in column], self._compared) for column in columns]
        room = fitted([nbytes for _, nbytes in written], self._compared)
        self._skeleton, self._numbers = skeletons[0], [n for n in numbers if n is not None]
        if room is None or len(self._numbers) < len(numbers) or (text := self._text()) is None:
            return None
        axes = self._ranges()
        return OtherSizes(axes=axes, source=text, workspace=room) if axes else None

    def _at(self, sizes: Sizes) -> tuple[str, int] | None:
        """Text and workspace; None where the author writes none."""
        try:
            made = self._write(at(self._task, sizes))
        except (ProposeError, ValueError):
            return None
        return _PLACED.sub(r"\1(\2 /* placed */)", made.source), made.workspace_bytes

    def _text(self) -> str | None:
        """The text over the sizes; None where one of them would have to be a constant of C++."""
        spelled = [n if not n or n.isdecimal() else f"({MARK}{n})" for n in (*self._numbers, "")]
        text = "".join(part + number for part, number in zip(self._skeleton, spelled, strict=True))
        return None if "import triton" not in text and _FIXED.search(text) else text.replace(MARK, "")

    def _holds(self, sizes: Sizes) -> bool:
        """Whether the text over the sizes is the text at these; where a buffer begins is rounded up, and may differ."""
        made = self._at(sizes)
        if made is None or _NUMBER.split(made[0]) != self._skeleton:
            return False
        pairs = zip(self._skeleton[1:], self._numbers, map(int, _NUMBER.findall(made[0])), strict=True)
        return all(after.startswith(" /* placed") or worth(text, sizes) == number for after, text, number in pairs)

    def _ranges(self) -> tuple[FreeAxis, ...] | None:
        """The axes with the sizes between which the text holds; None where it does at no larger ones than the traced."""
        wide = ({a.name: _odd(a.size * f, a.high) for a in self._axes} for f in FACTORS_TRIED)
        high = next((sizes for sizes in wide if min(sizes.values()) > STEP and self._holds(sizes)), None)
        if high is None:
            return None
        for axis in self._axes:
            more = ({**high, axis.name: _odd(axis.size * f, axis.high)} for f in FACTORS_TRIED)
            high = next((sizes for sizes in more if sizes[axis.name] > high[axis.name] and self._holds(sizes)), high)
        return tuple(a.model_copy(update={"low": self._least(a), "high": high[a.name]}) for a in self._axes)

    def _least(self, axis: FreeAxis) -> int:
        """The least size for which the text holds.

        Of a leading dimension few rows may have another kernel because it is faster; this one is right for them too.
        """
        usual = min(point[axis.name] for point in self._compared)
        tried = (LEAST[LEAST.index(STEP + 1) :]) if self._leads(axis) else LEAST
        found = next((n for n in tried if n < usual and self._holds({**self._compared[0], axis.name: n})), usual)
        return axis.low if found <= (STEP + 1 if self._leads(axis) else FEW) else found

    def _leads(self, axis: FreeAxis) -> bool:
        """Whether it is the first dimension of whatever goes in and out, and of nothing another one."""
        places = self._task.free.places.items() if self._task.free else ()
        told = [p for p, text in places if not p.startswith("nodes.") and axis.name in re.findall(r"\w+", text)]
        return all(place.endswith("shape.0") for place in told)


def _odd(size: int, most: int | None) -> int:
    """The next smaller size that no block divides."""
    size = min(size, most or size) // STEP * STEP + 1
    while size > 1 and not all(size % f for f in FACTORS):
        size -= STEP
    return size
