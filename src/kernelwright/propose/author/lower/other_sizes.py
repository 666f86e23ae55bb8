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
from kernelwright.export.other_sizes import variable
from kernelwright.propose.author.lower.texts import Text, compared
from kernelwright.records.candidate import Candidate
from kernelwright.records.free_sizes import FreeAxis, OtherSizes
from kernelwright.records.task import Task
from kernelwright.tasks.free_axes import FACTORS, STEP, Sizes, at, points

FACTORS_TRIED = (256, 64, 16, 4, 2)
"""How many times as large as the traced sizes others may be, the most first."""
LEAST = (2, 3, 5, 7, 11, 13, 17, 49, 97, 257, 1009)
"""Sizes that are tried as the least one for which the text holds."""
FEW = 3
"""Where it holds for as few, it does for one, of which the author makes no loop."""
MARK = "\a"
"""Before a number that varies."""
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

    _text: Text

    def __init__(self, task: Task, axes: tuple[FreeAxis, ...], write: Write) -> None:
        self._task, self._axes, self._write, self._compared = task, axes, write, points(axes)

    def general(self) -> OtherSizes | None:
        """The text over the sizes, and the ranges of these for which it holds."""
        written = [made for point in self._compared if (made := self._at(point)) is not None]
        text = compared(written, self._compared) if len(written) == len(self._compared) else None
        if text is None:
            return None
        in_python = "import triton" in text.skeleton[0]
        marked = text.over(lambda number: f"({MARK}{number if in_python else variable(number).replace('//', '/')})")
        if not in_python and _FIXED.search(marked):
            return None  # a constant of C++
        self._text = text
        axes = self._ranges()
        return OtherSizes(axes=axes, source=marked.replace(MARK, ""), workspace=text.workspace) if axes else None

    def _at(self, sizes: Sizes) -> Candidate | None:
        """The kernel there; None where the author writes none."""
        try:
            return self._write(at(self._task, sizes))
        except (ProposeError, ValueError):
            return None

    def _holds(self, sizes: Sizes) -> bool:
        """Whether the text over the sizes is the text at these."""
        made = self._at(sizes)
        return made is not None and self._text.gives(made, sizes)

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
