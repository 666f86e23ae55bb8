"""Whether anything stays behind or grows: `python benchmarks/soak.py --out FILE [--minutes 60]`.

A search is begun again and again as a command; in turn it is left alone, or killed at a moment drawn by lot: the command
(SIGKILL, SIGTERM), its worker, a parent or a child of the sandbox. What was killed is resumed. Beside it one `Referee` judges
right, wrong, crashing and hanging kernels all the time. After each round is counted what is there: folders, processes and
zombies that nobody waits for (this program takes them in and reaps them, as process 1 of a container does), shared memory, and
of the long-lived processes descriptors and memory. Shared memory is the whole machine's: beside others, give this program a
/dev/shm of its own (`unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm; exec python benchmarks/soak.py …'`). FILE has
every round, and the verdict: a figure is flat if the least of the last third of the rounds does not exceed the first third's
largest by more than its slack.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from provenance import provenance_of

import kernelwright as kw
from kernelwright.evaluate.sandbox import kernel
from kernelwright.records.policy import Policy
from kernelwright.store.files import write_whole
from kernelwright.store.run import RunStore

TASK = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2 + 1


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(256, 64)]


def get_init_inputs() -> list[object]:
    return []
"""
KERNEL = """#include <cstdint>
extern "C" void kernel(const float* x, float* y) {{
    {first}
    for (int64_t i = 0; i < 256 * 64; ++i) y[i] = (x[i] > 0 ? x[i] : 0) * 2 + {one};
}}
"""
KERNELS = {
    "right": KERNEL.format(first="", one="1"),
    "wrong": KERNEL.format(first="", one="2"),
    "crash": KERNEL.format(first="*(volatile int*)nullptr = 1;", one="1"),
    "hang": KERNEL.format(first="for (volatile int i = 0;;) i = i;", one="1"),
}
KILLS = ("none", "command", "SIGTERM", "worker", "parent", "child")
SLACK = {
    "folders": 0,
    "zombies": 0,
    "strays": 0,
    "shared_memory": 0,
    "descriptors": 2,
    "rss_mb": 40,
    "worker_rss_mb": 80,
}
"""By how much the end may exceed the beginning: a folder or a process by none."""
ROUNDS = 6
"""Fewer rounds have no thirds to compare."""


