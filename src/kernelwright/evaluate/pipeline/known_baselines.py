"""What is known of a task's baselines from earlier runs: on disk, for one task, device and set of versions.

Decides where it lies and what makes two of them the same. A search that finds its baselines here neither compiles nor
times them; a final measures everybody anew. What cannot be read is measured again; what cannot be written is done
without.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from kernelwright.records.base import identity
from kernelwright.records.measure import BaselineName, Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.run import Device
from kernelwright.records.task import Task

FORM = 1
"""Raised whenever baselines are timed in another way."""
Ratios = dict[BaselineName, Ratio]
_KNOWN: TypeAdapter[Ratios] = TypeAdapter(Ratios)


def place(task: Task, device: Device, versions: Mapping[str, str], policy: Policy) -> Path:
    """The file for a task on a device, with everything that can change how its baselines compare."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    same = device.model_dump(mode="json", exclude={"memory_gbps"})
    rule: JsonValue = {"confidence": policy.confidence, "blocks": policy.search_blocks}
    known: dict[str, JsonValue] = {
        "form": FORM, "task": task.id, "device": same, "versions": dict(versions), "rule": rule
    }  # fmt: skip
    return Path(base, "kernelwright", "baselines", f"{identity('baselines', known)}.json")


def load(file: Path) -> Ratios:
    """How many times eager's time each baseline took; empty when there is nothing legible."""
    try:
        return _KNOWN.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return {}


def store(file: Path, known: Ratios) -> None:
    """Keep it; whole or not at all."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        made.write_bytes(_KNOWN.dump_json(known, indent=1))
        made.replace(file)
