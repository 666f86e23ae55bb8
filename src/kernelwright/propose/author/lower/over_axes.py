"""One kernel for every size that a task's axes may have: the author's text over the axes, or a few of them and which is when.

As for a drop-in (`other_sizes.py`), the kernel is written at some sizes, and where these texts differ in numbers alone, each
number becomes an expression of the axes. Where the author has another kernel for some sizes, a few comparisons choose
(`choice.py`). How texts and choice become a file, `axes_files.py` says. The sizes at which it is asked which kernel the author
would write are the workloads' own, and of the kinds that a referee draws. Whether the text is right at any size, the referee
finds.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from math import log

from kernelwright.errors import ProposeError
from kernelwright.propose.author.lower.axes_files import as_module, as_source
from kernelwright.propose.author.lower.choice import ORIGINAL, Choice, choice
from kernelwright.propose.author.lower.texts import Text, alike_but_numbers, compared
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task
from kernelwright.records.workloads import WorkloadSet
from kernelwright.tasks.drawn_sizes import KINDS, drawn_points
from kernelwright.tasks.free_axes import FACTORS, STEP, Sizes, at, declared

POINTS = 6
"""Sets of sizes at which a text is compared."""
FEW = 3
"""Sizes of each axis among them, at least."""
TURNS = 24
"""Sets of sizes that are drawn for so many."""
MOST_TEXTS = 4
"""Kernels of one file."""
PROBES = len(KINDS)
"""Sizes beside the workloads' at which it is asked which kernel the author would write."""
Write = Callable[[Task], Candidate]
"""Writes the kernel of one schedule at some sizes; it may raise ProposeError."""
Pick = Callable[[Sizes, Task], Write | None]
"""What writes the kernel for some sizes, the same object for the same schedule; None: PyTorch's own operation serves them."""


def over_axes(task: Task, pick: Pick) -> Candidate:
    """The kernel over all of a task's axes.

    Args:
        task: with several workloads.
        pick: which schedule is for which sizes; it is given the task there, too.

    Raises:
        ProposeError: the workloads do not tell what follows from the axes, or no text is for all of them.
    """
    free, workloads = declared(task), task.source.workloads
    assert workloads is not None
    if free is None:
        names = ", ".join(axis.name for axis in workloads.varying)
        raise ProposeError(
            f"{task.name!r}: its workloads do not tell how the program follows from {names}. Give some more at which each has "
            'other values and the operations are the same; with "weight": 0 they are not timed'
        )
    return _Texts(task.model_copy(update={"free": free}), workloads, pick).candidate()


