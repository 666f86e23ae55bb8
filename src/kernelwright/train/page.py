"""A training run's page: curves and samples in one HTML file without scripts, made like the report of a search.

What a model wrote is hostile text: it is escaped and cut like everything else.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import HALF, Scale
from kernelwright.report.html import page
from kernelwright.train.recipe import Progress, Rollout

LEFT, RIGHT, TOP, PLOT, BOTTOM = 54, 16, 12, 180, 40
CURVES = (
    "reward", "right", "speedup", "hacks", "timed out", "parsed", "length", "cut off", "KL", "entropy", "flat groups",
    "waiting", "loss", "token accuracy", "gradient norm",
)  # fmt: skip
"""What is drawn, in this order, where a run has it."""
SHARES = frozenset({"right", "hacks", "timed out", "parsed", "cut off", "flat groups", "waiting", "token accuracy"})
MOST_ROLLOUTS = 60
RULES = (
    ".curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; } "
    ".chart .line { stroke: var(--measured); stroke-width: 1.75; fill: none; } .chart .mark { fill: var(--measured); } "
    "details.card summary { cursor: pointer; } details.card pre, #recipe pre { overflow-x: auto; white-space: pre; }"
)
TEXT_LIMIT = 12_000


class Curve(NamedTuple):
    """One figure over the steps."""

    name: str
    last: float
    chart: Markup


def render(name: str, recipe: str, progress: Sequence[Progress], rollouts: Sequence[Rollout]) -> str:
    """The whole page; also of a run that goes on."""
    shown = sorted(rollouts[-MOST_ROLLOUTS:], key=lambda one: (-one.step, one.task))
    return page(
        "training.html.j2",
        RULES,
        name=name,
        recipe=recipe,
        last=progress[-1] if progress else None,
        curves=[_curve(figure, progress) for figure in CURVES if any(figure in one.figures for one in progress)],
        rollouts=[one.model_copy(update={"reply": one.reply[:TEXT_LIMIT]}) for one in shown],
    )


def _curve(name: str, progress: Sequence[Progress]) -> Curve:
    points = [(one.step, one.figures[name]) for one in progress if name in one.figures]
    return Curve(name, points[-1][1], curve_chart(name, points))


def curve_chart(name: str, points: Sequence[tuple[int, float]], width: int = HALF) -> Markup:
    """One figure over the steps as a line, with a dot where there is only one."""
    bottom = TOP + PLOT
    values = [value for _, value in points]
    low, high = (0.0, 1.0) if name in SHARES else (min(0.0, *values), max(values))
    y = Scale(low, high if high > low else low + 1.0, bottom, TOP)
    first, last = points[0][0], points[-1][0]
    x = Scale(first, last if last > first else first + 1, LEFT, width - RIGHT)
    parts = [part for tick in y.ticks(5) for part in (
        svg.rule(LEFT, y(tick), width - RIGHT, y(tick)), svg.text(LEFT - 6, y(tick) + 4, f"{tick:g}", anchor="end"))
    ]  # fmt: skip
    parts += [svg.text(x(t), bottom + 17, f"{t:,g}", anchor="middle") for t in x.ticks(5) if t == int(t)]
    path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
    parts.append(svg.element("polyline", points=path, class_="line"))
    parts += [
        svg.dot(x(step), y(value), 2.0, "mark", f"step {step}: {value:.4g}")
        for step, value in points[:: len(points) // 60 + 1]
    ]
    parts.append(svg.text(width - RIGHT, bottom + 34, "step", anchor="end"))
    return svg.frame(width, bottom + BOTTOM, f"{name} over {len(points)} steps, last {values[-1]:.3g}", parts)
