"""Technique: one way to make a kernel faster, with an example that the referee has judged."""

import re
from typing import Literal

from pydantic import Field

from kernelwright.languages import language
from kernelwright.records.base import Record
from kernelwright.records.candidate import Define
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.names import KindName, LanguageName

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