class _Texts:
    """The texts that the author has for sizes of these axes."""

    def __init__(self, task: Task, workloads: WorkloadSet, pick: Pick) -> None:
        self._task, self._workloads, self._pick = task, workloads, pick
        self._axes = task.free.axes if task.free else ()
        self._known: dict[tuple[int, tuple[int, ...]], Candidate | None] = {}
        self._picked: dict[tuple[int, ...], Write | None] = {}
        self._found: list[tuple[Text, Candidate]] = []
        self._about: list[Sizes] = []
        """Where each of them was found."""
        self._alone: list[tuple[Write, Candidate]] = []
        """Kernels of whose texts nothing follows for other sizes."""

    def candidate(self) -> Candidate:
        """One file for all sizes."""
        points = [*sorted(self._workloads.points, key=lambda point: -point.weight)]
        points += [p for p in drawn_points(self._workloads, PROBES, random.Random(0)) if all(p.axes.values())]
        told = [(point.axes, self._which(point.axes)) for point in points]
        if not self._found:
            raise ProposeError(
                f"{self._task.name!r}: its kernels at several sizes differ in more than numbers that follow from the axes"
            )
        return self._file(choice([(sizes, which or self._nearest(sizes)) for sizes, which in told], self._serving))

    def _nearest(self, sizes: Sizes) -> frozenset[int]:
        """Where the author would write another kernel and nothing follows from its text: the one that was found nearest."""

        def away(number: int) -> float:
            return sum(abs(log(max(1, size) / max(1, self._about[number][name]))) for name, size in sizes.items())

        return frozenset({min(range(len(self._found)), key=away)})

    def _which(self, sizes: Sizes) -> frozenset[int]:
        """The texts that are for these sizes; one more of them where there is none and one can be made."""
        near, which, write = self._near(sizes), self._serving(sizes), self._way(sizes)
        here = self._at(near, write) if write else None
        if (
            which
            or len(self._found) == MOST_TEXTS
            or here is None
            or write is None
            or any(write is way and alike_but_numbers(here, other) for way, other in self._alone)
        ):
            return which
        text = self._text(near, here, write)
        if text is None or not text.gives(here, near):
            self._alone.append((write, here))
            return frozenset()
        self._found.append((text, here))
        self._about.append(sizes)
        return frozenset({len(self._found) - 1})

    def _text(self, about: Sizes, here: Candidate, write: Write) -> Text | None:
        """The text over the axes about some sizes; None where the texts there tell of none."""
        near = ((point, made) for point in self._points(about) if (made := self._at(point, write)) is not None)
        alike = list(itertools.islice(((point, made) for point, made in near if alike_but_numbers(made, here)), POINTS))
        points = [point for point, _ in alike]
        if any(len({point[axis.name] for point in points}) < FEW for axis in self._axes):
            return None
        return compared([made for _, made in alike], points)

    def _serving(self, sizes: Sizes) -> frozenset[int]:
        """The texts that are what the author writes at these sizes, or near them where a block divides them."""
        near, write = self._near(sizes), self._way(sizes)
        if write is None:
            return frozenset({ORIGINAL})
        made = self._at(near, write)
        return frozenset(n for n, (text, _) in enumerate(self._found) if made is not None and text.gives(made, near))

    def _way(self, sizes: Sizes) -> Write | None:
        """What writes the kernel for these sizes."""
        key = tuple(sizes[axis.name] for axis in self._axes)
        if key not in self._picked:
            self._picked[key] = self._pick(sizes, at(self._task, sizes))
        return self._picked[key]

    def _at(self, sizes: Sizes, write: Write) -> Candidate | None:
        """The kernel at some sizes; None where the author writes none."""
        key = id(write), tuple(sizes[axis.name] for axis in self._axes)
        if key not in self._known:
            try:
                self._known[key] = write(at(self._task, sizes))
            except (ProposeError, ValueError):
                self._known[key] = None
        return self._known[key]

    def _points(self, about: Sizes) -> Iterator[dict[str, int]]:
        """Different sizes near these that the axes allow, of which no block divides any as far as there are such."""
        draw, seen = random.Random(0), list[dict[str, int]]()
        for _ in range(TURNS):
            point = {name: draw.choice(self._uneven(name, size)) for name, size in about.items()}
            if point not in seen and self._workloads.allows(point):
                seen.append(point)
                yield point

    def _near(self, sizes: Sizes) -> Sizes:
        """Sizes like these that no block divides; these where there are none, and where they are small."""
        near = {
            name: size if size <= STEP else min(self._uneven(name, size), key=lambda other: abs(other - size))
            for name, size in sizes.items()
        }
        return near if self._workloads.allows(near) else sizes

    def _uneven(self, name: str, size: int) -> list[int]:
        """Sizes near one, on the axis's steps, that no block divides; that one where there are none."""
        axis = next(a for a in self._workloads.varying if a.name == name)
        begin = max(0, (size - axis.low) // axis.step - STEP * POINTS)
        values = [axis.low + axis.step * n for n in range(begin, begin + 3 * STEP * POINTS)]
        common = axis.step & -axis.step if axis.low % (axis.step & -axis.step) == 0 else 1
        odd = [v for v in values if 1 < v <= axis.high and v // common % 2]
        uneven = [v for v in odd if all(v % f or axis.step % f == 0 for f in FACTORS)]
        ways = ([v for v in uneven if v // common % STEP == 1], uneven, odd, [v for v in values if v <= axis.high])
        return next((way for way in ways if len(way) > FEW), [size])

    def _file(self, chosen: Choice) -> Candidate:
        """The texts as one file, and which of them serves which sizes."""
        write = as_module if self._found[0][1].language == "triton" else as_source
        return write(self._task, self._axes, self._found, chosen)
