"""Versions of NVIDIA's toolkit, which compiles, and of the driver, which runs. What does not answer is `absent`."""

import re
from importlib import import_module
from pathlib import Path

import torch

from kernelwright.evaluate.backends.host import ABSENT

DRIVER_FILE = Path("/proc/driver/nvidia/version")
_DRIVER = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")


def toolkit_versions() -> dict[str, str]:
    """Of what compiles, which needs no GPU."""
    return {"cuda toolkit of torch": str(torch.version.cuda or ABSENT), "nvrtc": _nvrtc()}


def driver_versions() -> dict[str, str]:
    """Of what runs on the GPU that is here."""
    return {"driver": driver(DRIVER_FILE), "cuda driver api": _driver_api()}


def driver(file: Path) -> str:
    """The kernel module's version, such as `550.54.15`, from the text that it offers."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return ABSENT
    found = _DRIVER.search(text)
    return found.group(1) if found else ABSENT


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
