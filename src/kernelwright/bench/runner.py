"""Runner: runs the cells of a plan one after another.

A complete run is read, a half-finished one is resumed, and a cell that fails is a row with its reason. One evaluator
serves all cells and admits a task once. Cells never share the search cache: what a strategy would have had to measure,
it measures, so that device seconds can be compared. A cell begins only if its whole cap is left of the total.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from kernelwright.bench.cells import CELLS, first_environment, read_cell
from kernelwright.bench.records import Cell, CellResult, Failure, Naive
from kernelwright.bench.request import BenchBegins, BenchRequest, CellBegins, CellEnds, News
from kernelwright.bench.suite import Planned
from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Phase
from kernelwright.engine.gateway.models import Estimate, estimate
from kernelwright.engine.replay_comparison import changes
from kernelwright.engine.request import OptimizeResult
from kernelwright.engine.summary import figures_of
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import (
    KernelwrightError,
    MachineError,
    ModelError,
    ProposeError,
    RefereeError,
    TaskError,
    UsageError,
)
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.languages import languages_for, names_for
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.reasons import reason_of
from kernelwright.records.task import Target, Task
from kernelwright.store.files import Lines
from kernelwright.tasks.files import split_size
from kernelwright.tasks.kernel_file import read_kernel

REASON = 2000
"""Characters that are kept of why a naive kernel is not right."""


def naive_file(folder: Path, name: str, target: Target) -> Path | None:
    """The naive kernel of a task; None where there is none."""
    suffixes = sorted({each.suffix for each in languages_for(target.kind)})
    files = (folder / f"{name}{suffix}" for suffix in suffixes)
    return next((file for file in files if file.is_file()), None)


def oracle_of(task: Path, target: Target) -> Path | None:
    """The expert's kernel that lies beside a task's file, `oracles/TASK.py`; None where there is none for this target."""
    file = split_size(task).file
    return naive_file(file.parent / "oracles", file.stem, target)


class Wanted(NamedTuple):
    """A kernel that was not judged yet."""

    file: Path
    candidate: Candidate
    key: str


class KernelBook:
    """What is known of the kernels that stand beside the candidates, and which are still to be judged.

    Args:
        what: how messages call such a kernel: `naive kernel`, `oracle`.
        find: a task's own, by its name.
        lines: what is kept of them.
    """

    def __init__(self, what: str, find: Callable[[str, Target], Path | None], lines: Lines[Naive]) -> None:
        self.what = what
        self._find = find
        self._lines = lines
        self._found = {line.task: line for line in lines.read()}
        self._tried: set[str] = set()

    def found(self) -> tuple[Naive, ...]:
        """The last word on each task."""
        return tuple(self._found[task] for task in sorted(self._found))

    def wanted(self, task: str, target: Target) -> Wanted | None:
        """The task's kernel, when it has one that is not known. Each is tried once by one command."""
        file = self._find(task, target)
        if file is None or task in self._tried:
            return None
        self._tried.add(task)
        try:
            candidate = read_kernel(file)
        except (TaskError, UsageError) as error:
            self._keep(Naive(task=task, key="", file=file.name, outcome="refused", reason=str(error)))
            return None
        if candidate.language not in names_for(target.kind):
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


STATUS: Mapping[type[KernelwrightError], str] = {
    TaskError: "not_admitted",
    ProposeError: "gave_up",
    ModelError: "no_answer",
}
"""What an error makes of its cell; any other one is ours, and the cell broken."""
STANDS_UNLESS_RETRIED = ("gave_up", "not_admitted")
CENT = 1e-9
"""US dollars by which sums of prices may be off."""


class Order(NamedTuple):
    """One cell to be run: a run of an admitted task, begun or gone on with in that folder."""

    folder: Path
    config: RunConfig
    task: Task
    evaluator: Evaluator


RunCell = Callable[[Order, Suppliers], Awaitable[OptimizeResult]]
"""Runs a cell, as `optimize` and `resume` run any task."""


@dataclass
class Books:
    """What is written down beside the runs, and who hears of it."""

    failures: Lines[Failure]
    beside: tuple[KernelBook, ...]
    """The naive kernels, and the oracles."""
    failed: dict[str, Failure]
    """The last failure of each cell, by its name."""
    news: News


