"""Tables of judged states, which a search can ask in place of the referee: measured ones, and ones with drawn effects.

A **measured** table holds what the referee said of every state of one source with switches. A **drawn** one has effects
that a seeded generator made up: for each technique a gain, for each pair of techniques what they add to each other or take,
and now and then a pair that makes the kernel wrong. It says how a search behaves in landscapes of that kind, and nothing of
a device. Drawn tables come in two shapes: the graph of a serial task as it is, and cubes, in which every technique can be
applied in any order, so that a budget of 64 does not see everything.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

from graph_trajectories import Family, Folder, Row, families

from kernelwright.engine.graph_build import family_of
from kernelwright.knowledge.graph.file import shipped_graph
from kernelwright.knowledge.graph.merge import merged
from kernelwright.knowledge.graph.stats import expected_gains
from kernelwright.knowledge.graph.switched import State, trajectories
from kernelwright.records.technique import (
    START,
    Edge,
    GraphScope,
    Judged,
    StepExample,
    TechniqueGraph,
    code_id,
)

FOLDERS: tuple[Folder, ...] = ("steps", "wide")
SERIAL = "serial code\n"
GAIN, PAIR, WRONG = 0.7, 0.35, 0.03
"""Standard deviations of a technique's and of a pair's effect, in powers of two; how often a pair is wrong together."""
OTHER_SIZES = 0.15
"""By how much effects differ on other sizes, in powers of two."""


class Table(NamedTuple):
    """One task in one language, with a verdict for every state."""

    name: str
    scope: GraphScope
    verdicts: dict[str, Judged]
    """By the hash of the code."""
    naive: str = ""
    """The first kernel's: what the serial code becomes before anything is optimised."""

    @property
    def best(self) -> float:
        """The largest speedup that there is."""
        return max(v.speedup[0] for v in self.verdicts.values() if v.right and v.speedup is not None)


def measured(rows: Sequence[Row], workload: str = "") -> Iterator[Table]:
    """Every source with switches whose states were all judged at these sizes."""
    judged = {(row.code, tuple(sorted(row.sizes.items()))): row.judged for row in rows}
    tasks = sorted({row.task.partition("@")[0] for row in rows})
    for family in (family for folder in FOLDERS for family in families(tasks, workload, folder)):
        sizes = tuple(sorted(family.task.sizes.items()))
        found = {code: judged.get((code, sizes)) for code in _codes(family).values()}
        whole = {code: verdict for code, verdict in found.items() if verdict is not None}
        if len(whole) == len(found) and any(verdict.speedup for verdict in whole.values()):
            naive = _codes(family)[family.source.states[0]]
            yield Table(family.name, _scope(family, rows[0].device), _over_one_base(whole), naive)


def _over_one_base(verdicts: dict[str, Judged]) -> dict[str, Judged]:
    """Speedups over one BaseRuntime: beside each kernel the serial code's own time scattered, and that orders no kernels."""
    timed = {code: v for code, v in verdicts.items() if v.speedup and v.latency_us is not None and v.within_us}
    if not timed:
        return verdicts
    base = median(v.speedup[0] * v.latency_us for v in timed.values())
    return verdicts | {code: _of_base(v, base) for code, v in timed.items()}


def _of_base(verdict: Judged, base: float) -> Judged:
    quickest, slowest = verdict.within_us
    return verdict.model_copy(update={"speedup": (base / verdict.latency_us, base / slowest, base / quickest)})


def drawn() -> Iterator[tuple[Table, Table]]:
    """The graph of every source with switches, with effects that were made up; and the same on other sizes."""
    for family in families():
        scope, codes = _scope(family, ""), _codes(family)
        yield _pair(family.file.name, scope, {code: state[1:] for state, code in codes.items()})


def cubes(count: int, techniques: int, first: int = 0) -> Iterator[tuple[Table, Table]]:
    """Graphs in which each of so many techniques can be applied at any time, in the same way."""
    names = [f"technique-{chr(ord('a') + i)}" for i in range(techniques)]
    scope = GraphScope(graph=_cube(tuple(names)), root=SERIAL, kind="cpu", language="cpp", family="reduction")
    sets = [on for size in range(techniques + 1) for on in combinations(names, size)]
    for number in range(first, first + count):
        yield _pair(f"cube {number}", scope, {code_id(_text(on, names)): on for on in sets})


def _pair(name: str, scope: GraphScope, codes: Mapping[str, Sequence[str]]) -> tuple[Table, Table]:
    lands = Landscape(name, other_sizes=False), Landscape(name, other_sizes=True)
    first, second = (Table(name, scope, {code: land.judged(on) for code, on in codes.items()}) for land in lands)
    return first, second


class Landscape:
    """What sets of techniques are made up to do."""

    def __init__(self, seed: str, other_sizes: bool) -> None:
        self._seed, self._shift = seed, OTHER_SIZES if other_sizes else 0.0

    def judged(self, on: Sequence[str]) -> Judged:
        """The verdict on the code with these techniques."""
        pairs = [" ".join(pair) for pair in combinations(on, 2)]
        if any(self._draw(f"wrong {pair}").random() < WRONG for pair in pairs):
            return Judged(outcome="incorrect", right=False)
        gain = 2.0 + sum(self._effect(one, GAIN) for one in on) + sum(self._effect(pair, PAIR) for pair in pairs)
        speedup = 2.0**gain
        return Judged(outcome="measured", right=True, device="drawn", speedup=(speedup, speedup, speedup))

    def _effect(self, of: str, spread: float) -> float:
        shift = self._draw(f"other sizes {of}").gauss(0.0, self._shift) if self._shift else 0.0
        return self._draw(of).gauss(0.0, spread) + shift

    def _draw(self, of: str) -> random.Random:
        return random.Random(f"{self._seed} {of}")


def _codes(family: Family) -> dict[State, str]:
    return {state: code_id(family.source.code(state, family.task.sizes)) for state in family.source.states}


def _scope(family: Family, device: str) -> GraphScope:
    """A task's own steps, without the gains that are searched for; and what its edges gained in other tasks."""
    graph, operations, language = TechniqueGraph(), family_of(family.task), ""
    right = dict.fromkeys(_codes(family).values(), Judged(outcome="verified", right=True))
    for way in trajectories(family.source, family.task.serial, operations, family.kind, family.task.sizes):
        graph, language = merged(graph, way, right), way.language
    return GraphScope(
        graph=graph, root=family.task.serial, kind=family.kind, language=language, family=operations, device=device,
        sizes=family.task.sizes, gains=expected_gains(shipped_graph(), device, language, without=family.task.name),
    )  # fmt: skip


def _text(on: Sequence[str], names: Sequence[str]) -> str:
    return "".join(f"{name} is {'on' if name in on else 'off'}\nbetween\n" for name in names)


def _cube(names: Sequence[str]) -> TechniqueGraph:
    base, ways = _text((), names), {name: _text((name,), names) for name in names}
    codes = {code_id(text): text for text in (SERIAL, base, *ways.values())}
    edges = [_edge(START, "base", SERIAL, base)]
    edges += [_edge(last, name, base, ways[name]) for name in names for last in ("base", *names) if last != name]
    return TechniqueGraph(nodes=(START, "base", *names), edges=tuple(edges), codes=codes)


def _edge(source: str, target: str, before: str, after: str) -> Edge:
    example = StepExample(
        name=target, think="", task="cube", family="reduction", kind="cpu", language="cpp", before=code_id(before),
        after=code_id(after), outcome="verified",
    )  # fmt: skip
    return Edge(source=source, target=target, examples=(example,))
