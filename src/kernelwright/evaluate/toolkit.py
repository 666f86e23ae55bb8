"""Where NVIDIA's compilers and headers are on this machine: in packages, in the toolkit, or nowhere.

Packages of this interpreter come first, because they match NVRTC. Nothing is run.
"""

import os
import shutil
import site
import sys
from pathlib import Path

from kernelwright.errors import MachineError

FIX = "pip install 'kernelwright[cuda]'"
_PACKAGED = ("nvidia/cu13/include", "nvidia/cuda_runtime/include", "nvidia/cuda_cccl/include")
"""Folders of CUDA 13's packages and, before, of CUDA 12's."""


def toolkit() -> Path | None:
    """The root of an installed toolkit, if there is one."""
    named = [os.environ[v] for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    found = shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
    beside = [str(Path(found).resolve().parents[1])] if found else []
    for root in (*named, *beside, "/usr/local/cuda", "/opt/cuda"):
        if (Path(root) / "include" / "cuda.h").exists():
            return Path(root).resolve()
    return None


def nvcc() -> str:
    """The path of the compiler for host and device code.

    Raises:
        MachineError: there is none.
    """
    root = toolkit()
    if root is not None and (root / "bin" / "nvcc").exists():
        return str(root / "bin" / "nvcc")
    for packages in _site_packages():
        if (packages / "nvidia/cu13/bin/nvcc").exists():
            return str(packages / "nvidia/cu13/bin/nvcc")
    raise MachineError("nvcc was not found: install the CUDA toolkit, or set CUDA_HOME to where it is")


def include_directories() -> tuple[str, ...]:
    """Folders with CUDA's headers and CCCL's, first match first; empty where there are none."""
    roots = [packages / folder for packages in _site_packages() for folder in _PACKAGED]
    root = toolkit()
    roots += [root / "include"] if root else []
    found = [folder for base in roots for folder in (base, base / "cccl") if folder.is_dir()]
    return tuple(dict.fromkeys(str(folder) for folder in found))


def nvrtc_library() -> str | None:
    """The path of NVRTC in the toolkit; None where only a package may have it, which finds it by itself."""
    root = toolkit()
    if root is None:
        return None
    found = sorted(root.glob("lib*/libnvrtc.so.*")) + sorted(root.glob("targets/*/lib/libnvrtc.so.*"))
    return str(found[-1]) if found else None


def _site_packages() -> list[Path]:
    named = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    return [Path(p) for p in dict.fromkeys(named) if p.endswith("site-packages")]
