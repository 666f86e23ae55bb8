"""What can be said of a graph: how large, how well measured, and what does not fit together."""

from collections.abc import Iterator
from statistics import geometric_mean

import networkx as nx

from kernelwright.knowledge.library import technique_names
from kernelwright.records.base import Record
from kernelwright.records.technique import START, TechniqueGraph


class GraphStats(Record):
    """A graph in figures."""

    techniques: int
    """Nodes, without the start."""
    edges: int
    examples: int
    measured: int
    """Examples that were timed on at least one device."""
    counter: int
    """Steps that went wrong or lost time."""
    codes: int
    trajectories: int
    devices: dict[str, int]
    """Examples that were timed on each."""
    languages: dict[str, int]
    tasks: int
    cycles: bool
    """Whether some technique can be reached again from itself."""
    longest: int
    """Steps to the technique that is furthest from the start."""


def expected_gains(graph: TechniqueGraph, device: str, language: str, without: str = "") -> dict[str, float]:
    """By an edge's key, how many times as fast its steps made a kernel on a device.

    The geometric mean over what held its claim and what did not, of all tasks but one.
    """
    found: dict[str, list[float]] = {}
    for edge in graph.edges:
        for step in (*edge.examples, *edge.counter) if edge.source != START else ():
            gain = step.gain_on(device)
            if gain is not None and step.language == language and step.task.partition("@")[0] != without:
                found.setdefault(edge.key, []).append(gain.median)
    return {key: geometric_mean(gains) for key, gains in found.items()}


def to_networkx(graph: TechniqueGraph) -> nx.DiGraph:
    """The graph as networkx has it; an edge carries its `Edge`."""
    found = nx.DiGraph()
    found.add_nodes_from(graph.nodes)
    found.add_edges_from((edge.source, edge.target, {"edge": edge}) for edge in graph.edges)
    return found


def stats(graph: TechniqueGraph) -> GraphStats:
    """The graph in figures."""
    steps = [example for _, example in graph.steps()]
    counter = [example for edge in graph.edges for example in edge.counter]
    shape = to_networkx(graph)
    reach = nx.single_source_shortest_path_length(shape, START)
    return GraphStats(
        techniques=len(graph.nodes) - 1,
        edges=len(graph.edges),
        examples=len(steps),
        measured=sum(bool(step.gains) for step in steps),
        counter=len(counter),
        codes=len(graph.codes),
        trajectories=len(graph.merged),
        devices=_counted(gain.device for step in (*steps, *counter) for gain in step.gains),
        languages=_counted(step.language for step in steps),
        tasks=len({step.task for step in (*steps, *counter)}),
        cycles=not nx.is_directed_acyclic_graph(shape),
        longest=max(reach.values()),
    )


def _counted(words: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items()))


def faults(graph: TechniqueGraph) -> tuple[str, ...]:
    """What does not fit together, a sentence each; reading a file has refused what could not even be read."""
    reached = nx.descendants(to_networkx(graph), START) | {START}
    known = technique_names()
    used = {code for edge in graph.edges for e in (*edge.examples, *edge.counter) for code in (e.before, e.after)}
    return (
        *(
            f"{name} cannot be reached from the start: no edge leads there"
            for name in graph.nodes
            if name not in reached
        ),
        *(f"{name} has no card in the library: write one" for name in graph.nodes if name not in known | {START}),
        *(
            f"the edge {e.key} has neither an example nor counter-evidence"
            for e in graph.edges
            if not e.examples + e.counter
        ),
        *(f"the code {code} is part of no example" for code in graph.codes if code not in used),
    )
