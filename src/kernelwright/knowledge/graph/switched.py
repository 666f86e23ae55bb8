"""Written trajectories: one source with switches, each of which is one technique.

A file `TASK.cu`, `TASK.cpp` or `TASK.py` begins with a line for each switch:

    //: vec = vectorised-loads | coalesced | Sixteen bytes a load need a quarter of the instructions. | float4 where aligned

with the switch, its technique, the switches that it needs (`a b`, and `!c` for one that it cannot stand beside), why, and
how. The first line's switch is always on: it is the step from the serial code. Below, `//% if vec`, `//% else` and
`//% endif` choose lines (Jinja's line statements), and `${n}` is a size. Every set of switches that keeps what each needs is
a state; each way of turning one more on is a step, with nothing else changed.
"""

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, StrictUndefined, TemplateError

from kernelwright.errors import UsageError
from kernelwright.languages import language_of
from kernelwright.records.base import Record
from kernelwright.records.technique import Step, Trajectory

State = tuple[str, ...]
"""Switches that are on, in the file's order."""


class Switch(Record):
    """One technique in a source."""

    name: str
    technique: str
    needs: tuple[str, ...]
    excludes: tuple[str, ...]
    think: str
    detail: str

    def fits(self, state: State) -> bool:
        """Whether it may be on beside these."""
        return set(self.needs) <= set(state) and not set(self.excludes) & set(state)


class Switched(Record):
    """A source with its switches; the first one is always on."""

    task: str
    suffix: str
    switches: tuple[Switch, ...]
    body: str

    @cached_property
    def states(self) -> tuple[State, ...]:
        """Every set that can be, the smallest first."""
        names = [s.name for s in self.switches[1:]]
        sets = (chosen for size in range(len(names) + 1) for chosen in itertools.combinations(names, size))
        return tuple(state for chosen in sets if self._can_be(state := (self.switches[0].name, *chosen)))

    def _can_be(self, state: State) -> bool:
        return all(s.fits(tuple(n for n in state if n != s.name)) for s in self.switches if s.name in state)

    def code(self, state: State, sizes: Mapping[str, int]) -> str:
        """The source of a state.

        Raises:
            UsageError: the template is at fault.
        """
        mark = "#%" if self.suffix == ".py" else "//%"
        jinja = Environment(
            line_statement_prefix=mark, variable_start_string="${", variable_end_string="}", block_start_string="<%%",
            block_end_string="%%>", comment_start_string="<##", comment_end_string="##>", undefined=StrictUndefined,
            trim_blocks=True, keep_trailing_newline=True,
        )  # fmt: skip
        on = {s.name: s.name in state for s in self.switches}
        try:
            return jinja.from_string(self.body).render(**{**on, **sizes})
        except TemplateError as error:
            raise UsageError(f"{self.task}{self.suffix}, {', '.join(state)}: {error}") from None

    def ways(self) -> Iterator[tuple[Switch, ...]]:
        """Paths that, together, take every step between two states after every technique that could have come last."""
        by_name = {s.name: s for s in self.switches}
        for state in self.states:
            for last in state:
                path = self._ordered(state, last)
                if path is None:
                    continue
                yield path
                for one in self.switches:
                    after = tuple(s.name for s in self.switches if s.name in (*state, one.name))
                    if one.name not in state and after in self.states:
                        yield (*path, by_name[one.name])

    def _ordered(self, state: State, last: str) -> tuple[Switch, ...] | None:
        """The state's switches with this one last; None where another one needs it."""
        if last == self.switches[0].name and len(state) > 1:
            return None
        before = tuple(n for n in state if n != last)
        if before and before not in self.states:
            return None
        names = (*before, last)
        return tuple(next(s for s in self.switches if s.name == n) for n in names)


def read_switched(file: Path) -> Switched:
    """The switched source in a file.

    Raises:
        UsageError: its first lines are no switches.
    """
    mark = "#:" if file.suffix == ".py" else "//:"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    heads = list(itertools.takewhile(lambda line: line.startswith(mark), lines))
    if not heads:
        raise UsageError(
            f"{file} has no switches: begin it with lines such as `{mark} base = thread-per-element | | … | …`"
        )
    switches = tuple(_switch(line.removeprefix(mark), file) for line in heads)
    return Switched(task=file.stem, suffix=file.suffix, switches=switches, body="".join(lines[len(heads) :]))


def _switch(line: str, file: Path) -> Switch:
    name, equals, rest = line.partition("=")
    parts = [part.strip() for part in rest.split("|")]
    if not equals or len(parts) != 4:
        raise UsageError(f"{file}: the switch {line.strip()!r} must read NAME = TECHNIQUE | NEEDS | WHY | HOW")
    named = parts[1].split()
    return Switch(
        name=name.strip(),
        technique=parts[0],
        needs=tuple(n for n in named if not n.startswith("!")),
        excludes=tuple(n[1:] for n in named if n.startswith("!")),
        think=parts[2],
        detail=parts[3],
    )


def trajectories(
    source: Switched, serial: str, family: str, kind: str, sizes: Mapping[str, int]
) -> Iterator[Trajectory]:
    """Every path of a switched source as a trajectory from the serial code."""
    codes = {state: source.code(state, sizes) for state in source.states}
    order = [s.name for s in source.switches]
    language = language_of(next(iter(codes.values())), source.suffix).name
    for path in source.ways():
        on: set[str] = set()
        steps = []
        for switch in path:
            on.add(switch.name)
            code = codes[tuple(n for n in order if n in on)]
            steps.append(Step(think=switch.think, method=switch.technique, detail=switch.detail, code=code))
        yield Trajectory(
            task=source.task,
            family=family,
            kind=kind,
            language=language,
            sizes=dict(sizes),
            source=serial,
            steps=tuple(steps),
        )
