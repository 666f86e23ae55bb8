"""Every pointwise operation of the built-in author alone against eager: `python benchmarks/pointwise.py --out FILE`.

For each operation, size and number of threads, blocks of calls of the kernel and of eager PyTorch take turns in one process,
as a drop-in's user would have them, and each allocates its result. A ratio is the median over pairs of blocks, once of
the wall clock and once of the process's CPU time, which other programs on the machine disturb less. What is below `--least`
by both is measured again with more blocks. `--only` names operations, such as `gelu` or `relu_default/64`.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from campaign import Campaign, Row, command
from pointwise_cases import Case, cases
from provenance import provenance

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.referee import QUIET
from kernelwright.evaluate.sandbox.spawn import SAME_ALLOCATOR
from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import cpp_default
from kernelwright.records.task import Target

Call = Callable[[], object]
CPU = Target(kind="cpu", arch="native", present=True)
MEGABYTES = (1, 64)
THREADS = (1, 2)
BASE_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC")
BLOCKS, MORE_BLOCKS = {1: 9, 64: 5}, {1: 41, 64: 15}
BLOCK_NS = 3_000_000
ODD = 1e-6
"""Share of elements that may round otherwise."""
HOW = (
    "paired blocks of kernel and eager in one process, in alternating order, both with the referee's allocator;"
    " ratios are medians over pairs, eager's time by the kernel's; wall: elapsed, cpu: CPU time of the process."
    " The machine had other work at the time."
)


async def measure(campaign: Campaign) -> None:
    """Measure what is not known yet."""
    service = EvaluationService(note=lambda text: None)
    try:
        campaign.begin({**provenance(service.environment(CPU)), "how": HOW})
    finally:
        service.close()
    for megabytes in MEGABYTES:
        named = [case for case in cases((megabytes << 8, 1024)) if campaign.named(f"{case.name}/{megabytes}")]
        found = {(case.name, megabytes, threads): case for case in named for threads in THREADS}
        for key in campaign.left(found):
            campaign.put(_row(found[key], megabytes, key[2], campaign.asked.least))


def _slow(row: Row, least: float) -> bool:
    return max(row["wall"], row["cpu"]) < least


def _row(case: Case, megabytes: int, threads: int, least: float) -> Row:
    torch.set_num_threads(threads)
    inputs = case.inputs()
    kernel, found = _kernel(case, inputs), None
    for blocks in (BLOCKS[megabytes], MORE_BLOCKS[megabytes], MORE_BLOCKS[megabytes]):
        found = {"operation": case.name, "megabytes": megabytes, "threads": threads} | _paired(
            kernel, lambda: case.eager(*inputs), blocks
        )
        if not _slow(found, least):
            break
    return found


def _kernel(case: Case, inputs: list[torch.Tensor]) -> Call:
    plan = lower(case.task)
    candidate = write_cpp(plan, cpp_default(plan))
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        source.write_text(candidate.source)
        subprocess.run(["g++", *BASE_FLAGS, *candidate.flags, str(source), "-o", str(library)], check=True)
        entry = getattr(ctypes.CDLL(str(library)), candidate.entry)
    (spec,) = case.task.workload.outputs

    def call() -> torch.Tensor:
        output = torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))
        entry(*(ctypes.c_void_p(t.data_ptr()) for t in (*inputs, output)))
        return output

    near = torch.isclose(call(), case.eager(*inputs), rtol=1e-2 if spec.dtype != "float32" else 1e-4, atol=1e-5)
    # A quotient that rounds to a whole number may lie on its other side: one element of 16 million did.
    if (off := int((~near).sum())) > ODD * near.numel():
        raise SystemExit(f"{case.name}: {off} of {near.numel()} elements are not eager's")
    return call


def _paired(kernel: Call, eager: Call, blocks: int) -> Row:
    calls = max(1, BLOCK_NS // max(1, min(_block(eager, 1)[0] for _ in range(3))))
    pairs = []
    for number in range(blocks):
        order = (kernel, eager) if number % 2 else (eager, kernel)
        taken = {call: _block(call, calls) for call in order}
        pairs.append((taken[kernel], taken[eager]))
    return {
        "kernel_us": round(median(k[0] for k, _ in pairs) / calls / 1000, 1),
        "eager_us": round(median(e[0] for _, e in pairs) / calls / 1000, 1),
        "wall": round(median(e[0] / k[0] for k, e in pairs), 3),
        "cpu": round(median(e[1] / k[1] for k, e in pairs), 3),
        "blocks": blocks,
    }


def _block(call: Call, calls: int) -> tuple[int, int]:
    """Nanoseconds of so many calls: elapsed, and of the process's CPU time."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(calls):
        call()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu


def main() -> None:
    """Measure, and print what is slow."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--least", type=float, default=0.9)
    asked = parser.parse_args()
    if not SAME_ALLOCATOR.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | SAME_ALLOCATOR | QUIET)
    campaign = Campaign(asked, key=("operation", "megabytes", "threads"))
    campaign.run(lambda: measure(campaign))
    slow = [row for row in campaign.rows if _slow(row, asked.least)]
    campaign.show(lambda rows: "\n".join([*map(str, slow), f"{len(slow)} of {len(rows)} below {asked.least}"]))


if __name__ == "__main__":
    main()
