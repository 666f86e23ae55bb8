"""Plan: what a bench consists of, written once into its folder and compared with the flags when it continues.

Cells run seed by seed, so that a bench which is stopped early has treated all arms alike.
"""

import re
from typing import NamedTuple

from pydantic import Field, JsonValue

from kernelwright.engine.config import RunConfig
from kernelwright.models.config import ModelConfig
from kernelwright.records.base import Record
from kernelwright.records.task import Target
from kernelwright.search.table import spelled


class Arm(Record):
    """What is compared: one combination of the factors."""

    strategy: str
    proposer: str
    reward: str
    model: str = ""
    """Label of the router that is asked; empty: models are not compared, or none is asked."""

    @property
    def name(self) -> str:
        """As a folder is called."""
        parts = (self.strategy, self.proposer, self.reward, *([self.model] if self.model else []))
        return "-".join(re.sub(r"[^\w.-]", ".", part) for part in parts)

    @property
    def variant(self) -> str:
        """The variant of the prompts, of `llm:terse` the `terse`; empty: the usual one, or no prompts."""
        return self.proposer.partition(":")[2]


class Cell(Record):
    """One run of the bench."""

    task: str
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """Path of the run's folder below the bench's `cells`."""
        return f"{self.task}/{self.arm.name}-s{self.seed}"


class PlannedTask(Record):
    """A task, by name and content."""

    name: str
    file: str
    """Where it was found; it may lie elsewhere when the bench goes on."""
    source: str
    """Identity of its text, precision and declarations included."""


class LeftOut(Record):
    """A task that is not run, and why."""

    name: str
    reason: str


class Sampled(Record):
    """How many of the fit tasks are run."""

    taken: int
    of: int


class BenchPlan(Record):
    """Everything that decides the cells and what each may spend."""

    tasks: tuple[PlannedTask, ...]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    target: Target
    config: dict[str, JsonValue]
    """The configuration of every cell, but for proposer, reward and seed; the strategy's options hold where it is run."""
    suite: str
    """In words: which tasks these are."""
    precision: str
    """`as written`, or the one that the tasks were cast to."""
    models: dict[str, dict[str, ModelConfig]] = Field(default_factory=dict)
    """What each router has of its own, by its label; the common models stand in `config`."""
    left_out: tuple[LeftOut, ...] = ()
    doubtful: tuple[LeftOut, ...] = ()
    """Tasks that are run although somebody's list leaves them out, and why it does."""
    sampled: Sampled | None = None
    """None: all of them."""

    def cells(self) -> tuple[Cell, ...]:
        """Every cell in the order of running."""
        return tuple(
            Cell(task=task.name, arm=arm, seed=seed) for seed in self.seeds for task in self.tasks for arm in self.arms
        )

    def config_of(self, arm: Arm, seed: int) -> RunConfig:
        """The configuration of a cell."""
        config = RunConfig.model_validate(self.config)
        options, strategy = self.config["strategy"], spelled(arm.strategy)
        if isinstance(options, dict) and options.get("name") == strategy["name"]:
            strategy = {**options, **strategy}
        models = {**config.models, **self.models.get(arm.model, {})}
        own = {"seed": seed, "strategy": strategy, "models": models, "proposer": arm.proposer, "reward": arm.reward}
        return RunConfig.model_validate({**self.config, **own})


class Difference(NamedTuple):
    """A field of two plans that is not the same, in words."""

    field: str
    then: str
    now: str


_BY_CONTENT = ("arms", "seeds", "target", "config", "models", "precision")


def differences(then: BenchPlan, now: BenchPlan) -> list[Difference]:
    """What must be equal for a bench to go on, and is not."""
    found = [Difference("tasks", *_named(then, now))] if _tasks(then) != _tasks(now) else []
    before, after = then.model_dump(mode="json"), now.model_dump(mode="json")
    for field in _BY_CONTENT:
        old, new = dotted(field, before[field]), dotted(field, after[field])
        found += [
            Difference(key, old.get(key, "absent"), new.get(key, "absent"))
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
    return found


def _tasks(plan: BenchPlan) -> dict[str, str]:
    return {task.name: task.source for task in plan.tasks}


def _named(then: BenchPlan, now: BenchPlan) -> tuple[str, str]:
    """Only what differs: names with the beginning of their texts' identities."""
    before, after = _tasks(then), _tasks(now)
    return _only(before, after), _only(after, before)


def _only(mine: dict[str, str], others: dict[str, str]) -> str:
    own = [f"{name} ({source[:6]})" for name, source in sorted(mine.items()) if others.get(name) != source]
    return ", ".join(own[:6]) + (f" and {len(own) - 6} more" if len(own) > 6 else "") if own else "none of these"


def dotted(name: str, value: JsonValue) -> dict[str, str]:
    """A tree as dotted keys."""
    if isinstance(value, dict):
        return {
            key: text
            for part, inner in value.items()
            for key, text in dotted(f"{name}.{part}" if name else part, inner).items()
        }
    if isinstance(value, list):
        return {name: ", ".join(_brief(item) for item in value)}
    return {name: str(value)}


def _brief(item: JsonValue) -> str:
    return "-".join(str(part) for part in item.values() if part != "") if isinstance(item, dict) else str(item)