class Runner:
    """A bench at work."""

    def __init__(
        self, request: BenchRequest, planned: Planned, suppliers: Suppliers, run: RunCell, books: Books
    ) -> None:
        self._request, self._suppliers, self._run, self._books = request, suppliers, run, books
        self._plan, self._sources = planned
        self._evaluator: Evaluator | None = None
        self._tasks: dict[str, Task | TaskError] = {}
        """Admitted, or why not."""
        self._seconds: list[float] = []
        """How long each cell took that this command ran."""
        self._known: dict[str, CellResult] = {}
        """What is known of every cell, by its name."""

    async def run_all(self) -> bool:
        """Every cell in order; True when it was interrupted."""
        cells = self._plan.cells()
        self._known = {cell.name: self._read(cell) for cell in cells}
        left = [cell for cell in cells if not self._stands(cell)]
        if left:
            self._books.news(BenchBegins(cells=len(left), expected=self._expected(left)))
        try:
            for number, cell in enumerate(cells, 1):
                if self._stands(cell):
                    self._over(cell, number, len(cells), recorded=True)
                    await self._judge_beside(cell)
                elif await self._one(cell, number, len(cells)):
                    return True
        except asyncio.CancelledError:
            return True
        finally:
            await self._close()
        return False

    def _read(self, cell: Cell) -> CellResult:
        return read_cell(self._request.folder, cell, self._books.failed)

    def _stands(self, cell: Cell) -> bool:
        status = self._known[cell.name].status
        return status == "done" or (status in STANDS_UNLESS_RETRIED and not self._request.retry)

    def _expected(self, left: list[Cell]) -> str:
        """What the models of these cells are expected to cost; a half-finished one as if it were to begin."""
        each = (estimate(self._plan.config_of(cell.arm, cell.seed), self._sources[cell.task]) for cell in left)
        expected = sum(each, Estimate())
        return expected.words() if expected.calls else ""

    async def _one(self, cell: Cell, number: int, of: int) -> bool:
        """Run one cell; True when it was interrupted."""
        unpaid = self._unpaid(cell)
        if unpaid:
            self._fail(cell, "unpaid", unpaid)
            self._over(cell, number, of)
            return False
        self._books.failed.pop(cell.name, None)
        start = time.monotonic()
        self._books.news(CellBegins(cell=cell, number=number, of=of, left_s=self._left_s(of - number + 1)))
        interrupted = False
        try:
            interrupted = (await self._run_cell(cell)).interrupted
            self._seconds.append(time.monotonic() - start)
        except MachineError:
            raise
        except KernelwrightError as error:
            self._fail(cell, STATUS.get(type(error), "broken"), str(error))
            if isinstance(error, RefereeError):
                # What broke it may still be in its workers; the next cell gets new ones.
                await self._close()
        self._known[cell.name] = self._read(cell)
        self._over(cell, number, of)
        return interrupted

    def _over(self, cell: Cell, number: int, of: int, *, recorded: bool = False) -> None:
        self._books.news(CellEnds(result=self._known[cell.name], number=number, of=of, recorded=recorded))

    def _unpaid(self, cell: Cell) -> str:
        """Why the cell may not begin: of what all may spend together, less than its own cap is left; empty: it may."""
        total, own = self._request.total, self._known[cell.name]
        budget = RunConfig.model_validate(self._plan.config).budget
        if total.usd is not None and budget.usd is not None:
            left, needed = total.usd - sum(c.usd for c in self._known.values()), budget.usd - own.usd
            if left + CENT < needed:
                return (
                    f"${max(0.0, left):.2f} of the total of ${total.usd:.2f} is left, this cell may spend ${needed:.2f}"
                )
        if total.tokens is not None and budget.tokens is not None:
            left_tokens = total.tokens - sum(c.tokens for c in self._known.values())
            if left_tokens < budget.tokens - own.tokens:
                return (
                    f"{max(0, left_tokens):,} of the total of {total.tokens:,} tokens are left, this cell may spend "
                    f"{budget.tokens - own.tokens:,}"
                )
        return ""

    async def _run_cell(self, cell: Cell) -> OptimizeResult:
        """Run one cell.

        Raises:
            KernelwrightError: why it could not be run to its end.
        """
        task, evaluator = await self._admitted(cell.task)
        await self._judge_beside(cell)
        folder = self._request.folder / CELLS / cell.name
        order = Order(folder, self._plan.config_of(cell.arm, cell.seed), task, evaluator)
        result = await self._run(order, self._suppliers)
        if result.error is not None:
            raise result.error
        return result

    async def _admitted(self, name: str) -> tuple[Task, Evaluator]:
        """The task, admitted the first time that it is asked for, and who admitted it.

        Raises:
            TaskError: it cannot be judged.
        """
        evaluator = self._evaluator or await self._open()
        if name not in self._tasks:
            self._suppliers.listener(Phase(text=f"admitting {name} on {self._plan.target.name}"))
            try:
                self._tasks[name] = await evaluator.admit(self._sources[name], self._plan.target)
            except TaskError as error:
                self._tasks[name] = error
        found = self._tasks[name]
        if isinstance(found, TaskError):
            raise found
        return found, evaluator

    async def _open(self) -> Evaluator:
        """An evaluator on the machine that the bench was begun on.

        Raises:
            MachineError: device or versions are others.
        """
        config = RunConfig.model_validate(self._plan.config)
        self._evaluator = self._suppliers.open_evaluator(config.policy, config.place)
        then = first_environment(self._request.folder, self._plan.cells())
        changed = changes(then, await self._evaluator.environment(self._plan.target)) if then else []
        if changed:
            text = "; ".join(f"{c.name} was {c.then}, is {c.now}" for c in changed)
            raise MachineError(
                f"the bench at {self._request.folder} cannot go on under other circumstances ({text}): restore them, or "
                "choose another --run-dir"
            )
        return self._evaluator

    async def _judge_beside(self, cell: Cell) -> None:
        """Judge the naive kernel and the oracle of a cell's task, unless that was done."""
        for book in self._books.beside:
            wanted = book.wanted(cell.task, self._plan.target)
            if wanted is None:
                continue
            try:
                task, evaluator = await self._admitted(cell.task)
            except TaskError:
                return
            self._suppliers.listener(Phase(text=f"judging the {book.what} of {cell.task}"))
            await book.judge(evaluator, task, wanted)

    def _fail(self, cell: Cell, status: str, reason: str) -> None:
        failure = Failure.model_validate({"cell": cell, "status": status, "reason": reason})
        self._books.failed[cell.name] = failure
        self._books.failures.append(failure)
        self._known[cell.name] = self._read(cell)

    async def _close(self) -> None:
        if self._evaluator is not None:
            evaluator, self._evaluator = self._evaluator, None
            self._tasks = {name: found for name, found in self._tasks.items() if isinstance(found, TaskError)}
            await evaluator.close()

    def _left_s(self, cells: int) -> float | None:
        return fmean(self._seconds) * cells if self._seconds else None
