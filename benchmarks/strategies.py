"""The strategies side by side, with the mock LLM server as their proposer over real HTTP.

    python benchmarks/strategies.py --target cuda --folder FOLDER --seconds 540 [--tasks fsr/relu ...] [--pack FILE]

A drill, never a model's result: the server writes with the built-in author, hands out faults and handicaps by a seed, and
mends and improves on evidence alone. It shows that the loops feed back what they should, on the same budget. The folder is a
bench like any other (docs/bench.md): a later call goes on where the time ended this one.
"""

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.tasks.table import read_task
from mock_llm import Faults, MockLLMServer

MASTERED = (
    "sigmoid", "relu", "layer_norm", "mean_square_error", "categorical_cross_entropy", "reduction", "dot_product",
    "monte_carlo_integration", "matrix_copy",
)  # fmt: skip
"""The tasks of FSR's list that the built-in author writes (docs/suite.md)."""
STRATEGIES = "direct,fsr,cudaforge,tritongym,frontend_midend"
TASKS = Path("tasks")
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
    with MockLLMServer(admitted, asked.seed, Faults(rate=asked.rate), best, asked.port) as server:
        status = compare(asked, files, server)
        sys.stderr.write(f"served: {dict(server.counts)}\n")
    pack(asked.pack, asked.folder)
    sys.exit(status)


def named(name: str, size: str) -> Path:
    """A task's file at a size: a serial function is one in C++."""
    file = next(f for suffix in (".py", ".cpp") if (f := TASKS / f"{name}{suffix}").exists())
    return Path(f"{file}@{size}" if size else str(file))


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
    parser.add_argument("--tasks", nargs="*", default=[f"fsr/{name}" for name in MASTERED], help=whose)
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
    command = [sys.executable, "-m", "kernelwright", "bench", *map(str, files)]
    command += ["--strategies", asked.strategies, "--proposers", asked.proposers, "--seeds", asked.seeds]
    command += ["--budget", asked.budget, "--target", asked.target, "--run-dir", str(asked.folder), "--no-direct"]
    command += ["--model", f"openai:{server.model}@{server.base_url}"]
    command += ["--naive", str(asked.naive)] if asked.naive else []
    command += ["--config", str(asked.config)] if asked.config else []
    running = subprocess.Popen(command)
    try:
        return running.wait(asked.seconds)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)
    try:
        return running.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        running.kill()  # its workers end with it, and every cell can go on
        return running.wait()


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
