"""One kernel for every size that a task's axes may have: the author's text over the axes, or a few of them and which is when.

As for a drop-in (`other_sizes.py`), the kernel is written at some sizes, and where these texts differ in numbers alone, each
number becomes an expression of the axes. In C++ the referee compiles it for each size, so that an axis is a constant there
(`AXIS_BATCH`), and where the author has another kernel for some sizes, the preprocessor chooses. The sizes at which that is
asked are the workloads' own, and of the kinds that a referee draws. Whether the text is right at any size, the referee finds.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterator

from kernelwright.errors import ProposeError
from kernelwright.export.other_sizes import apart, room
from kernelwright.propose.author.lower.choice import Choice, choice, directives
from kernelwright.propose.author.lower.texts import Text, alike_but_numbers, compared
from kernelwright.records.candidate import WORKSPACE, Candidate
from kernelwright.records.free_sizes import OtherSizes
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
_NAME = re.compile(r"[A-Za-z_]\w*")
Write = Callable[[Task], Candidate]


def over_axes(task: Task, write: Write) -> Candidate:
    """The kernel over all of a task's axes.

    Args:
        task: with several workloads.
        write: the kernel at some sizes, of the same schedule; it may raise ProposeError.

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
    return _Texts(task.model_copy(update={"free": free}), workloads, write).candidate()


class _Texts:
    """The texts that the author has for sizes of these axes."""

    def __init__(self, task: Task, workloads: WorkloadSet, write: Write) -> None:
        self._task, self._workloads, self._write = task, workloads, write
        self._axes = task.free.axes if task.free else ()
        self._known: dict[tuple[int, ...], Candidate | None] = {}
        self._found: list[tuple[Text, Candidate]] = []
        self._alone: list[Candidate] = []
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
        # Where the author would write another kernel and nothing follows from its text, the first one serves too.
        known = [(sizes, which or frozenset({0})) for sizes, which in told]
        return self._file(choice(known, self._serving))

    def _which(self, sizes: Sizes) -> frozenset[int]:
        """The texts that are for these sizes; one more of them where there is none and one can be made."""
        near, which = self._near(sizes), self._serving(sizes)
        here = self._at(near)
        if (
            which
            or len(self._found) == MOST_TEXTS
            or here is None
            or any(alike_but_numbers(here, o) for o in self._alone)
        ):
            return which
        text = self._text(near, here)
        if text is None or not text.gives(here, near):
            self._alone.append(here)
            return frozenset()
        self._found.append((text, here))
        return frozenset({len(self._found) - 1})

    def _text(self, about: Sizes, here: Candidate) -> Text | None:
        """The text over the axes about some sizes; None where the texts there tell of none."""
        near = ((point, made) for point in self._points(about) if (made := self._at(point)) is not None)
        alike = list(itertools.islice(((point, made) for point, made in near if alike_but_numbers(made, here)), POINTS))
        points = [point for point, _ in alike]
        if any(len({point[axis.name] for point in points}) < FEW for axis in self._axes):
            return None
        return compared([made for _, made in alike], points)

    def _serving(self, sizes: Sizes) -> frozenset[int]:
        """The texts that are what the author writes at these sizes, or near them where a block divides them."""
        near = self._near(sizes)
        made = self._at(near)
        return frozenset(n for n, (text, _) in enumerate(self._found) if made is not None and text.gives(made, near))

    def _at(self, sizes: Sizes) -> Candidate | None:
        """The kernel at some sizes; None where the author writes none."""
        key = tuple(sizes[axis.name] for axis in self._axes)
        if key not in self._known:
            try:
                self._known[key] = self._write(at(self._task, sizes))
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
        """The texts as one, of which the preprocessor takes one."""
        names = {axis.name: f"AXIS_{axis.name.upper()}" for axis in self._axes}

        def spell(number: str) -> str:
            return f"({'1LL * ' * ('*' in number)}{_NAME.sub(lambda m: names[m[0]], number).replace('//', '/')})"

        whole = [
            OtherSizes(axes=self._axes, source=text.over(spell), workspace=text.workspace) for text, _ in self._found
        ]
        rooms = [
            f"{WORKSPACE}{room(one)}" for one, (_, made) in zip(whole, self._found, strict=True) if made.workspace_bytes
        ]
        source = directives(chosen, [apart(one.source) for one in whole], names)
        tunables = {tunable.name: tunable for _, made in self._found for tunable in made.tunables}
        update = {"source": "\n".join([*rooms, source]), "tunables": tuple(tunables.values())}
        return self._found[0][1].model_copy(update=update)
