"""The naive kernels next to the tasks: each is judged once, as a final, and remembered.

A task's kernel has its name and an ending that the target can run. It shows how far a first kernel is from eager; a
speedup over it is the ratio of two speedups over eager.
"""

from pathlib import Path
from typing import NamedTuple

from kernelwright.bench.records import Naive
from kernelwright.engine.summary import figures_of, reason_of
from kernelwright.errors import RefereeError, TaskError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.languages import languages_for
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Target, Task
from kernelwright.store.lines import Lines
from kernelwright.tasks.kernel_file import read_kernel

REASON = 2000
"""Characters that are kept of why a naive kernel is not right."""


def naive_file(folder: Path, name: str, target: Target) -> Path | None:
    """The naive kernel of a task; None where there is none."""
    suffixes = sorted({each.suffix for each in languages_for(target.kind)})
    files = (folder / f"{name}{suffix}" for suffix in suffixes)
    return next((file for file in files if file.is_file()), None)


class Wanted(NamedTuple):
    """A naive kernel that was not judged yet."""

    file: Path
    candidate: Candidate
    key: str


class NaiveBook:
    """What is known of the naive kernels, and which are still to be judged."""

    def __init__(self, folder: Path | None, lines: Lines[Naive]) -> None:
        self._folder = folder
        self._lines = lines
        self._found = {line.task: line for line in lines.read()}
        self._tried: set[str] = set()

    def found(self) -> tuple[Naive, ...]:
        """The last word on each task."""
        return tuple(self._found[task] for task in sorted(self._found))

    def wanted(self, task: str, target: Target) -> Wanted | None:
        """The task's kernel, when it has one that is not known. Each is tried once by one command."""
        file = naive_file(self._folder, task, target) if self._folder else None
        if file is None or task in self._tried:
            return None
        self._tried.add(task)
        try:
            candidate = read_kernel(file)
        except (TaskError, UsageError) as error:
            self._keep(Naive(task=task, key="", file=file.name, outcome="refused", reason=str(error)))
            return None
        key = identity("naive", {"task": task, "candidate": candidate.id})
        known = self._found.get(task)
        return None if known is not None and known.key == key else Wanted(file, candidate, key)

    async def judge(self, evaluator: Evaluator, task: Task, wanted: Wanted) -> None:
        """Judge it as a final and write down what was found; a referee that breaks leaves it for the next time."""
        blank = Naive(task=task.name, key="", file=wanted.file.name, outcome="not_judged")
        try:
            evaluation = await evaluator.evaluate(task, wanted.candidate, "final")
        except RefereeError as error:
            self._keep(blank.model_copy(update={"reason": str(error)}))
            return
        figures = figures_of(evaluation)
        update = {"key": wanted.key, "outcome": evaluation.outcome, "reason": reason_of(evaluation)[:REASON],
                  "latency_us": figures.latency_us, "eager": figures.speedup_eager,
                  "compile": figures.speedup_compile}  # fmt: skip
        self._keep(blank.model_copy(update=update))

    def _keep(self, found: Naive) -> None:
        self._found[found.task] = found
        self._lines.append(found)
