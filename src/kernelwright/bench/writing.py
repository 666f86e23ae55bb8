"""Writes what a bench found, from what is on the disk: `bench.json` and `bench.html`, each whole or not at all.

A bench can be summed up at any time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kernelwright.bench import page, terminal
from kernelwright.bench.cells import first_environment, read_cell
from kernelwright.bench.plan import Plan
from kernelwright.bench.records import Failure, Naive
from kernelwright.bench.request import BenchResult
from kernelwright.bench.summary import summarize_bench
from kernelwright.store.whole_file import write_whole

JSON = "bench.json"
PAGE = "bench.html"


class Found(NamedTuple):
    """What is known beside the runs' own journals."""

    failures: Mapping[str, Failure]
    """By the cell's name."""
    naive: tuple[Naive, ...]


def write_bench(folder: Path, plan: Plan, found: Found, interrupted: bool) -> BenchResult:
    """Read every cell and write the comparison.

    Raises:
        StoreError: a file cannot be written.
    """
    cells = [read_cell(folder, cell, found.failures) for cell in plan.cells()]
    environment = first_environment(folder, plan.cells())
    comparison = summarize_bench(folder.resolve().name, plan, cells, found.naive, environment)
    json = write_whole(folder / JSON, comparison.model_dump_json(indent=1))
    html = write_whole(folder / PAGE, page.render(comparison))
    return BenchResult(comparison, terminal.render(comparison), json, html, interrupted)
