"""Resolves the target that a person named, against the GPU that is here or not.

Torch is not imported: the driver is asked in a process of its own, which ends with its context and with whatever a
broken driver does.
"""

import subprocess
import sys
from difflib import get_close_matches
from pathlib import Path

from kernelwright.devices import Kind, device_named, facts, kind_of, kinds, sheets, understood
from kernelwright.errors import MachineError, UsageError
from kernelwright.execution.cluster import ask_a_gpu_s_node
from kernelwright.execution.executor import Place
from kernelwright.records.task import Target

CPU = Target(kind="cpu", arch="native", present=True)
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
_ASK_NAME = """
import ctypes
cuda, name = ctypes.CDLL("libcuda.so.1"), ctypes.create_string_buffer(200)
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 200, 0) == 0
print(name.value.decode(), end="")
"""
_ASK_LIMIT_S = 60.0


def resolve_target(name: str | None, place: Place | None = None) -> Target:
    """The target of that name; None: the GPU if there is one, otherwise the CPU. `place` is where kernels are judged.

    Raises:
        UsageError: no such target.
        MachineError: a kind of GPU was asked for and none is here; or the cluster does not answer.
    """
    device = device_named(name) if name is not None else ""
    if name is not None:
        name = str(sheets()[device]["arch"]) if device else understood(name)
        if name not in kinds() and name not in facts():
            raise UsageError(_unknown(name))
    if name == CPU.name:
        return CPU
    here = ask_a_gpu_s_node(place.address, find_gpu) if place and place.name == "ray" else find_gpu()
    if here is not None and name in (None, kind_of(here)):
        return Target(kind=kind_of(here), arch=here, present=True)
    if name is None:
        return CPU
    if name in kinds():
        raise MachineError(_absent(kinds()[name]))
    return Target(kind=kind_of(name), arch=name, present=name == here and _is(device), device=device)


def _unknown(name: str) -> str:
    timed = ", ".join(kind.name for kind in kinds().values() if kind.timed)
    by_plain_name = {one.lower(): one for one in (*kinds(), *facts(), *sheets())}
    near = get_close_matches(name.lower(), by_plain_name, n=1)
    meant = f". Did you mean {by_plain_name[near[0]]!r}?" if near else ""
    return f"target {name!r} must be {timed}, one of {', '.join(facts())}, or a device such as 'H100 SXM 80 GB'{meant}"


def _is(device: str) -> bool:
    """Whether the GPU that is here is that one, where one was named: no times of another one of its architecture are its."""
    return not device or device_named(_answer(_ASK_NAME) or "") == device


def compiled_for(kind: str) -> Target:
    """The usual target of a kind whose device is not here."""
    return resolve_target(kinds()[kind].usual)


def _absent(kind: Kind) -> str:
    device = f"an {kind.vendor} GPU"
    needs = f"{device} and its driver, and none answers here" if kind.timed else f"{device}, which cannot be used yet"
    return (
        f"target {kind.name!r} needs {needs}: use --target cpu, "
        f"or --target {kind.usual} to compile for a GPU that is elsewhere (no times are claimed then)"
    )


def find_gpu() -> str | None:
    """Architecture of the first visible GPU, such as `sm_90`; None without one."""
    return _answer(_ASK_DRIVER) if any(Path(file).exists() for file in _DEVICE_FILES) else None


def _answer(script: str) -> str | None:
    command = [sys.executable, "-I", "-c", script]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return answer.stdout if answer.returncode == 0 else None
