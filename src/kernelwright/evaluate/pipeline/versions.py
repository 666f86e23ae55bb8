"""Versions of everything that can change a measurement: interpreter, libraries, compilers, kernel, driver.

Decides what is asked and that what does not answer is `absent`, never an error. A machine's GPU is asked only for
targets that mean one: a new driver does not change what a CPU measures.
"""

import platform
import re
import subprocess
from importlib import import_module, metadata
from pathlib import Path

import torch

from kernelwright.evaluate.compile import cpp
from kernelwright.records.task import Target
from kernelwright.version import __version__

PACKAGES = ("triton", "numpy")
DRIVER_FILE = Path("/proc/driver/nvidia/version")
_DRIVER = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")
ABSENT = "absent"


def versions(target: Target) -> dict[str, str]:
    """By name; those of the GPU's driver and toolkit only where the target is one."""
    found = {"python": platform.python_version(), "kernelwright": __version__, "torch": torch.__version__}
    found |= {package: _package(package) for package in PACKAGES}
    line = subprocess.run([cpp.compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    found["c++"] = line.splitlines()[0] if line else "unknown"
    found["kernel"] = platform.release()
    if target.kind == "cuda":
        found["cuda toolkit of torch"] = str(torch.version.cuda or ABSENT)
        found["nvrtc"] = _nvrtc()
    if target.kind == "cuda" and target.present:
        found["driver"] = driver(DRIVER_FILE)
        found["cuda driver api"] = _driver_api()
    return found


def driver(file: Path) -> str:
    """The kernel module's version, such as `550.54.15`, from the text that it offers."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return ABSENT
    found = _DRIVER.search(text)
    return found.group(1) if found else ABSENT


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT


def _driver_api() -> str:
    """The CUDA version that the driver speaks, such as `13.0`."""
    found = _asked("driver", "cuDriverGetVersion")
    return f"{found[0] // 1000}.{found[0] % 1000 // 10}" if found else ABSENT


def _nvrtc() -> str:
    found = _asked("nvrtc", "nvrtcVersion")
    return f"{found[0]}.{found[1]}" if found else ABSENT


def _asked(module: str, function: str) -> tuple[int, ...]:
    """The numbers that a function of the bindings answers; none where bindings or library are not here."""
    try:
        status, *numbers = getattr(import_module(f"cuda.bindings.{module}"), function)()
    except (ImportError, RuntimeError):
        return ()
    return tuple(numbers) if int(status) == 0 else ()
