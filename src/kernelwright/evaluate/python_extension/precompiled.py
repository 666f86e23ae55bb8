"""Torch's headers, precompiled once for a machine: a step of the referee's own, in a folder that candidates only read.

A header's name is the hash of compiler, torch, Python, flags and text, so an outdated one is never used. No lock is
needed: a header is made under a name of its own and moved into place.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from kernelwright.errors import MachineError
from kernelwright.evaluate.python_extension import tools

LIMIT_S = 600.0


def place(root: Path) -> Path:
    """Where the headers for this machine's compiler and torch are, or would be, below `root`.

    Raises:
        MachineError: there is no g++.
    """
    try:
        said = subprocess.run(["g++", "-v"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineError(f"g++ does not work ({error}): install it, for example with `apt-get install g++`") from None
    parts = [said, torch.__version__, sys.version, *tools.host_compiler(), tools.HEADER_TEXT, repr(tools.VARIANTS)]
    return root / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def precompile(root: Path) -> Path:
    """Make the headers unless they are there; half a minute, and about a gigabyte. Returns their folder.

    Raises:
        MachineError: the compiler is missing or fails, or the disk is full.
    """
    made = place(root)
    if made.exists():
        return made
    root.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="making-", dir=root))
    try:
        fresh.chmod(0o755)
        stand_ins(fresh)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda variant: _make(fresh, variant), tools.VARIANTS))
        fresh.rename(made)
    except OSError as error:
        if not made.exists():
            raise MachineError(f"torch's headers cannot be precompiled below {root}: {error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return made


def stand_ins(folder: Path) -> None:
    """The header itself and the empty ones beside it, without which nothing is precompiled."""
    for name in tools.STAND_INS:
        path = folder / "stand-ins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#pragma once\n", encoding="utf-8")
    for variant in tools.VARIANTS:
        (folder / variant.name).mkdir()
        (folder / variant.name / tools.HEADER).write_text(tools.HEADER_TEXT, encoding="utf-8")


def _make(folder: Path, variant: tools.Variant) -> None:
    header = folder / variant.name / tools.HEADER
    command = [*tools.host_compiler(), variant.level, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise MachineError(f"precompiling torch's headers took longer than {LIMIT_S:.0f} s") from None
    if done.returncode:
        raise MachineError(f"torch's headers cannot be precompiled: {done.stderr[-1500:]}")
    os.chmod(f"{header}.gch", 0o644)  # noqa: PTH101 (a name that pathlib would have to put together)
