"""How the doctor's checks look at this machine: commands in processes of their own, packages imported there."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Literal

from kernelwright.records.run import Check

LIMIT_S = 60.0
"""Longest that one look may take; a cold disk needs most of it to import torch."""


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """A finished command; None if it cannot be started or does not end."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None


def package(name: str, lack: Literal["lost", "missing"] = "missing") -> Check:
    """Whether a package can be imported, in an interpreter of its own; `lack` is what it means if not."""
    done = run([sys.executable, "-c", f"import {name}; print(getattr({name}, '__version__', 'installed'))"])
    if done is not None and not done.returncode:
        return Check(name=name, status="ok", detail=done.stdout.strip())
    lines = done.stderr.strip().splitlines() if done else []
    told = f"cannot be imported: {lines[-1] if lines else 'the interpreter did not answer'}"
    fix = f"Install it for {sys.executable}: pip install {name.replace('.', '-')}"
    return Check(name=name, status=lack, detail=told, fix=fix)
