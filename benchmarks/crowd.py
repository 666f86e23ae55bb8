"""Right answers in a crowd: `python benchmarks/crowd.py --out FILE [--searches 10 --finals 5 --starts 10]`.

Kernels of known speed, between half and three times eager's, are made by repeating the same work. First each is judged alone,
by a new worker: its quickest block over eager's quickest, which other work disturbs least, is its speed. Then so many searches
run at once on this machine, each a process with a worker of its own, which thinks (keeps a core busy), builds, judges as a
search does, and takes finals. Written down: finals whose verdict contradicts the speed alone, those that are decided, and
seconds. At last one kernel is judged by one new worker after another: the share of pairs of intervals that meet.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from statistics import median

from campaign import Campaign, Row, command

from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

TASK = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = x * 0.5 + 0.25
        return x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIDE, SIDE)]


def get_init_inputs() -> list[object]:
    return []
"""
KERNEL = """#include <cstddef>
extern "C" void work(const float* x, float* y) {
    for (int time = 0; time < TIMES; ++time) {
#pragma omp parallel for schedule(static) if (SIDE > 180)
        for (std::ptrdiff_t row = 0; row < SIDE; ++row) {
#pragma omp simd
            for (int i = 0; i < SIDE; ++i) {
                float v = x[row * SIDE + i];
                for (int step = 0; step < 20; ++step) v = v * 0.5f + 0.25f;
                y[row * SIDE + i] = v;
            }
        }
        asm volatile("" ::: "memory");
    }
}
"""
SPEEDS = (0.5, 0.7, 1.4, 2.0, 3.0)
"""Of eager's, about: how often the work must be repeated for it is found first."""
ALONE, CLEAR = 1, 1.1
"""Judgements of a kernel alone, and how far from one its speed is where `faster` or `slower` is the right verdict."""
MORE = 9
"""Repetitions by which a kernel's time is found to grow."""
THINKING_S = 1.0
"""How long a proposer keeps a core busy before each kernel."""
POLICY = Policy(baselines=("eager",), final_baselines=("eager",), search_seconds=2.0, final_seconds=8.0)
TARGET = Target(kind="cpu", arch="native", present=True)


def kernel(times: int, mark: int, side: int) -> Candidate:
    """The kernel that does its work so many times; texts of different marks share no cache."""
    return Candidate(
        language="cpp",
        source=f"// {mark}\n{KERNEL}",
        entry="work",
        defines=(Define(name="TIMES", value=times), Define(name="SIDE", value=side)),
    )


async def judged(times: list[int], mark: int, side: int, thinking_s: float = 0.0, search: bool = False) -> list[Row]:
    """Finals of these kernels by one new worker; each with how long it took."""
    source, found = (
        TaskSource(name=f"repeated {mark}", format="kernelbench", source=TASK.replace("SIDE", str(side))),
        [],
    )
    referee = Referee(POLICY)
    try:
        task = await referee.admit(source, TARGET)
        for one in times:
            until = time.process_time() + thinking_s
            while time.process_time() < until:
                pass
            begun, candidate = time.perf_counter(), kernel(one, mark, side)
            if search:
                await referee.evaluate(task, candidate)
            final = await referee.evaluate(task, candidate, "final")
            found.append({"times": one, "seconds": round(time.perf_counter() - begun, 2), **_figures(final)})
    finally:
        await referee.close()
    return found


def _figures(found: Evaluation) -> Row:
    versus = found.timing.against("eager") if isinstance(found, Measured) else None
    if versus is None:
        return {"verdict": found.outcome, "why": getattr(found, "evidence", "")[:200]}
    ratio = versus.speedup
    figures: Row = {"verdict": versus.verdict, "median": ratio.median, "low": ratio.low, "high": ratio.high}
    least, load = {arm.name: min(arm.samples_us) for arm in found.timing.arms}, found.timing.load
    figures["speed"] = round(least["eager"] / least["candidate"], 3)
    return {**figures, "set_aside": getattr(load, "set_aside", None), "others": load and load.during}


async def measure(campaign: Campaign, searches: int, finals: int, starts: int, side: int) -> None:
    """The three parts."""
    await campaign.begin_on_device()
    once, more = await judged([1, MORE], 0, side)
    each = (1 / more["speed"] - 1 / once["speed"]) / (MORE - 1)
    times = sorted({max(1, round(1 + (1 / speed - 1 / once["speed"]) / each)) for speed in SPEEDS}, reverse=True)
    alone: dict[int, float] = {}
    for one in times:
        rows = [row for n in range(ALONE) for row in await judged([one], n, side)]
        alone[one] = median(row["speed"] for row in rows)
        campaign.put({"part": "alone", "number": one, "speed": alone[one], "rows": rows})
    begun, itself = time.perf_counter(), [sys.executable, __file__, "--out", "-", "--side", str(side)]
    running = [
        subprocess.Popen(
            [*itself, "--one", str(100 + n), *map(str, [times[(n + k) % len(times)] for k in range(finals)])],
            stdout=subprocess.PIPE,
        )
        for n in range(searches)
    ]
    found = [row for process in running for row in json.loads(process.communicate()[0])]
    wrong = [row for row in found if _is_wrong(row, alone[row["times"]])]
    decided = sum(row["verdict"] in ("faster", "slower") for row in found)
    campaign.put(
        {
            "part": "at once",
            "number": searches,
            "finals": len(found),
            "wrong": len(wrong),
            "decided": decided,
            "seconds": round(time.perf_counter() - begun, 1),
            "verdicts": {name: sum(r["verdict"] == name for r in found) for name in {r["verdict"] for r in found}},
            "rows": found,
        }
    )
    rows = [row for n in range(starts) for row in await judged([times[-2]], n, side)]
    pairs = [one["low"] <= two["high"] and two["low"] <= one["high"] for one, two in itertools.combinations(rows, 2)]
    took = median(row["seconds"] for row in rows)
    campaign.put(
        {"part": "repeated", "number": starts, "pairs": len(pairs), "meet": sum(pairs), "seconds": took, "rows": rows}
    )


def _is_wrong(row: Row, alone: float) -> bool:
    """Whether a verdict contradicts what the kernel is alone, or a right kernel is called something else."""
    right = {"inconclusive", "disturbed"} | (
        {"faster"} if alone > CLEAR else {"slower"} if alone < 1 / CLEAR else set()
    )
    return row["verdict"] not in right


def table(rows: list[Row]) -> str:
    """A line for each part."""
    return "\n".join(str({name: value for name, value in row.items() if name != "rows"}) for row in rows)


if __name__ == "__main__":
    options = command(__doc__)
    options.add_argument("--searches", type=int, default=10)
    options.add_argument("--finals", type=int, default=5, help="of each search")
    options.add_argument("--starts", type=int, default=10)
    options.add_argument("--side", type=int, default=128, help="of the inputs; beyond 180 all cores share the work")
    options.add_argument("--one", type=int, nargs="+", help="be one of the searches: its mark and its kernels")
    asked = options.parse_args()
    if asked.one:
        sys.stdout.write(
            json.dumps(asyncio.run(judged(asked.one[1:], asked.one[0], asked.side, THINKING_S, search=True)))
        )
        sys.exit()
    campaign = Campaign(asked, key=("part", "number"), raw=("rows",))
    campaign.run(lambda: measure(campaign, asked.searches, asked.finals, asked.starts, asked.side))
    campaign.show(table)
