"""Techniques, each with an example that the referee has judged, and the reasoning graph of the steps between them.

In the graph techniques are nodes, and edges are steps that were tried, with what each was measured to do. An edge leads from
the technique that was applied last to the one that is applied next; the start node is the code as it came. Cycles are
allowed. Sources are stored once, under their hash, because a step's result is the next one's beginning. The graph is that of
ReGraphT (arXiv 2510.19873, section 3), with a measured effect, a device and counter-evidence added.

What a worked step makes of the very code that it shows is known. On any other code a rewriting does what the technique says
(`nests`), or a model.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernelwright.languages import language
from kernelwright.records.attempt import WorkedStep
from kernelwright.records.base import Record, identity, text_identity
from kernelwright.records.candidate import Define
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.names import KindName, LanguageName
from kernelwright.records.task import SerialSpec

Payoff = Literal["faster", "slower", "no difference"]


class Gain(Record):
    """What an example gained on one device: the time before over the time after."""

    device: str
    """The device, as the results that it was read from name it."""
    median: float = Field(gt=0)
    """Times as fast as before; below one is a loss."""
    low: float = Field(gt=0)
    high: float = Field(gt=0)
    """Ends of an interval, from the intervals of both sides."""

    @property
    def payoff(self) -> Payoff:
        """What the interval allows to say."""
        if self.low > 1.0:
            return "faster"
        return "slower" if self.high < 1.0 else "no difference"


class Example(Record):
    """A task and two right kernels for it: without the technique, and with it and nothing else changed."""

    language: LanguageName
    task: str
    """The reference, as a task file in KernelBench's format."""
    before: str
    after: str
    sizes: tuple[Define, ...] = ()
    """Values of the task's constants at which a GPU is filled; the text has small ones, which an interpreter can do."""

    @property
    def suffix(self) -> str:
        """File ending of both kernels."""
        return language(self.language).suffix

    @property
    def task_on_device(self) -> str:
        """The task at the sizes that fill a device."""
        text = self.task
        for size in self.sizes:
            text = re.sub(rf"(?m)^{size.name} = \d+$", f"{size.name} = {size.value}", text)
        return text


class Technique(Record):
    """One card of the knowledge base."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = Field(min_length=1)
    targets: tuple[KindName, ...] = Field(min_length=1)
    languages: tuple[LanguageName, ...] = Field(min_length=1)
    """In which it can be written; the example is in one of them, where there is one."""
    bottlenecks: tuple[Bottleneck, ...] = Field(min_length=1)
    """What it eases, the likeliest first."""
    when: str = Field(min_length=1)
    """When it applies."""
    effect: str = Field(min_length=1)
    """What it should change, and by how much."""
    pitfalls: str = Field(min_length=1)
    example: Example | None = None
    """None: the graph of techniques has its examples."""
    families: tuple[str, ...] = ()
    """Families of operations that it is for (`records.graph.FAMILIES` and those of serial tasks); empty: any."""
    tags: tuple[str, ...] = ()
    """Other words that people use for it."""
    gains: tuple[Gain, ...] = ()
    """What the example gained where it was measured."""


SCHEMA: Literal[1] = 1
"""Of the file. Another number is another layout."""
START = "start"
"""The node of the code as it came."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Step(Record):
    """One step of a trajectory: why, what, how, and the whole code after it."""

    think: str
    method: str
    """The technique, in whatever words; a relabelling maps it onto a node."""
    detail: str = ""
    code: str = Field(min_length=1)


class Trajectory(Record):
    """A chain of steps that makes one task's code faster."""

    task: str
    """The task's name, for people."""
    family: str = ""
    """Of the task's operations, such as `reduction`."""
    kind: KindName
    """What the code after the first step is for."""
    language: LanguageName
    sizes: dict[str, int] = Field(default_factory=dict)
    """At which it was judged; sources in C++ have them as constants."""
    source: str = Field(min_length=1)
    """The code that the first step begins with."""
    steps: tuple[Step, ...] = Field(min_length=1)

    @cached_property
    def id(self) -> str:
        """Content hash."""
        return identity("trajectory", self.model_dump(mode="json"))


class Judged(Record):
    """What the referee said of one code of a trajectory."""

    outcome: str
    right: bool
    """Nothing failed that could be asked for on the machine that judged."""
    device: str = ""
    """Where it was timed; empty: nowhere."""
    latency_us: float | None = None
    within_us: tuple[float, float] | None = None
    """Where the device's own clock took it: the ends of its interval. Beside serial code, whose time scatters a thousand times
    as widely, two kernels are told apart by this."""
    speedup: tuple[float, float, float] | None = None
    """Over the task's baseline: median and the ends of its interval."""
    evidence: str = ""
    """Why it is not right, in a line."""


