"""Samples: judged candidates with what the compiler alone said about them, in files that a collection keeps writing.

Features are not kept: they are taken from the text when it is evaluated, so that they can be improved without a device.
"""

import json
from pathlib import Path
from typing import NamedTuple

from prediction.candidates import Maker
from pydantic import JsonValue

from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, is_right
from kernelwright.records.task import Task
from kernelwright.reward.predictor.experience import speed_of


class Sample(Record):
    """One candidate."""

    task: str
    """Its name in the suite."""
    number: int
    maker: Maker
    fault: str
    candidate: Candidate
    built: Evaluation
    """What compiling alone found: all that features may be taken from."""
    found: Evaluation
    """What the referee found. Where it did not build this is `built`: nothing else was asked."""

    @property
    def valid(self) -> bool:
        """Whether it is right."""
        return is_right(self.found)

    @property
    def compiles(self) -> bool:
        """Whether a compiler took it."""
        return self.built.outcome == "compiled"

    @property
    def speedup(self) -> float:
        """Over eager; 0 where it was not timed, or not surely."""
        speed = speed_of(self.found)
        return 0.0 if speed is None else 2.0**speed

    @property
    def blurred(self) -> bool:
        """Whether it was timed on a machine too busy to say anything: such a one is in no pool."""
        return self.found.outcome == "measured" and self.speedup == 0

    def seconds(self, compiling: bool) -> float:
        """Of its judgement: those of compiling, or all others, in which the device is held."""
        return sum(s.seconds for s in self.found.seconds if (s.stage == "compile") == compiling)


class Collection(NamedTuple):
    """What a folder holds."""

    origin: dict[str, JsonValue]
    tasks: dict[str, Task]
    samples: list[Sample]


def trimmed(found: Evaluation) -> Evaluation:
    """Without the single samples of its clock, which nothing here looks at."""
    if not isinstance(found, Measured):
        return found
    arms = tuple(side.model_copy(update={"samples_us": ()}) for side in found.timing.arms)
    timing = found.timing.model_copy(update={"arms": arms, "conditions": None})
    return found.model_copy(update={"timing": timing})


def read(*folders: Path) -> Collection:
    """What was collected, in the order of tasks and numbers; of the same sample in several folders the first."""
    origin: dict[str, JsonValue] = {}
    tasks: dict[str, Task] = {}
    samples: dict[tuple[str, int], Sample] = {}
    for folder in folders:
        if not (folder / "origin.json").exists():
            continue
        origin = origin or json.loads((folder / "origin.json").read_text())
        for line in (folder / "tasks.jsonl").read_text().splitlines():
            name, text = json.loads(line)
            tasks.setdefault(name, Task.model_validate_json(text))
        for line in (folder / "samples.jsonl").read_text().splitlines():
            sample = Sample.model_validate_json(line)
            samples.setdefault((sample.task, sample.number), sample)
    return Collection(origin, tasks, [samples[key] for key in sorted(samples)])
