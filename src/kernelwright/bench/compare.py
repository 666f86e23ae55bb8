"""Compare: runs the cells of a plan one after another and makes the comparison of what is there at the end.

Decides what goes on and what is done again: a run that is complete is read, a half-finished one is resumed, and a cell
that fails is a row with its reason. A task is admitted once, by one evaluator for all cells. Cells never share the
search cache: what a strategy would have had to measure, it measures, so that device seconds can be compared.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kernelwright.bench.cells import CELLS, first_environment, read_cell
from kernelwright.bench.naive import NaiveBook
from kernelwright.bench.plan import Cell, Plan
from kernelwright.bench.records import CellResult, Failure, Naive
from kernelwright.bench.request import BenchRequest, BenchResult, CellBegins, CellEnds, News
from kernelwright.bench.suite import Planned, make_plan, settle_plan
from kernelwright.bench.writing import Found, write_bench
from kernelwright.engine.circumstances import changes
from kernelwright.engine.config import RunConfig
from kernelwright.engine.crew import open_crew
from kernelwright.engine.events import Phase
from kernelwright.engine.request import OptimizeResult
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import KernelwrightError, MachineError, ProposeError, RefereeError, StoreError, TaskError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.task import Task
from kernelwright.search.table import spelled
from kernelwright.store.lines import Lines, open_lines

FAILURES = "failures.jsonl"
NAIVE = "naive.jsonl"


class Order(NamedTuple):
    """One cell for the runner: a run of an admitted task, begun or gone on with in that folder."""

    folder: Path
    config: RunConfig
    task: Task
    evaluator: Evaluator


Run = Callable[[Order, Suppliers], Awaitable[OptimizeResult]]
"""Runs a cell, as `optimize` and `resume` run any task."""


@dataclass
class Bench:
    """A bench at work."""

    request: BenchRequest
    planned: Planned
    suppliers: Suppliers
    run: Run
    news: News
    failures: Lines[Failure]
    naive: NaiveBook
    failed: dict[str, Failure]
    evaluator: Evaluator | None = None
    tasks: dict[str, Task | TaskError] = field(default_factory=dict)
    """Admitted, or why not."""
    seconds: list[float] = field(default_factory=list)
    """Of the cells that were run by this command."""

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self.planned.plan

    @property
    def folder(self) -> Path:
        """The bench's own."""
        return self.request.folder


async def compare(request: BenchRequest, suppliers: Suppliers, run: Run, news: News) -> BenchResult:
    """Run what is left of a bench, and write what is there.

    Raises:
        UsageError: the flags cannot work, or the folder holds a bench with another plan.
        MachineError: this machine lacks what every cell needs, or is another one than that of the cells before.
        StoreError: the folder cannot be written, or another process works in it.
    """
    for name in request.proposers:
        suppliers.proposer(name)
        await open_crew(request.config.model_copy(update={"proposer": name}), suppliers.model).close()
    planned = make_plan(request)
    _make(request.folder)
    with ExitStack() as stack:
        failures = stack.enter_context(open_lines(Failure, request.folder / FAILURES))
        naive = NaiveBook(request.naive, stack.enter_context(open_lines(Naive, request.folder / NAIVE)))
        planned = planned._replace(plan=settle_plan(request.folder, planned.plan))
        failed = {line.cell.name: line for line in failures.read()}
        bench = Bench(request, planned, suppliers, run, news, failures, naive, failed)
        interrupted = await _run_all(bench)
        return write_bench(request.folder, bench.plan, Found(failed, naive.found()), interrupted)


async def _run_all(bench: Bench) -> bool:
    """Every cell in order; True when it was interrupted."""
    cells = bench.plan.cells()
    try:
        for number, cell in enumerate(cells, 1):
            known = read_cell(bench.folder, cell, bench.failed)
            if _stands(known, bench.request.retry):
                bench.news(CellEnds(result=known, number=number, of=len(cells), recorded=True))
                await _naive(bench, cell)
            elif await _one(bench, cell, number, len(cells)):
                return True
    except asyncio.CancelledError:
        return True
    finally:
        await _close(bench)
    return False


def _stands(known: CellResult, retry: bool) -> bool:
    return known.status == "done" or (known.status in ("gave_up", "not_admitted") and not retry)