class StepExample(Record):
    """One worked step: the code before and after, and what it did."""

    name: str
    """What people call it: the task and the step."""
    think: str
    detail: str = ""
    task: str
    family: str = ""
    kind: KindName
    language: LanguageName
    sizes: dict[str, int] = Field(default_factory=dict)
    before: str
    """Hash of a source; so is `after`."""
    after: str
    outcome: str
    """What the referee said of the code after the step."""
    gains: tuple[Gain, ...] = ()
    """One for each device that it was timed on."""
    evidence: str = ""
    """Of a step that went wrong: how."""

    @cached_property
    def id(self) -> str:
        """What it shows, and at which sizes; measuring it on another device makes no other example."""
        return identity("example", self.model_dump(mode="json", include={"before", "after", "name", "sizes"}))

    def gain_on(self, device: str) -> Gain | None:
        """What it gained on a device; None: it was not timed there."""
        return next((gain for gain in self.gains if gain.device == device), None)


class Edge(Record):
    """From one technique to the next, with the steps that took this way."""

    source: Name
    target: Name
    examples: tuple[StepExample, ...] = ()
    counter: tuple[StepExample, ...] = ()
    """Steps that took it and went wrong or lost time: what not to do."""

    @property
    def key(self) -> str:
        """How weights name it."""
        return f"{self.source}>{self.target}"


class TechniqueGraph(Record):
    """A graph of techniques, as it stands in its file."""

    format: Literal["kernelwright-graph"] = "kernelwright-graph"
    version: Literal[1] = SCHEMA
    nodes: tuple[Name, ...] = (START,)
    edges: tuple[Edge, ...] = ()
    codes: dict[str, str] = Field(default_factory=dict)
    """Sources by their hash."""
    merged: tuple[str, ...] = ()
    """Trajectories that are in it already, by their hash: a build goes on where it was cut, and counts nothing twice."""

    @model_validator(mode="after")
    def _whole(self) -> "TechniqueGraph":
        known = set(self.nodes)
        if START not in known or len(known) != len(self.nodes):
            raise ValueError(f"nodes must have {START!r}, and each name once")
        keys = [edge.key for edge in self.edges]
        if len(set(keys)) != len(keys):
            raise ValueError("an edge stands there twice: its examples belong together")
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in known:
                    raise ValueError(f"the edge {edge.key} has an end {end!r}, which is no node")
            for example in (*edge.examples, *edge.counter):
                if not {example.before, example.after} <= self.codes.keys():
                    raise ValueError(f"the edge {edge.key} has the example {example.name!r}, whose code is not there")
        return self

    @cached_property
    def id(self) -> str:
        """Content hash: a run goes on only with the graph that it began with."""
        return identity("graph", self.model_dump(mode="json"))

    @cached_property
    def by_key(self) -> dict[str, Edge]:
        """Edges by `SOURCE>TARGET`."""
        return {edge.key: edge for edge in self.edges}

    def out(self, node: str) -> tuple[Edge, ...]:
        """The edges that leave a node, in the file's order."""
        return tuple(edge for edge in self.edges if edge.source == node)

    @cached_property
    def walked(self) -> dict[tuple[object, ...], tuple[object, ...]]:
        """What walks have worked out of it, for the next one: carrying a change over takes longer than all the rest."""
        return {}

    def steps(self) -> Iterator[tuple[Edge, StepExample]]:
        """Every example with its edge; counter-evidence is left out."""
        return ((edge, example) for edge in self.edges for example in edge.examples)


class GraphScope(Record):
    """What a walk over the graph may use in one run."""

    graph: TechniqueGraph
    root: str = ""
    """The code as it came; empty: a first kernel must be written before there is anything to walk from."""
    kind: KindName
    language: LanguageName
    family: str = ""
    device: str = ""
    sizes: dict[str, int] = Field(default_factory=dict)
    """Of the task, for sources that have them as constants."""
    spec: SerialSpec | None = None
    """Of a serial function, how it is called: what rewritings need besides its code."""
    writer: Literal["examples", "author", "model"] = "examples"
    """Who takes the steps. A model can follow any example; `examples` needs one that shows the code, or a rewriting."""
    authored: tuple[str, ...] = ()
    """Techniques that the built-in author masters here."""
    gains: dict[str, float] = Field(default_factory=dict)
    """By an edge's key, the factor that its examples gained on this device in this language."""


code_id = text_identity
"""Under what a source is stored."""


def apply_step(step: WorkedStep, source: str, sizes: Mapping[str, int]) -> str | None:
    """What a worked step makes of a source, at these sizes; None where it shows another code."""
    known = at_sizes(step.before, sizes) == at_sizes(source, sizes)
    return at_sizes(step.after, sizes) if known else None


def at_sizes(source: str, sizes: Mapping[str, int]) -> str:
    """The source with its lines `constexpr long NAME = …;` at these values: sizes that C++ has as constants."""
    for name, value in sizes.items():
        source = re.sub(rf"(?m)^(\s*constexpr long {re.escape(name)} = )\d+;", rf"\g<1>{value};", source)
    return source
