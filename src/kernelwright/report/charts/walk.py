"""Which way a search took through the graph of techniques: what each step was worth, and the ways as a picture.

All of it is read off the attempts. A step leads from the technique that the code before it was written with to its own; it
begins at the start where that code was nobody's step. Its visits are the evaluations on ways that went over it, and its
value is the largest speedup behind it, which is what the search passes back.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from markupsafe import Markup

from kernelwright.records.answer import times
from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import Brief, briefs
from kernelwright.records.technique import START
from kernelwright.report import words
from kernelwright.report.charts import svg

LEFT, ROW, TOP = 60, 40, 22
WIDEST = 5.0
"""Pixels of the step that most evaluations went over."""


@dataclass
class Walked:
    """One edge of the graph, in one run."""

    source: str
    target: str
    tried: int = 0
    right: int = 0
    visits: int = 0
    gains: list[float] = field(default_factory=list)
    """Over the code before, of each time it was taken and timed."""
    best: float = 0.0
    """Largest speedup behind it; 0: nothing was timed there."""
    on_best: bool = False
    """Whether the best kernel's way went over it."""

    @property
    def gain(self) -> float | None:
        """The median gain; None: it was never timed."""
        return median(self.gains) if self.gains else None


def walked(attempts: Sequence[Attempt], best: int | None) -> list[Walked]:
    """The edges that were walked, in the order in which they were first; none where no graph was."""
    known = {a.number: a for a in briefs(attempts)}
    steps = {number: a for number, a in known.items() if a.intent == "apply-technique"}
    found: dict[tuple[str, str], Walked] = {}
    for attempt in steps.values():
        edge = _edge(attempt, steps, found)
        edge.tried, edge.right = edge.tried + 1, edge.right + attempt.right
        gained, before = attempt.speedup, _before(attempt, known)
        if gained and before:
            edge.gains.append(gained / before)
        for passed in _way(attempt, steps, found):
            passed.visits += 1
            passed.best = max(passed.best, gained)
            passed.on_best = passed.on_best or attempt.number == best
    return list(found.values())


def _edge(attempt: Brief, steps: Mapping[int, Brief], found: dict[tuple[str, str], Walked]) -> Walked:
    parent = _parent(attempt, steps)
    ends = (START if parent is None else parent.technique), attempt.technique
    return found.setdefault(ends, Walked(*ends))


def _way(attempt: Brief | None, steps: Mapping[int, Brief], found: dict[tuple[str, str], Walked]) -> Iterator[Walked]:
    """The edges that led to an attempt, each once: a way may go in circles."""
    seen: list[Walked] = []
    while attempt is not None:
        edge = _edge(attempt, steps, found)
        seen += [edge] if edge not in seen else []
        attempt = _parent(attempt, steps)
    yield from seen


def _parent(attempt: Brief, steps: Mapping[int, Brief]) -> Brief | None:
    return steps.get(attempt.parents[0]) if attempt.parents else None


def _before(attempt: Brief, known: Mapping[int, Brief]) -> float:
    """The speedup of the code before, 0 where it was not timed; that of the code as it came is one: it is the baseline."""
    return known[attempt.parents[0]].speedup if attempt.parents else 1.0


# --- the picture --------------------------------------------------------------------------------------------------------


def ways(edges: Sequence[Walked], width: int) -> Markup:
    """Techniques in columns, as many steps from the start as they were reached in; steps as lines between them."""
    columns = _columns(edges)
    height = TOP + ROW * max(map(len, columns)) + 12
    at = {
        name: (_x(depth, len(columns), width), TOP + (height - TOP) * (row + 0.5) / len(names))
        for depth, names in enumerate(columns)
        for row, name in enumerate(names)
    }
    most = max(edge.visits for edge in edges)
    drawn = sorted(edges, key=lambda edge: edge.on_best)
    lines = [_line(edge, at, most) for edge in drawn]
    return svg.frame(width, height, describe(edges), [*lines, *(_node(name, place) for name, place in at.items())])


def describe(edges: Sequence[Walked]) -> str:
    """The picture in words."""
    way = ", ".join(edge.target for edge in edges if edge.on_best)
    return f"{len(edges)} steps of the graph were taken." + (f" The best kernel's way: {way}." if way else "")


def _columns(edges: Sequence[Walked]) -> list[list[str]]:
    depth, level = {START: 0}, [START]
    while level:
        ahead = [e.target for one in level for e in edges if e.source == one and e.target not in depth]
        level = list(dict.fromkeys(ahead))
        depth |= dict.fromkeys(level, max(depth.values()) + 1)
    rest = {name for edge in edges for name in (edge.source, edge.target)} - depth.keys()
    depth |= dict.fromkeys(sorted(rest), 1)
    return [[name for name, steps in depth.items() if steps == at] for at in range(max(depth.values()) + 1)]


def _x(depth: int, columns: int, width: int) -> float:
    return LEFT + (width - 2 * LEFT - 60) * depth / max(columns - 1, 1)


def _line(edge: Walked, at: Mapping[str, tuple[float, float]], most: int) -> Markup:
    (x1, y1), (x2, y2) = at[edge.source], at[edge.target]
    bend = (x2 - x1) / 2 if x2 != x1 else -40.0
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    text = f"{edge.source} to {edge.target}: {words.attempts(edge.visits)} went this way"
    gain = f", {times(edge.gain)} the speed before" if edge.gain else ""
    kind = "way best" if edge.on_best else "way gained" if (edge.gain or 0.0) > 1.0 else "way"
    stroke = 1 + (WIDEST - 1) * math.sqrt(edge.visits / most)
    return svg.element("path", svg.element("title", text + gain), d=path, class_=kind, stroke_width=stroke)


def _node(name: str, place: tuple[float, float]) -> Markup:
    x, y = place
    label = svg.text(x, y - 9, words.visible(name.replace("-", " ")), "tick", "middle")
    return svg.element("g", svg.dot(x, y, 5, "stop"), label)
