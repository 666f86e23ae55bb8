"""Torch's headers, precompiled once for a machine: a step of the referee's own, in a folder that candidates only read.

A header's name is the hash of compiler, torch, Python, flags and text, so an outdated one is never used. No lock is
needed: a header is made under a name of its own and moved into place.

A build must share some flags with the precompiled header, or the compiler does not accept it: what both are told is here.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils import cpp_extension

from kernelwright.errors import MachineError
from kernelwright.evaluate import toolkit

HEADER = "kernelwright_torch.h"
HEADER_TEXT = """#pragma once
#include <torch/types.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>) && __has_include(<cuda_runtime.h>)
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#endif
"""
"""What of torch's headers candidates use: no modules, no optimisers, no serialisation."""
STAND_INS = ("torch/extension.h", "torch/torch.h", "torch/all.h", "torch/python.h")
"""Headers that say nothing where HEADER has been read."""
ALWAYS = ("-fPIC", "-w")

LIMIT_S = 600.0


class Variant(NamedTuple):
    """A way to compile host code that a precompiled header serves; the compiler wants the header's own level."""

    name: str
    level: str


PLAIN, OPTIMISED = Variant("plain", "-O0"), Variant("optimised", "-O2")
VARIANTS = (PLAIN, OPTIMISED)


def variant_for(flags: list[str]) -> Variant:
    """By the level that flags ask for; the last one counts, and none means none."""
    levels = [flag for flag in flags if flag.startswith("-O")]
    return OPTIMISED if levels and levels[-1] != "-O0" else PLAIN


def standard() -> str:
    """The C++ that this torch's headers are written in, as its own extensions are compiled."""
    text = Path(cpp_extension.__file__).read_text(encoding="utf-8")
    found = re.search(r"\+ \['-fPIC', '-std=(c\+\+\d\d)'\]", text) or re.search(r"'-std=(c\+\+\d\d)'", text)
    return f"-std={found[1] if found else 'c++17'}"


def includes() -> list[str]:
    """Flags with the folders of torch's, CUDA's and Python's headers."""
    base = Path(torch.__file__).parent / "include"
    folders = [base, base / "torch/csrc/api/include", *map(Path, toolkit.include_directories())]
    folders.append(Path(sysconfig.get_paths()["include"]))
    return [part for folder in folders for part in ("-isystem", str(folder))]


def host_compiler() -> list[str]:
    """The command for host code, but for its level of optimisation and the files."""
    return ["g++", standard(), *ALWAYS, *includes()]


def libraries() -> list[str]:
    """Flags that link torch and the CUDA runtime."""
    home = Path(torch.__file__).parent / "lib"
    names = ("c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch", "torch_python")
    present = [f"-l{name}" for name in names if (home / f"lib{name}.so").exists()]
    return [f"-L{home}", f"-Wl,-rpath,{home}", *present, *_cuda_runtime()]


def _cuda_runtime() -> list[str]:
    root = toolkit.toolkit()
    places = [root / "lib64", root / "lib"] if root else []
    places += [Path(i).parent / "lib" for i in toolkit.include_directories()]
    for place in places:
        found = sorted(place.glob("libcudart.so*"))
        if found:
            return [str(found[0]), f"-Wl,-rpath,{place}"]
    return []


def place(root: Path) -> Path:
    """Where the headers for this machine's compiler and torch are, or would be, below `root`.

    Raises:
        MachineError: there is no g++.
    """
    try:
        said = subprocess.run(["g++", "-v"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineError(f"g++ does not work ({error}): install it, for example with `apt-get install g++`") from None
    parts = [said, torch.__version__, sys.version, *host_compiler(), HEADER_TEXT, repr(VARIANTS)]
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
            list(pool.map(lambda variant: _make(fresh, variant), VARIANTS))
        fresh.rename(made)
    except OSError as error:
        if not made.exists():
            raise MachineError(f"torch's headers cannot be precompiled below {root}: {error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return made


def stand_ins(folder: Path) -> None:
    """The header itself and the empty ones beside it, without which nothing is precompiled."""
    for name in STAND_INS:
        path = folder / "stand-ins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#pragma once\n", encoding="utf-8")
    for variant in VARIANTS:
        (folder / variant.name).mkdir()
        (folder / variant.name / HEADER).write_text(HEADER_TEXT, encoding="utf-8")


def _make(folder: Path, variant: Variant) -> None:
    header = folder / variant.name / HEADER
    command = [*host_compiler(), variant.level, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise MachineError(f"precompiling torch's headers took longer than {LIMIT_S:.0f} s") from None
    if done.returncode:
        raise MachineError(f"torch's headers cannot be precompiled: {done.stderr[-1500:]}")
    os.chmod(f"{header}.gch", 0o644)  # noqa: PTH101 (a name that pathlib would have to put together)
