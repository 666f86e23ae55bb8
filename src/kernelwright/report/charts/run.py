"""Charts of a whole run.

Speedup over attempts has a point for each measured attempt, the best so far as a staircase, and a lane for each outcome
that has no time: a wrong kernel is on no speed axis. Of a long run, a mark that would lie under another is left out. A bar of
shares shows outcomes or seconds of stages.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelwright.records.answer import figure, times
from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import Brief, briefs
from kernelwright.records.measure import Ratio
from kernelwright.report import tally, words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale, around

LEFT, RIGHT, TOP = 86, 14, 14
PLOT, LANE = 230, 20
CROWD, CELL = 1000, 5.0
"""Attempts beyond which marks are thinned, and the pixels of a square that one mark stands for then."""


@dataclass(frozen=True)
class _Axes:
    x: Scale
    y: Scale
    bottom: float
    """Lower edge of the speed axis."""
    radius: float
    linked: Container[int] | None
    """Attempts that are on the page; None: all are."""
    crowded: bool
    """Whether marks are thinned."""


def progress(
    attempts: Sequence[Attempt], final: Ratio | None, width: int, linked: Container[int] | None = None
) -> Markup:
    """The chart; `final` is the published speedup over eager, drawn as a band. Marks of the attempts `linked` lead to them."""
    known = briefs(attempts)
    measured, steps = [a for a in known if a.outcome == "measured"], tally.staircase(attempts)
    lanes = [name for name in tally.counts(attempts) if name != "measured"]
    bottom = TOP + PLOT if measured else TOP
    height = bottom + LANE * len(lanes) + 44
    axes = _axes(known, measured, final, (width, bottom), linked)
    parts = _speed(axes, measured, steps, final, width) if measured else []
    parts += _lanes(known, lanes, axes, width)
    parts += _numbers(known, axes, height)
    return svg.frame(width, height, describe(attempts, final), parts)


def describe(attempts: Sequence[Attempt], final: Ratio | None) -> str:
    """The chart in words."""
    found = ", ".join(f"{n} {words.outcome(name)}" for name, n in tally.counts(attempts).items())
    steps = "; ".join(f"attempt {s.attempt}: {times(s.speedup)}" for s in tally.staircase(attempts)[-12:])
    text = f"{words.attempts(len(attempts))}: {found}." if attempts else "No attempts."
    best = f" Best so far, as speedup over eager: {steps}." if steps else " Nothing was timed."
    last = f" Final measurement: {times(final.median)}." if final else ""
    return text + best + last


def _axes(
    attempts: Sequence[Brief],
    measured: Sequence[Brief],
    final: Ratio | None,
    corner: tuple[int, int],
    linked: Container[int] | None,
) -> _Axes:
    width, bottom = corner
    last = max((a.number for a in attempts), default=0)
    x = Scale(-0.5, last + 0.5, LEFT, width - RIGHT)
    extra = [final.low, final.high] if final else []
    y = around([1.0, *(a.speedup for a in measured if not a.blurred), *extra], bottom, TOP, pad=1.2)
    radius = min(5.0, max(2.6, 0.35 * (width - LEFT - RIGHT) / (last + 1)))
    return _Axes(x, y, bottom, radius, linked, len(attempts) > CROWD)


def _speed(
    axes: _Axes, measured: Sequence[Brief], steps: Sequence[tally.Step], final: Ratio | None, width: int
) -> list[Markup]:
    right = width - RIGHT
    parts = []
    for tick in axes.y.ticks():
        parts += [
            svg.rule(LEFT, axes.y(tick), right, axes.y(tick), "one" if tick == 1 else "grid"),
            svg.text(LEFT - 8, axes.y(tick) + 4, f"{tick:g}×", anchor="end"),
        ]
    if final:
        top, low = axes.y(final.high), axes.y(final.low)
        parts.append(svg.bar(LEFT, top, right - LEFT, max(low - top, 1.5), "band"))
    parts.append(_stairs(axes, steps, right))
    best = {s.attempt for s in steps}
    others = [a for a in measured if a.number not in best]
    seen = _thinned(axes, others, lambda a: (axes.x(a.number), axes.y(a.speedup)))
    drawn = {a.number for a in seen} | best
    parts += [_point(axes, a, a.number in best) for a in measured if a.number in drawn]
    return parts


def _thinned(axes: _Axes, attempts: Sequence[Brief], place: Callable[[Brief], tuple[float, float]]) -> Iterable[Brief]:
    """Of a crowd one in each square, the latest."""
    if not axes.crowded:
        return attempts
    return {tuple(at // CELL for at in place(attempt)): attempt for attempt in attempts}.values()


def _stairs(axes: _Axes, steps: Sequence[tally.Step], right: float) -> Markup:
    path = []
    for i, step in enumerate(steps):
        path.append(f"{'V' if i else 'M'}{'' if i else f'{axes.x(step.attempt):.1f} '}{axes.y(step.speedup):.1f}")
        end = axes.x(steps[i + 1].attempt) if i + 1 < len(steps) else right
        path.append(f"H{end:.1f}")
    return svg.element("path", d="".join(path), class_="stairs")


def _point(axes: _Axes, attempt: Brief, best: bool) -> Markup:
    note = words.line(attempt.note, 90)
    ratio = attempt.eager
    doubt = ", too uncertain to claim" if attempt.blurred else ", on a busy machine" if attempt.busy else ""
    title = f"attempt {attempt.number}: {figure(ratio) if ratio else 'never'} eager{doubt}. {note}"
    mark = svg.dot(
        axes.x(attempt.number),
        axes.y(attempt.speedup),
        axes.radius,
        "pt o-measured" + (" best" if best else "") + (" hollow" if doubt else ""),
        title,
    )
    return _link(axes, attempt, mark)


def _lanes(attempts: Sequence[Brief], lanes: Sequence[str], axes: _Axes, width: int) -> list[Markup]:
    parts = []
    for row, name in enumerate(lanes):
        y = axes.bottom + 18 + LANE * row
        parts += [
            svg.text(LEFT - 8, y + 4, words.outcome(name), anchor="end"),
            svg.rule(LEFT, y, width - RIGHT, y, "lane"),
        ]
        alike = _thinned(axes, [a for a in attempts if a.outcome == name], lambda a: (axes.x(a.number), 0.0))
        parts += [_link(axes, a, _tick(axes.x(a.number), y, axes.radius, a)) for a in alike]
    return parts


def _tick(x: float, y: float, radius: float, attempt: Brief) -> Markup:
    name = attempt.outcome
    title = svg.element("title", f"attempt {attempt.number}: {words.outcome(name)}")
    side = 2 * radius
    return svg.element(
        "rect", title, x=x - radius, y=y - radius, width=side, height=side, rx=1.5, class_=f"pt o-{name}"
    )


def _link(axes: _Axes, attempt: Brief, mark: Markup) -> Markup:
    if axes.linked is not None and attempt.number not in axes.linked:
        return mark
    return svg.element("a", mark, href=f"#attempt-{attempt.number}", tabindex=-1)


def _numbers(attempts: Sequence[Brief], axes: _Axes, height: float) -> list[Markup]:
    y = height - 22
    middle = (axes.x.start + axes.x.end) / 2
    if not attempts:
        return [svg.text(middle, y, "no attempts", anchor="middle")]
    ticks = [t for t in axes.x.ticks(8) if t == int(t) and t >= 0]
    parts = [svg.text(axes.x(t), y, f"{t:g}", anchor="middle") for t in ticks]
    return [*parts, svg.text(middle, height - 5, "attempt", "axis", "middle")]


@dataclass(frozen=True)
class Share:
    """One part of a whole. `kind` is the class that colours it, here and in the legend."""

    name: str
    value: float
    kind: str
    told: str
    """The value in words."""


def shares(parts: Sequence[Share], width: int) -> Markup:
    """The bar, in the order given; the legend beside it carries the numbers."""
    total = sum(p.value for p in parts) or 1.0
    drawn, x = [], 0.0
    for part in parts:
        room = width * part.value / total
        title = svg.element("title", f"{part.name}: {part.told}")
        drawn.append(
            svg.element("rect", title, x=x, y=0, width=max(room - 1.5, 0.5), height=14, rx=2, class_=part.kind)
        )
        x += room
    described = ", ".join(f"{p.name}: {p.told}" for p in parts) or "nothing"
    return svg.frame(width, 14, described, drawn)
