"""A page of what replayed searches found: curves of all variants, how far ahead `mcgs` is, and the tables' own figures."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

from pydantic import JsonValue

from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale

WIDTH, PLOT, LEFT, RIGHT, TOP, BOTTOM = 860, 340, 52, 190, 14, 44
APART = 15
"""Pixels between two names at the curves' ends."""
COLOURS = ("#2f6fb3", "#c0504d", "#6a9a3b", "#8064a2", "#d08a2e", "#3fa0a8", "#7f7f7f", "#b35a8c")
STYLE = """
body { font: 15px/1.5 var(--sans); color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; }
body { padding: 0 1rem } table { border-collapse: collapse; margin: 1rem 0 }
td, th { padding: .2rem .6rem; white-space: nowrap; text-align: right; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left }
"""


class Curve(NamedTuple):
    """One variant: its share of the best after each evaluation."""

    name: str
    shares: Sequence[float]


def search_page(found: Mapping[str, JsonValue]) -> str:
    """The page, complete in itself."""
    curves = [Curve(name, shares) for name, shares in _table(found["curves"]).items()]
    second = _table(found.get("second pass", {}))
    count, seeds = len(_table(found["tables"])), found["seeds"]
    parts = [
        "<h1>Searches over the graph of techniques</h1>",
        f"<p>{count} tables of judged states, {seeds} seeds. Effects: {escape(str(found['device']))}.</p>",
        "<h2>Share of the best speedup there is</h2>", chart(curves),
        "<h2>How far mcgs is ahead</h2><p>Ratio of the speedups found; in brackets the interval of 99 %.</p>",
        _ahead(_table(found["mcgs over"])),
        *_second(second),
        "<h2>Tables</h2>", _facts(_table(found["tables"])),
    ]  # fmt: skip
    body = "\n".join(parts)
    style = _css("colours.css") + _css("chart.css") + STYLE
    head = f'<meta charset="utf-8"><title>Searches over the graph</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def chart(curves: Sequence[Curve]) -> str:
    """All curves over evaluations, each named at its end."""
    last = max(len(curve.shares) for curve in curves)
    x, y = Scale(1, max(last, 2), LEFT, WIDTH - RIGHT), Scale(0.0, 1.0, TOP + PLOT, TOP)
    parts = [svg.rule(LEFT, y(tick), WIDTH - RIGHT, y(tick)) for tick in y.ticks(6)]
    parts += [svg.text(LEFT - 8, y(tick) + 4, f"{tick:.0%}", anchor="end") for tick in y.ticks(6)]
    parts += [svg.text(x(at), TOP + PLOT + 18, str(at), anchor="middle") for at in (1, 4, 8, 16, 32, 64) if at <= last]
    parts.append(svg.text((LEFT + WIDTH - RIGHT) / 2, TOP + PLOT + 36, "evaluations", "axis", "middle"))
    ends = _spread([y(curve.shares[-1]) for curve in curves])
    for curve, colour, end in zip(curves, COLOURS, ends, strict=False):
        points = " ".join(f"{x(i):.1f},{y(share):.1f}" for i, share in enumerate(curve.shares, 1))
        title = svg.element("title", f"{curve.name}: {curve.shares[-1]:.1%} after {len(curve.shares)}")
        parts.append(svg.element("polyline", title, points=points, style=f"fill:none;stroke:{colour};stroke-width:2"))
        name = svg.element("text", curve.name, x=WIDTH - RIGHT + 8, y=round(end + 4, 1), style=f"fill:{colour}")
        parts.append(name)
    told = "; ".join(f"{curve.name} {curve.shares[-1]:.0%}" for curve in curves)
    return str(svg.frame(WIDTH, TOP + PLOT + BOTTOM, f"Share of the best after {last} evaluations: {told}.", parts))


def _spread(wanted: Sequence[float]) -> list[float]:
    """The heights, moved down as far as names need it, the highest first."""
    found, before = dict[int, float](), 0.0
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        before = found[i] = max(wanted[i], before + APART)
    return [found[i] for i in range(len(wanted))]


def _ahead(budgets: Mapping[str, JsonValue]) -> str:
    names = list(_table(next(iter(budgets.values()))))
    rows = [[name, *(_interval(_table(_table(at)[name])) for at in budgets.values())] for name in names]
    return _grid(["over", *(f"{budget} evaluations" for budget in budgets)], rows)


def _second(found: Mapping[str, JsonValue]) -> list[str]:
    if not found:
        return []
    spent = {name: f"{float(str(value)):.1f}" for name, value in _table(found["evaluations"]).items()}
    share = _interval(_table(found["with weights over cold"]))
    told = f"<p>Evaluations to the first pass's best, on sizes the weights have not seen: {share} of the first's.</p>"
    return ["<h2>Second pass</h2>", told, _grid(list(spent), [list(spent.values())])]


def _facts(tables: Mapping[str, JsonValue]) -> str:
    rows = []
    for name, table in tables.items():
        facts = _table(table)
        over = f"{float(str(facts['over naive'])):.2f}" if "over naive" in facts else ""
        rows.append([name, str(facts["states"]), str(facts["right"]), f"{float(str(facts['best'])):.4g}", over])
    return _grid(["table", "states", "right", "best over serial", "best over naive"], rows)


def _interval(found: Mapping[str, JsonValue]) -> str:
    ratio, low, high = (float(str(found[key])) for key in ("ratio", "low", "high"))
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{escape(word)}</th>" for word in head)]
    lines += ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _css(name: str) -> str:
    return (files("kernelwright.report") / "templates" / name).read_text("utf-8")


def _table(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value