def main() -> None:
    """Soak, and say what grew."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--minutes", type=float, default=60.0)
    asked.add_argument(
        "--target", default="cpu", help="of the searches; one that is not here takes no time of a busy machine"
    )
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory() as place:
        head = provenance_of("cpu")
        os.environ["TMPDIR"] = tempfile.tempdir = place
        rounds = asyncio.run(soak(Path(place), given.minutes * 60, given.target, random.Random(given.seed)))
    grown = {name: found for name in SLACK if (found := growth(rounds, name)) > SLACK[name]}
    lost = sum(one["lost"] for one in rounds)
    told = {
        "minutes": given.minutes,
        "target": given.target,
        "rounds": len(rounds),
        "grown": grown,
        "attempts_lost": lost,
        "slack": SLACK,
    }
    write_whole(given.out, json.dumps({**head, **told, "by_round": rounds}, indent=1) + "\n")
    sys.stdout.write(f"{json.dumps(told, indent=1)}\n")
    sys.exit(bool(grown or lost or len(rounds) < ROUNDS))


async def soak(place: Path, seconds: float, target: str, lot: random.Random) -> list[dict[str, Any]]:
    """Rounds until the time is over; each has its kill, what was lost, and what is there after it."""
    (place / "task.py").write_text(TASK)
    until, rounds = time.monotonic() + seconds, []
    async with kw.Referee(target="cpu", policy=Policy(run_limit_s=5.0, baselines=("eager",))) as referee:
        await judge_all(referee, place)
        while time.monotonic() < until:
            kill = KILLS[len(rounds) % len(KILLS)]
            lost, _ = await asyncio.gather(
                asyncio.to_thread(search, place, kill, target, lot), judge_all(referee, place)
            )
            rounds.append({"kill": kill, "lost": lost, **there(place)})
            sys.stderr.write(f"{json.dumps(rounds[-1])}\n")
    return rounds


async def judge_all(referee: kw.Referee, place: Path) -> None:
    """Every kind of kernel once, each of them fresh to every cache."""
    texts = (f"// {time.monotonic_ns()}\n{text}" for text in KERNELS.values())
    await asyncio.gather(*(referee.score(place / "task.py", text) for text in texts))


def search(place: Path, kill: str, target: str, lot: random.Random) -> int:
    """One search with its kill and what was resumed; returns how many attempts that were recorded are gone."""
    command = [
        sys.executable,
        "-m",
        "kernelwright",
        "optimize",
        "task.py",
        "--target",
        target,
        "--budget",
        "2",
        "--no-cache",
    ]
    before = {run.name for run in (place / "runs").glob("*")}
    process = begin(command, place)
    if kill != "none":
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=lot.uniform(3, 12))
        end(process, kill, lot)
    process.wait()
    lost = 0
    for folder in {run.name for run in (place / "runs").glob("*")} - before:
        recorded = attempts(place / "runs" / folder)
        begin([sys.executable, "-m", "kernelwright", "resume", f"runs/{folder}"], place).wait()
        lost += len(recorded - attempts(place / "runs" / folder))
    return lost


def begin(command: list[str], place: Path) -> subprocess.Popen[bytes]:
    """The command, silent."""
    return subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process: subprocess.Popen[bytes], kill: str, lot: random.Random) -> None:
    """Kill what the name says, if it is there."""
    if kill in ("command", "SIGTERM"):
        process.send_signal(signal.SIGTERM if kill == "SIGTERM" else signal.SIGKILL)
        return
    below = kernel.descendants(process.pid)
    modules = {pid: b"evaluate.worker" in command_of(pid) for pid in below}
    workers = [pid for pid in below if modules[pid]]
    parents = [pid for worker in workers for pid in kernel.descendants(worker) if parent_of(pid) == worker]
    chosen = {"worker": workers, "parent": parents, "child": [p for p in below if p not in (*workers, *parents)]}[kill]
    if chosen:
        with suppress(ProcessLookupError):
            os.kill(lot.choice(chosen), signal.SIGKILL)


def command_of(pid: int) -> bytes:
    """Its command line; empty where it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def parent_of(pid: int) -> int:
    """Who began it; 0 where it is gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def attempts(folder: Path) -> set[str]:
    """What a run has recorded; every row is proved as it is read."""
    with closing(RunStore.open(folder)) as store:
        return {attempt.model_dump_json() for attempt in store.attempts()}


def there(place: Path) -> dict[str, int]:
    """What is there now, a moment after the round."""
    time.sleep(1)
    mine = {pid: state_of(pid) for pid in kernel._children(os.getpid())}
    for pid in (pid for pid, state in mine.items() if state == "Z"):
        os.waitpid(pid, os.WNOHANG)
    workers = [pid for pid in mine if b"evaluate.worker" in command_of(pid)]
    return {
        "folders": sum(folder.name.startswith("kernelwright-") for folder in place.iterdir()),
        "zombies": sum(state == "Z" for state in mine.values()),
        "strays": sum(pid not in workers and state != "Z" for pid, state in mine.items()),
        "shared_memory": len(list(Path("/dev/shm").iterdir())),
        "descriptors": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), *workers)),
        "rss_mb": rss_mb(os.getpid()),
        "worker_rss_mb": sum(map(rss_mb, workers)),
    }


def state_of(pid: int) -> str:
    """The kernel's letter for what it does; empty where it is gone."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def rss_mb(pid: int) -> int:
    """Resident memory in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def growth(rounds: list[dict[str, Any]], name: str) -> int:
    """By how much the least of the last third exceeds the largest of the first."""
    third = max(1, len(rounds) // 3)
    figures = [one[name] for one in rounds]
    return max(0, min(figures[-third:]) - max(figures[:third])) if figures else 0


if __name__ == "__main__":
    main()
