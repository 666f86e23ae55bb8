"""Compare: takes a comparison from the request to its page: the parts, the plan, the cells, the report.

Before the first cell runs, it finds a missing key and a plan that differs, and says what is left to do and what that is
expected to cost. `bench.runner` runs the cells; what they found is read from the disk, so that a bench can be summed up at
any time.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kernelwright.bench import page, words
from kernelwright.bench.cells import first_environment, read_cell
from kernelwright.bench.records import BenchPlan, Failure, Naive
from kernelwright.bench.request import BenchRequest, BenchResult, News
from kernelwright.bench.runner import Books, KernelBook, RunCell, Runner, naive_file, oracle_of
from kernelwright.bench.suite import load_or_write_plan, make_plan
from kernelwright.bench.summary import summarize_bench
from kernelwright.engine.gateway.models import open_router
from kernelwright.engine.suppliers import Suppliers
from kernelwright.store.files import make_folder, open_lines, write_whole

JSON = "bench.json"
PAGE = "bench.html"
CSV, PERF, FIGURES = "bench.csv", "perf.csv", "figures"
"""A row a cell, for a spreadsheet; an arm's figures against the oracles; the page's charts as SVG files."""


class Found(NamedTuple):
    """What is known beside the runs' own journals."""

    failures: Mapping[str, Failure]
    """By the cell's name."""
    naive: tuple[Naive, ...]
    oracles: tuple[Naive, ...] = ()


def write_bench(folder: Path, plan: BenchPlan, found: Found, interrupted: bool) -> BenchResult:
    """Read every cell and write the comparison.

    Raises:
        StoreError: a file cannot be written.
    """
    cells = [read_cell(folder, cell, found.failures) for cell in plan.cells()]
    environment = first_environment(folder, plan.cells())
    comparison = summarize_bench(folder.resolve().name, plan, cells, (found.naive, found.oracles), environment)
    json = write_whole(folder / JSON, comparison.model_dump_json(indent=1))
    html = write_whole(folder / PAGE, page.render(comparison))
    write_whole(folder / CSV, words.csv_table(comparison))
    if comparison.oracles:
        write_whole(folder / PERF, words.perf_csv(comparison))
    for name, text in page.figures(comparison).items():
        write_whole(make_folder(folder / FIGURES, "choose another --run-dir") / name, text)
    return BenchResult(comparison, words.terminal_table(comparison), json, html, interrupted)


FAILURES = "failures.jsonl"
NAIVE, ORACLES = "naive.jsonl", "oracles.jsonl"


async def compare(request: BenchRequest, suppliers: Suppliers, run: RunCell, news: News) -> BenchResult:
    """Run what is left of a bench, and write what is there.

    Raises:
        UsageError: the flags cannot work, or the folder holds a bench with another plan.
        MachineError: this machine lacks what every cell needs, or is another one than that of the cells before.
        StoreError: the folder cannot be written, or another process works in it.
    """
    planned = make_plan(request)
    await _try_parts(planned.plan, suppliers)
    make_folder(request.folder, "choose another --run-dir")
    with ExitStack() as stack:
        failures = stack.enter_context(open_lines(Failure, request.folder / FAILURES))
        naive, oracles = _beside(request, planned.plan, stack)
        planned = planned._replace(plan=load_or_write_plan(request.folder, planned.plan))
        failed = {line.cell.name: line for line in failures.read()}
        runner = Runner(request, planned, suppliers, run, Books(failures, (naive, oracles), failed, news))
        interrupted = await runner.run_all()
        return write_bench(request.folder, planned.plan, Found(failed, naive.found(), oracles.found()), interrupted)


def _beside(request: BenchRequest, plan: BenchPlan, stack: ExitStack) -> tuple[KernelBook, KernelBook]:
    """The naive kernels, out of the folder that was named, and the oracles beside the tasks where they can be timed."""
    paths = {task.name: Path(task.file) for task in plan.tasks if plan.target.present}
    found = {
        NAIVE: (
            "naive kernel",
            lambda name, target: naive_file(request.naive, name, target) if request.naive else None,
        ),
        ORACLES: ("oracle", lambda name, target: oracle_of(paths[name], target) if name in paths else None),
    }
    naive, oracles = (
        KernelBook(what, find, stack.enter_context(open_lines(Naive, request.folder / file)))
        for file, (what, find) in found.items()
    )
    return naive, oracles


async def _try_parts(plan: BenchPlan, suppliers: Suppliers) -> None:
    """Open what each arm talks to, so that a missing key is said before anything is spent.

    Raises:
        UsageError: a proposer is unknown, or a model cannot be had.
    """
    for arm in {(arm.proposer, arm.model): arm for arm in reversed(plan.arms)}.values():
        suppliers.proposer(arm.proposer)
        await open_router(plan.config_of(arm, plan.seeds[0]), suppliers.model).close()
