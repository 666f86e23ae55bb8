"""The strategies side by side, with the mock LLM server as their proposer over real HTTP.

    python benchmarks/strategies.py --target cuda --folder FOLDER --seconds 540 [--processes 12] [--drop-ins] [--pack FILE]

A drill, never a model's result: the server writes with the built-in author, or in CUDA C++ what a person wrote, hands out
faults and handicaps by a seed, and mends and improves on evidence alone. It shows that the loops feed back what they should,
on the same budget. The folder is a bench like any other (docs/bench.md): a later call goes on where the time ended this one.
With `--processes` each has a bench of its own with some of the tasks in `FOLDER/parts`, they take turns on the device, and
the folder has all of their cells in the end. `--drop-ins` runs every drop-in that was written in an inference script.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.tasks.table import read_task
from mock_llm import Faults, MockLLMServer

MASTERED = (
    "fsr/sigmoid", "fsr/relu", "fsr/layer_norm", "fsr/mean_square_error", "fsr/categorical_cross_entropy", "fsr/reduction",
    "fsr/dot_product", "fsr/monte_carlo_integration", "fsr/matrix_copy", "own/gelu_tanh", "own/huber_loss", "own/log_softmax",
)  # fmt: skip
"""The tasks of FSR's list that the built-in author writes (docs/suite.md), and three more; all have a naive CUDA kernel."""
STRATEGIES = "direct,best_of_n,fsr,cudaforge,tritongym,frontend_midend"
TASKS = Path("tasks")
FAILURES = "failures.jsonl"
OPEN_TASKS = 40
"""Of all benches: their references share one user's limit on threads."""
GRACE_S = 30.0
"""What an interrupted bench has to end by itself."""


def main() -> None:
    """Run what is left of the bench until the time is over."""
    asked = arguments()
    asked.folder.mkdir(parents=True, exist_ok=True)
    unpack(asked.pack, asked.folder)
    files = [named(name, asked.size) for name in asked.tasks or serial(asked.target)]
    admitted = asyncio.run(admit(files, asked.target))
    best = json.loads(asked.best.read_text()) if asked.best else {}
    # The address is part of the bench's plan: another port would be another bench.
    with MockLLMServer(
        admitted, asked.seed, Faults(rate=asked.rate), best, asked.port, naive(admitted, files)
    ) as server:
        status = compare(asked, files, server)
        sys.stderr.write(f"served: {dict(server.counts)}\n")
    pack(asked.pack, asked.folder)
    sys.stdout.write(table(asked.folder))
    if asked.drop_ins:
        command = [
            sys.executable,
            str(Path(__file__).with_name("inference.py")),
            str(asked.folder),
            "--size",
            asked.size,
        ]
        status = subprocess.run(command, check=False).returncode or status
    sys.exit(status)


def named(name: str, size: str) -> Path:
    """A task's file at a size: a serial function is one in C++."""
    file = next(f for suffix in (".py", ".cpp") if (f := TASKS / f"{name}{suffix}").exists())
    return Path(f"{file}@{size}" if size else str(file))


def naive(admitted: list[Task], files: list[Path]) -> dict[str, str]:
    """By task, the kernel in CUDA C++ that a person wrote."""
    kernels = [file.parent / "naive" / f"{file.stem.partition('.')[0]}.cu" for file in files]
    return {task.name: file.read_text() for task, file in zip(admitted, kernels, strict=True) if file.exists()}


