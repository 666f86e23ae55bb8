"""Run and Turn: the folder's identity card, and the journaled messages of a dialogue."""

from typing import Literal

from pydantic import JsonValue

from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.task import Task


class Device(Record):
    """The device that was measured, and its ceilings, measured by the referee in the same run."""

    kind: Literal["cpu", "cuda"]
    name: str
    cores: int
    """Hardware threads on cpu, multiprocessors on cuda."""
    memory_gbps: float | None = None
    """Read bandwidth measured over data larger than the last cache; None when it was not measured."""
    cache_bytes: int = 0
    """Last-level cache."""


class Environment(Record):
    """The circumstances of a run's measurements."""

    device: Device
    versions: dict[str, str]
    """Of python, torch, triton, compilers, driver, kernelwright."""
    isolation: tuple[str, ...]
    """Parts of the sandbox in force."""
    denied: tuple[str, ...] = ()
    """Parts that the host denies, each with what is lost."""


class Turn(Record):
    """A message to or from a model, a diagnosis or a tool call; journaled before it is acted on."""

    number: int
    expansion: int
    role: str
    kind: Literal["prompt", "reply", "diagnosis", "tool"]
    text: str


class RunCard(Record):
    """What a run is, written once at its start and checked on resume."""

    id: str
    created: str
    """ISO 8601, UTC."""
    task: Task
    environment: Environment
    config: dict[str, JsonValue]
    """The resolved configuration."""


class Outcome(Record):
    """How a run ended: the best attempt of the search, its final measurement, and why it stopped."""

    best: int | None
    """Attempt number; None with the reason in `stopped` when nothing was right."""
    final: Attempt | None = None
    """The best, measured anew, head to head with fresh inputs."""
    stopped: str
    complete: bool = True
    """False after an interruption or an error: `resume` goes on where the run stopped."""
