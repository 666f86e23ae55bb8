"""Versions of what can change a measurement on every backend: interpreter, libraries, C++ compiler, kernel."""

import platform
import subprocess
from importlib import metadata

import torch

from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.version import __version__

PACKAGES = ("triton", "numpy")
ABSENT = "absent"
"""What stands for a version that nobody tells; it is never an error."""


def common_versions() -> dict[str, str]:
    """By name."""
    found = {"python": platform.python_version(), "kernelwright": __version__, "torch": torch.__version__}
    found |= {package: _package(package) for package in PACKAGES}
    line = subprocess.run([cpp.compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    found["c++"] = line.splitlines()[0] if line else "unknown"
    found["kernel"] = platform.release()
    return found


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT
