"""Where a measurement comes from: device, versions, commit, date. Every file under benchmarks/results carries it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.run import Environment


def provenance(environment: Environment) -> dict[str, JsonValue]:
    """The fields that say what was measured, when and on what."""
    device = environment.device
    return {
        "device": device.name if device.kind == "cuda" else f"{device.name}, {device.cores} cores",
        "versions": dict(environment.versions),
        **commit_and_date(),
    }


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether figures of both may stand side by side: the device, and what builds kernels; drivers change between leases."""
    mine, theirs = one["versions"], other["versions"]
    return one["device"] == other["device"] and all(mine[name] == theirs[name] for name in ("torch", "triton"))


def commit_and_date() -> dict[str, JsonValue]:
    """Of what was run, where no device matters.

    The commit comes from KERNELWRIGHT_COMMIT where the tree was copied without its history.
    """
    described = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    commit = os.environ.get("KERNELWRIGHT_COMMIT") or described.stdout.strip() or "unknown"
    return {"commit": commit, "date": datetime.now(UTC).isoformat(timespec="seconds")}


def provenance_of(target: str | None) -> dict[str, JsonValue]:
    """The same for a target by its name, asked of a referee of its own."""
    return provenance(asyncio.run(_environment(target)))


async def _environment(target: str | None) -> Environment:
    referee = Referee()
    try:
        return await referee.environment(resolve_target(target))
    finally:
        await referee.close()


def copy_gbps(kind: str) -> float:
    """What copying within the device's memory reaches, read and written bytes in 10^9 a second; 0 where nobody asks.

    In a process of its own, so that no memory is held beside what is measured.
    """
    if kind != "cuda":
        return 0.0
    return float(subprocess.run([sys.executable, "-c", COPY], capture_output=True, text=True, check=True).stdout)


COPY = """
import torch
source = torch.ones(1 << 30, dtype=torch.float32, device="cuda")
target, times = torch.empty_like(source), []
for _ in range(12):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    target.copy_(source)
    end.record()
    end.synchronize()
    times.append(start.elapsed_time(end))
print(2 * source.nbytes / sorted(times)[len(times) // 2] / 1e6)
"""
