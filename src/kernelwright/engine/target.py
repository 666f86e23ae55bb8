"""Resolves the target that a person named, against the GPU that is here or not.

Decides `cpu`, `cuda` or an architecture without importing torch: the driver is asked in a process of
its own, which ends with its context and with whatever a broken driver does.
"""

import subprocess
import sys
from pathlib import Path

from kernelwright.errors import MachineError, UsageError
from kernelwright.execution.cluster import ask_a_gpu_s_node
from kernelwright.execution.executor import Place
from kernelwright.records.task import Target

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120")
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/dxg")
_ASK_DRIVER = """
import ctypes
cuda, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(value)) == 0 and value.value > 0
print("sm_", end="")
for attribute in (75, 76):  # compute capability: major, minor
    assert cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0
    print(value.value, end="")
"""
_ASK_LIMIT_S = 60.0


def resolve_target(name: str | None, place: Place | None = None) -> Target:
    """The target of that name; None: the GPU if there is one, otherwise the CPU. `here` is where kernels are judged.

    Raises:
        UsageError: no such target.
        MachineError: `cuda` was asked for and no GPU is here; or the cluster does not answer.
    """
    if name == "cpu":
        return Target(kind="cpu", arch="native", present=True)
    if name is not None and name != "cuda" and name not in ARCHITECTURES:
        raise UsageError(f"target {name!r} must be cpu, cuda or one of {', '.join(ARCHITECTURES)}")
    here = ask_a_gpu_s_node(place.address, find_gpu) if place and place.name == "ray" else find_gpu()
    if name is None and here is None:
        return Target(kind="cpu", arch="native", present=True)
    if name == "cuda" and here is None:
        raise MachineError(
            "target 'cuda' needs an NVIDIA GPU and its driver, and none answers here: use --target cpu, "
            "or --target sm_90 to compile for a GPU that is elsewhere (no times are claimed then)"
        )
    arch = here if name in (None, "cuda") and here is not None else str(name)
    return Target(kind="cuda", arch=arch, present=arch == here)


def find_gpu() -> str | None:
    """Architecture of the first visible GPU, such as `sm_90`; None without one."""
    if not any(Path(file).exists() for file in _DEVICE_FILES):
        return None
    command = [sys.executable, "-I", "-c", _ASK_DRIVER]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return answer.stdout if answer.returncode == 0 else None
