"""The compilers of an extension and what they are told: paths, standards, libraries. Nothing is run here.

A build must share some flags with the precompiled header, or the compiler does not accept it.
"""

import re
import sysconfig
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils import cpp_extension

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
    return ["-lcudart"]