async def _one(bench: Bench, cell: Cell, number: int, of: int) -> bool:
    """Run one cell; True when it was interrupted."""
    start = time.monotonic()
    bench.news(CellBegins(cell=cell, number=number, of=of, left_s=_left(bench.seconds, of - number + 1)))
    interrupted = False
    try:
        result = await _run_cell(bench, cell)
        interrupted = result.interrupted
        bench.seconds.append(time.monotonic() - start)
    except MachineError:
        raise
    except KernelwrightError as error:
        await _fail(bench, cell, error)
    bench.news(CellEnds(result=read_cell(bench.folder, cell, bench.failed), number=number, of=of))
    return interrupted


async def _run_cell(bench: Bench, cell: Cell) -> OptimizeResult:
    """Run one cell.

    Raises:
        KernelwrightError: why it could not be run to its end.
    """
    task, evaluator = await _admitted(bench, cell.task)
    await _naive(bench, cell)
    order = Order(bench.folder / CELLS / cell.name, _config(bench.plan, cell), task, evaluator)
    result = await bench.run(order, bench.suppliers)
    if result.error is not None:
        raise result.error
    bench.failed.pop(cell.name, None)
    return result


async def _admitted(bench: Bench, name: str) -> tuple[Task, Evaluator]:
    """The task, admitted the first time that it is asked for, and who admitted it.

    Raises:
        TaskError: it cannot be judged.
    """
    evaluator = bench.evaluator or await _open(bench)
    if name not in bench.tasks:
        bench.suppliers.listener(Phase(text=f"admitting {name} on {bench.plan.target.name}"))
        try:
            bench.tasks[name] = await evaluator.admit(bench.planned.sources[name], bench.plan.target)
        except TaskError as error:
            bench.tasks[name] = error
    found = bench.tasks[name]
    if isinstance(found, TaskError):
        raise found
    return found, evaluator


async def _open(bench: Bench) -> Evaluator:
    """An evaluator on the machine that the bench was begun on.

    Raises:
        MachineError: device or versions are others.
    """
    config = RunConfig.model_validate(bench.plan.config)
    bench.evaluator = bench.suppliers.open_evaluator(config.policy, config.place)
    then = first_environment(bench.folder, bench.plan.cells())
    changed = changes(then, await bench.evaluator.environment(bench.plan.target)) if then else []
    if changed:
        told = "; ".join(f"{c.name} was {c.then}, is {c.now}" for c in changed)
        raise MachineError(
            f"the bench at {bench.folder} cannot go on under other circumstances ({told}): restore them, or choose "
            "another --run-dir"
        )
    return bench.evaluator


async def _naive(bench: Bench, cell: Cell) -> None:
    """Judge the naive kernel of a cell's task, unless that was done."""
    wanted = bench.naive.wanted(cell.task, bench.plan.target)
    if wanted is None:
        return
    try:
        task, evaluator = await _admitted(bench, cell.task)
    except TaskError:
        return
    bench.suppliers.listener(Phase(text=f"judging the naive kernel of {cell.task}"))
    await bench.naive.judge(evaluator, task, wanted)


async def _fail(bench: Bench, cell: Cell, error: KernelwrightError) -> None:
    status: dict[type[KernelwrightError], str] = {TaskError: "not_admitted", ProposeError: "gave_up"}
    failure = Failure.model_validate({"cell": cell, "status": status.get(type(error), "broken"), "reason": str(error)})
    bench.failed[cell.name] = failure
    bench.failures.append(failure)
    if isinstance(error, RefereeError):
        # What broke it may still be in its workers; the next cell gets new ones.
        await _close(bench)


async def _close(bench: Bench) -> None:
    if bench.evaluator is not None:
        evaluator, bench.evaluator = bench.evaluator, None
        bench.tasks = {name: found for name, found in bench.tasks.items() if isinstance(found, TaskError)}
        await evaluator.close()


def _config(plan: Plan, cell: Cell) -> RunConfig:
    dials, strategy = plan.config["strategy"], spelled(cell.arm.strategy)
    if isinstance(dials, dict) and dials.get("name") == strategy["name"]:
        strategy = {**dials, **strategy}
    own = {"seed": cell.seed, "strategy": strategy}
    return RunConfig.model_validate({**plan.config, **own, "proposer": cell.arm.proposer, "reward": cell.arm.reward})


def _left(seconds: list[float], cells: int) -> float | None:
    return sum(seconds) / len(seconds) * cells if seconds else None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made ({error.strerror}): choose another --run-dir") from None