def serial(target: str) -> list[str]:
    """The serial tasks that steps are written for, on such a device."""
    suffix = ".cpp" if target == "cpu" else ".cu"
    return [f"serial/{file.stem}" for file in sorted((TASKS / "serial" / "steps").glob(f"*{suffix}"))]


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--folder", type=Path, required=True)
    whose = "none: all serial ones with written steps"
    parser.add_argument("--tasks", nargs="*", default=MASTERED, help=whose)
    parser.add_argument("--size", default="small")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--proposers", default="llm")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--budget", default="10")
    parser.add_argument("--naive", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--best", type=Path, help="The author's best schedules, by task.")
    parser.add_argument("--seed", type=int, default=0, help="Of the server.")
    parser.add_argument("--port", type=int, default=41605)
    parser.add_argument("--rate", type=float, default=0.4, help="Of faults.")
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--processes", type=int, default=1, help="Benches side by side, each with some of the tasks.")
    parser.add_argument("--drop-ins", action="store_true", help="Run every drop-in that was written.")
    parser.add_argument("--pack", type=Path, help="The folder as one file: unpacked first, packed at the end.")
    return parser.parse_args()


async def admit(files: list[Path], target: str) -> list[Task]:
    """The tasks as the server has to know them."""
    evaluator = Suppliers().open_evaluator(Policy())
    try:
        return [await evaluator.admit(read_task(file), resolve_target(target)) for file in files]
    finally:
        await evaluator.close()


def compare(asked: argparse.Namespace, files: list[Path], server: MockLLMServer) -> int:
    """`kernelwright bench` with this server as the model, interrupted when the time is over."""
    until = time.monotonic() + asked.seconds
    if asked.processes == 1:
        return ended([begun(asked, files, asked.folder, server)], until)
    parts = [asked.folder / "parts" / str(number) for number in range(asked.processes)]
    dealt = [(part, files[number :: asked.processes]) for number, part in enumerate(parts)]
    ended([begun(asked, some, part, server) for part, some in dealt if some], until)
    joined(asked.folder, parts)
    return ended([begun(asked, files, asked.folder, server)], time.monotonic() + (until > time.monotonic()) * GRACE_S)


def begun(asked: argparse.Namespace, files: list[Path], folder: Path, server: MockLLMServer) -> subprocess.Popen[bytes]:
    """One bench."""
    command = [sys.executable, "-m", "kernelwright", "bench", *map(str, files)]
    command += ["--strategies", asked.strategies, "--proposers", asked.proposers, "--seeds", asked.seeds]
    command += ["--budget", asked.budget, "--target", asked.target, "--run-dir", str(folder), "--no-direct"]
    command += ["--model", f"openai:{server.model}@{server.base_url}"]
    command += ["--naive", str(asked.naive)] if asked.naive else []
    command += ["--config", str(asked.config)] if asked.config else []
    environment = os.environ | {"KERNELWRIGHT_OPEN_TASKS": str(max(1, OPEN_TASKS // asked.processes))}
    shown = None if folder == asked.folder else subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, stdout=shown)


def ended(running: list[subprocess.Popen[bytes]], until: float) -> int:
    """Wait for them, and interrupt them at the end: their workers end with them, and every cell can go on."""
    for each in running:
        with suppress(subprocess.TimeoutExpired):
            each.wait(max(0.0, until - time.monotonic()))
    for each in running:
        each.send_signal(signal.SIGINT)
    last = time.monotonic() + GRACE_S
    for each in running:
        try:
            each.wait(max(0.1, last - time.monotonic()))
        except subprocess.TimeoutExpired:
            each.kill()
    return max(abs(each.wait()) for each in running)


def joined(folder: Path, parts: list[Path]) -> None:
    """The cells of all parts as one bench's."""
    shutil.rmtree(folder / "cells", ignore_errors=True)
    failures = []
    for part in parts:
        if (part / "cells").exists():
            shutil.copytree(part / "cells", folder / "cells", dirs_exist_ok=True)
        failures += (part / FAILURES).read_text().splitlines() if (part / FAILURES).exists() else []
    (folder / FAILURES).write_text("".join(f"{line}\n" for line in failures))


def table(folder: Path) -> str:
    """A line for each arm: cells that ended, tasks that ended right, and the mean speedup where it is no slower than eager."""
    file = folder / "bench.json"
    if not file.exists():
        return "no cell ended\n"
    told = json.loads(file.read_text())
    ended = Counter(cell["cell"]["arm"]["strategy"] for cell in told["cells"] if cell["status"] == "done")
    right = Counter(cell["cell"]["arm"]["strategy"] for cell in told["cells"] if cell.get("correct"))
    return "".join(f"{name:18} {count:3} cells ended, {right[name]:3} right\n" for name, count in ended.items())


def unpack(file: Path | None, folder: Path) -> None:
    """Bring back what an earlier call packed."""
    if file is not None and file.exists():
        with tarfile.open(file) as packed:
            packed.extractall(folder, filter="data")


def pack(file: Path | None, folder: Path) -> None:
    """The folder as one file."""
    if file is not None:
        with tarfile.open(file, "w:xz") as packed:
            packed.add(folder, arcname=".")


if __name__ == "__main__":
    main()
