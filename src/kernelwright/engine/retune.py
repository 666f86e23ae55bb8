"""Measures a drop-in's choice again on this machine: which of its kernels, or `Model`, is the fastest at which sizes.

The drop-in is the user's own file, and runs as it would for them: in a plain process, whose program is
`export/parts/retune.py.txt`. What it finds is kept beside the compiled kernels, by device, driver and the versions of torch
and Triton, and every later process that loads this drop-in here reads it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from kernelwright.errors import MachineError, TaskError, UsageError
from kernelwright.export.reference import part
from kernelwright.records.base import Record
from kernelwright.tasks.files import read_text

GRACE_S = 120.0
"""Beyond the seconds that were asked for: kernels are compiled, and the last size is finished."""
ENDED = 20
"""Lines of what a program said that ended badly."""


class Retuned(Record):
    """What was found at one size of the axes."""

    axes: dict[str, int]
    sizes: tuple[int, ...] = ()
    us: dict[str, float] = Field(default_factory=dict)
    """Microseconds of a call by the way that serves it: `original`, `table`, `rule`, or one of several kernels."""
    wrong: tuple[str, ...] = ()
    """Ways that gave something else than `Model`, or nothing."""
    chosen: str = ""
    why: str = ""
    """Why nothing was measured there."""


class Retuning(Record):
    """All that was found for one drop-in."""

    file: str = ""
    machine: dict[str, str]
    rows: tuple[Retuned, ...]
    left: tuple[dict[str, int], ...] = ()
    """Sizes for which no time was left, or that are very large."""
    seconds: float
    kept: str
    """The file that has it; empty where nothing could be measured."""


def retune(file: Path, seconds: float, axes: Mapping[str, Sequence[int]]) -> Retuning:
    """Measure for about so many seconds, at the sizes of the judgement and around them, or at those of `axes`.

    Raises:
        TaskError: the file is no drop-in that this version wrote.
        UsageError: an axis is none of its.
        MachineError: it cannot run here, or nothing could be measured.
    """
    text = read_text(file, "drop-in")
    if "class ModelNew(_Guarded, Model)" not in text or "\nTABLE = {" not in text:
        raise TaskError(f"{str(file)!r} is no drop-in of `optimize -o FILE` by this version: write it again", "no_task")
    found = _found(file, _told(file, seconds, axes))
    if not found.kept:
        why = next((row.why or f"wrong: {', '.join(row.wrong)}" for row in found.rows), "every size is too large")
        raise MachineError(f"{str(file)!r}: nothing could be measured here, and nothing is kept: {why}")
    return found


def _told(file: Path, seconds: float, axes: Mapping[str, Sequence[int]]) -> str:
    asked = [str(file), str(seconds), json.dumps({name: [*sizes] for name, sizes in axes.items()})]
    command = [sys.executable, "-c", part("retune"), *asked]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        raise MachineError(f"{str(file)!r} took longer than {seconds + GRACE_S:g} s; nothing is kept") from None
    said = done.stderr.strip().splitlines()[-ENDED:]
    if done.returncode == 1 and said and said[-1].startswith("no axis "):
        raise UsageError(f"{str(file)!r} has {said[-1]}")
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise MachineError("\n".join([f"{str(file)!r} ended with {how}; nothing is kept", *said]))
    return done.stdout


def _found(file: Path, told: str) -> Retuning:
    """What the program printed; whatever the drop-in itself printed stands before it."""
    try:
        read: JsonValue = json.loads(told.strip().splitlines()[-1])
        return Retuning.model_validate({**(read if isinstance(read, dict) else {}), "file": str(file)})
    except (ValueError, IndexError, ValidationError) as error:
        raise MachineError(f"{str(file)!r} told nothing that can be read ({error}); nothing is kept") from None
