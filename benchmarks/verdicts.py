"""From text to verdict, in seconds: `python benchmarks/verdicts.py OUT.json [LABEL …]`.

For each kernel: `cold_s`, the first verdict of a new worker, which starts, admits the task and compiles the baselines;
then five verdicts on five new texts with everything about the task known, as in a search. Audit is apart. Beside them
stands what KernelBench's own evaluator was measured to take for the same problem on an H200; it compares with no baseline's
time. A row is written after each kernel, and a row that OUT.json has is not measured again.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import verdict_kernels
from mixture.deal import written
from mixture.tasks import Sized
from mixture.text import filled
from mixture.ways import WAYS, Style
from provenance import provenance

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

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

    label: str
    task: TaskSource
    write: Callable[[str], Candidate]
    beside: str = ""


def _mixed(label: str, sized: Sized, style: Style, beside: str = "") -> Workload:
    def write(name: str) -> Candidate:
        return written(style, WAYS["right"][style][0], sized, f"{sized.family}_{name}", random.Random(1))

    return Workload(label, sized.source(), write, beside)


def _triton(label: str, name: str, task: str, kernel: str) -> Workload:
    def write(unique: str) -> Candidate:
        return Candidate(language="triton", source=filled(kernel, {"name": unique}))

    return Workload(label, TaskSource(name=name, format="kernelbench", source=task), write, name)


WORKLOADS = (
    _mixed("relu, Triton, 4096x393216", Sized("relu", 4096, 393216), "triton", "relu"),
    _mixed("relu, CUDA C++ with a plan, 64 MB", Sized("relu", 4096, 2048), "cuda"),
    _mixed("mse, CUDA C++ with a plan, 64 MB", Sized("mse", 4096, 2048), "cuda"),
    _triton(
        "layer_norm, Triton, 16x64x256x256", "layer_norm", verdict_kernels.LAYER_NORM_TASK, verdict_kernels.LAYER_NORM
    ),
    _triton("product, Triton ieee, 4096^3", "product", verdict_kernels.PRODUCT_TASK, verdict_kernels.PRODUCT),
)


async def main(out: Path, labels: list[str]) -> None:
    """Measure what OUT.json does not have yet, and print the table."""
    document: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"rows": []}
    known, target = {row["kernel"] for row in document["rows"]}, resolve_target("cuda")
    for workload in WORKLOADS:
        if workload.label in known or (labels and not any(workload.label.startswith(label) for label in labels)):
            continue
        origin, row = await _row(workload, target)
        document = {**origin, "kernelbench": KERNELBENCH["source"], "rows": [*document["rows"], row]}
        out.write_text(json.dumps(document, indent=1) + "\n")
        sys.stderr.write(json.dumps({k: v for k, v in row.items() if k != "verdicts"}) + "\n")
    sys.stdout.write(table(document["rows"]))


async def _row(workload: Workload, target: Target) -> tuple[dict[str, Any], dict[str, Any]]:
    referee, seed = Referee(Policy()), random.getrandbits(32)
    try:
        start = time.perf_counter()
        task = await referee.admit(workload.task, target)
        admitted = time.perf_counter()
        first = await referee.evaluate(task, workload.write(f"{seed}_first"))
        cold = time.perf_counter()
        origin = provenance(await referee.environment())
        verdicts = []
        for number in range(REPEATS):
            candidate, begun = workload.write(f"{seed}_{number}"), time.perf_counter()
            found = await referee.evaluate(task, candidate)
            verdicts.append(_verdict(time.perf_counter() - begun, found))
    finally:
        await referee.close()
    walls = [verdict["wall_s"] for verdict in verdicts]
    return origin, {
        "kernel": workload.label, "megabytes": round(task.workload.compulsory_bytes / 2**20, 1),
        "median_s": median(walls), "worst_s": max(walls), "cold_s": cold - start, "admission_s": admitted - start,
        "first_verdict_s": cold - admitted, "kernelbench_s": KERNELBENCH.get(workload.beside),
        "outcomes": sorted({first.outcome, *(verdict["outcome"] for verdict in verdicts)}), "verdicts": verdicts,
    }  # fmt: skip


def _verdict(wall_s: float, found: Evaluation) -> dict[str, Any]:
    stages = [{"stage": s.stage, "seconds": round(s.seconds, 4)} for s in found.seconds]
    row = {"wall_s": wall_s, "outcome": found.outcome, "tier": found.tier, "stages": stages}
    if not isinstance(found, Measured):
        return {**row, "found": found.model_dump(mode="json")}
    timing = found.timing
    speedup = {v.baseline: {**v.speedup.model_dump(), "verdict": v.verdict} for v in timing.versus}
    return {**row, "latency_us": timing.latency_us, "blocks": len(timing.arms[0].samples_us), "speedup": speedup}


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each kernel, for people."""
    lines = [f"{'kernel':36} {'median s':>9} {'worst s':>8} {'cold s':>7} {'KernelBench s':>14}  outcomes"]
    for row in rows:
        beside = f"{row['kernelbench_s']:.2f}" if row["kernelbench_s"] else "-"
        times = f"{row['median_s']:9.2f} {row['worst_s']:8.2f} {row['cold_s']:7.1f} {beside:>14}"
        lines.append(f"{row['kernel']:36} {times}  {', '.join(row['outcomes'])}")
    return "\n".join([*lines, f"KernelBench: {KERNELBENCH['source']}", ""])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
