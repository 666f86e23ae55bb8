"""From text to verdict, in seconds: `python benchmarks/verdicts.py --out FILE [--only LABEL …]`.

For each kernel: `cold_s`, the first verdict of a new worker, which starts, admits the task and compiles the baselines;
then five verdicts on five new texts with everything about the task known, as in a search. Audit is apart. Beside them
stands what KernelBench's own evaluator was measured to take for the same problem on an H200; it compares with no baseline's
time.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from campaign import Campaign, Row, command
from figures import figures
from mixture.deal import written
from mixture.tasks import Sized
from mixture.ways import WAYS, Style
from options import moves
from suite import ROOT

from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.tasks.table import read_task

REPEATS = 5
KERNELBENCH = {
    "source": (
        "measured before, on an H200 (torch 2.11, driver 580, 2026-11-20): its eval_kernel_against_ref with 5 "
        "correctness and 100 timing trials, a Triton kernel; wall seconds"
    ),
    "relu": 63.6,
    "layer_norm": 4.35,
    "product": 2.0,
}
"""Published with this project's research, not measured in this run."""


@dataclass(frozen=True)
class Workload:
    """A task, how a new text for it is written, and which of KernelBench's figures is of the same problem."""

    task: TaskSource
    write: Callable[[Task, str], Candidate]
    beside: str = ""


def _mixed(sized: Sized, style: Style, beside: str = "") -> Workload:
    def write(task: Task, name: str) -> Candidate:
        return written(style, WAYS["right"][style][0], sized, f"{sized.family}_{name}", random.Random(1))

    return Workload(sized.source(), write, beside)


def _by_author(operator: str, beside: str, old: str = "", new: str = "") -> Workload:
    """The author's kernel for a task of the field, with something of its text replaced, under a name of its own."""

    def write(task: Task, name: str) -> Candidate:
        candidate = next(next(moves(task))[1].points())
        return candidate.model_copy(update={"source": candidate.source.replace("_kernel", f"_kernel_{name}")})

    source = read_task(ROOT / "field" / "operators" / f"{operator}.py")
    return Workload(source.model_copy(update={"source": source.source.replace(old, new)}), write, beside)


WORKLOADS = {
    "relu, Triton, 4096x393216": _mixed(Sized("relu", 4096, 393216), "triton", "relu"),
    "relu, CUDA C++ with a plan, 64 MB": _mixed(Sized("relu", 4096, 2048), "cuda"),
    "mse, CUDA C++ with a plan, 64 MB": _mixed(Sized("mse", 4096, 2048), "cuda"),
    "layer_norm, Triton, 16x64x256x256": _by_author("layer_norm_slab", "layer_norm", '"batch": 32', '"batch": 16'),
    "product, Triton, 4096^3": _by_author("matmul_square", "product"),
}


async def measure(campaign: Campaign) -> None:
    """Measure each kernel with a worker of its own."""
    async with campaign.referee(kernelbench=KERNELBENCH["source"]) as (_, target):
        for label in campaign.left(campaign.chosen(WORKLOADS)):
            campaign.put(await _row(label, WORKLOADS[label], target))


async def _row(label: str, workload: Workload, target: Target) -> Row:
    referee, seed = Referee(Policy()), random.getrandbits(32)
    try:
        start = time.perf_counter()
        task = await referee.admit(workload.task, target)
        admitted = time.perf_counter()
        first = await referee.evaluate(task, workload.write(task, f"{seed}_first"))
        cold = time.perf_counter()
        verdicts = []
        for number in range(REPEATS):
            candidate, begun = workload.write(task, f"{seed}_{number}"), time.perf_counter()
            found = await referee.evaluate(task, candidate)
            verdicts.append({"wall_s": round(time.perf_counter() - begun, 4), "tier": found.tier, **figures(found)})
    finally:
        await referee.close()
    walls = [verdict["wall_s"] for verdict in verdicts]
    return {
        "kernel": label, "megabytes": round(task.workload.compulsory_bytes / 2**20, 1),
        "median_s": median(walls), "worst_s": max(walls), "cold_s": cold - start, "admission_s": admitted - start,
        "first_verdict_s": cold - admitted, "kernelbench_s": KERNELBENCH.get(workload.beside),
        "outcomes": sorted({first.outcome, *(verdict["outcome"] for verdict in verdicts)}), "verdicts": verdicts,
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """A line for each kernel, for people."""
    lines = [f"{'kernel':36} {'median s':>9} {'worst s':>8} {'cold s':>7} {'KernelBench s':>14}  outcomes"]
    for row in rows:
        beside = f"{row['kernelbench_s']:.2f}" if row["kernelbench_s"] else "-"
        times = f"{row['median_s']:9.2f} {row['worst_s']:8.2f} {row['cold_s']:7.1f} {beside:>14}"
        lines.append(f"{row['kernel']:36} {times}  {', '.join(row['outcomes'])}")
    return "\n".join([*lines, f"KernelBench: {KERNELBENCH['source']}"])


def main() -> None:
    """Measure, and print the table."""
    campaign = Campaign(command(__doc__, "cuda").parse_args(), key=("kernel",), raw=("verdicts",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
