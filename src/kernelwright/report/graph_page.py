"""The graph of techniques as a picture: SVG for papers, and a page on which it can be moved, searched and opened.

Techniques stand in rings around the start, as many steps away as the ring says; their names point outwards, where there is
room for them. What is shown of an edge is looked up in
the page's own data when it is clicked; nothing is fetched, and every text of the graph is shown as text.
"""

import json
import math
from collections.abc import Sequence
from difflib import unified_diff
from importlib.resources import files
from itertools import islice

import networkx as nx
from markupsafe import Markup
from pydantic import JsonValue

from kernelwright.records.technique import START, Edge, StepExample, TechniqueGraph
from kernelwright.report.html import page
from kernelwright.report.words import visible

RING, APART, RADIUS, LETTER = 290.0, 34.0, 8.0, 7.0
"""Pixels from one ring to the next, from one technique to its neighbour, of a technique's dot, and of a letter."""
FIGURES = {
    "techniques": "techniques", "edges": "steps between them", "examples": "examples", "measured": "of them timed",
    "counter": "counter-examples", "trajectories": "trajectories", "tasks": "tasks",
}  # fmt: skip
"""Of a graph's statistics, what stands above the picture, and in which words."""
MOST_EXAMPLES, MOST_LINES = 8, 160
"""What the page holds of one edge, and of one example's change."""
Point = tuple[float, float]


def places(graph: TechniqueGraph) -> dict[str, Point]:
    """Where each technique stands: the start in the middle, the others on rings, near those that lead to them."""
    shape = nx.DiGraph()
    shape.add_nodes_from(graph.nodes)
    shape.add_edges_from((edge.source, edge.target) for edge in graph.edges)
    depth = nx.single_source_shortest_path_length(shape, START)
    found: dict[str, Point] = {START: (0.0, 0.0)}
    for ring in range(1, max(depth.values()) + 2):
        names = [n for n in graph.nodes if depth.get(n, max(depth.values()) + 1) == ring]
        ordered = sorted(names, key=lambda n: (_bearing(n, shape, found), n))
        radius = max(RING * ring, len(ordered) * APART / (2 * math.pi) + RING * (ring - 1))
        for place, name in enumerate(ordered):
            angle = 2 * math.pi * place / max(len(ordered), 1)
            found[name] = (round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1))
    return found


def _bearing(name: str, shape: nx.DiGraph, found: dict[str, Point]) -> float:
    near = [found[n] for n in shape.predecessors(name) if n in found and n != START]
    if not near:
        return math.pi
    return math.atan2(sum(y for _, y in near), sum(x for x, _ in near)) % (2 * math.pi)


def svg(graph: TechniqueGraph) -> str:
    """The picture, complete in itself."""
    at = places(graph)
    ends = [end for name, point in at.items() for end in (point, _end(name, point))]
    width, height = (max(abs(end[axis]) for end in ends) + 20 for axis in (0, 1))
    edges = "".join(_line(edge, at) for edge in graph.edges)
    nodes = "".join(_node(name, at[name]) for name in graph.nodes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="graph" viewBox="{-width} {-height} {2 * width} {2 * height}" '
        'font-family="sans-serif" font-size="13"><defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 10 5 0 10z" fill="#888"/></marker></defs>'
        f'<g id="edges">{edges}</g><g id="nodes">{nodes}</g></svg>'
    )


def _end(name: str, at: Point) -> Point:
    """About where a technique's name ends."""
    length = math.hypot(*at) or 1.0
    further = 1 + (14 + LETTER * len(name)) / length
    return round(at[0] * further), round(at[1] * further)


def _line(edge: Edge, at: dict[str, Point]) -> str:
    (x1, y1), (x2, y2) = at[edge.source], at[edge.target]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    back = (RADIUS + 4) / length
    width = 1 + min(4.0, math.log2(1 + len(edge.examples)))
    colour = "#888" if edge.examples else "#d08080"
    bend = (x1 + x2) / 2 - (y2 - y1) * 0.08, (y1 + y2) / 2 + (x2 - x1) * 0.08
    return (
        f'<path data-edge="{edge.key}" d="M{x1} {y1}Q{bend[0]:.1f} {bend[1]:.1f} {x2 - (x2 - x1) * back:.1f} '
        f'{y2 - (y2 - y1) * back:.1f}" fill="none" stroke="{colour}" stroke-width="{width:.1f}" stroke-opacity="0.5" '
        f'marker-end="url(#tip)"><title>{edge.source} to {edge.target}</title></path>'
    )


def _node(name: str, at: Point) -> str:
    """A dot, and the name along the line from the start, never upside down."""
    (x, y), start = at, name == START
    angle = math.degrees(math.atan2(y, x))
    left = abs(angle) > 90
    turn = angle + 180 if left else angle
    beside = f'x="{-14 if left else 14}" y="4" text-anchor="{"end" if left else "start"}"'
    words = 'y="26" text-anchor="middle"' if start else f'{beside} transform="rotate({turn:.1f})"'
    return (
        f'<g data-node="{name}" transform="translate({x} {y})"><circle r="{12 if start else RADIUS}" '
        f'fill="{"#305080" if start else "#5080b0"}"/><text {words}>{name.replace("-", " ")}</text></g>'
    )


def render_graph(graph: TechniqueGraph, figures: Sequence[tuple[str, str]]) -> str:
    """The page; `figures` are shown above the picture, name and value."""
    script = (files("kernelwright.report") / "templates" / "graph.js").read_text("utf-8")
    data = json.dumps({edge.key: _edge(edge, graph) for edge in graph.edges})
    return page(
        "graph.html.j2",
        rules=(files("kernelwright.report") / "templates" / "graph.css").read_text("utf-8"),
        figures=figures,
        picture=Markup(svg(graph)),
        data=Markup(data.replace("<", "\\u003c")),
        program=script,
    )


def _edge(edge: Edge, graph: TechniqueGraph) -> JsonValue:
    best = sorted(edge.examples, key=lambda e: -max((gain.median for gain in e.gains), default=0.0))
    shown = [*islice(best, MOST_EXAMPLES), *islice(edge.counter, MOST_EXAMPLES - len(best[:MOST_EXAMPLES]))]
    return {
        "examples": len(edge.examples),
        "counter": len(edge.counter),
        "shown": [_example(example, graph, example in edge.examples) for example in shown],
    }


def _example(example: StepExample, graph: TechniqueGraph, held: bool) -> JsonValue:
    before, after = (graph.codes[key].splitlines() for key in (example.before, example.after))
    changed = list(islice(unified_diff(before, after, lineterm=""), 2, MOST_LINES))
    gains = [
        f"{g.payoff}, {g.median:.2f} times as fast ({g.low:.2f} to {g.high:.2f}) on {g.device}" for g in example.gains
    ]
    return {
        "name": visible(example.name),
        "held": held,
        "think": visible(example.think),
        "detail": visible(example.detail),
        "about": f"{example.language} for {example.kind}, {example.outcome}",
        "gains": [visible(text) for text in gains] or ["not timed"],
        "evidence": visible(example.evidence),
        "diff": [visible(line) for line in changed],
    }
