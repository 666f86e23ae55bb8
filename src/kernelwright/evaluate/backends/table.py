"""Which backend serves a target: a row for each kind of device. Nothing heavy is imported until a backend is opened."""

import threading
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from kernelwright.errors import MachineError
from kernelwright.pages import page
from kernelwright.plugins import load_plugin
from kernelwright.records.task import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelwright.evaluate.backends.backend import Backend
    from kernelwright.evaluate.backends.host import Host
    from kernelwright.records.check import Check

HERE = "kernelwright.evaluate.backends"


@dataclass(frozen=True)
class Row:
    """The folders of one kind of device.

    Each has a `backend.py` with `open_backend(cpu)`, which is given what opens the CPU's host; the folder of the kind's own
    name has a `doctor.py` with `checks()`, which imports neither torch nor triton.
    """

    present: str = ""
    """For a device that is here."""
    absent: str = ""
    """For one that is not: kernels are compiled, and verified by an interpreter where there is one."""
    on_gpu: bool = False
    """A cluster must run its jobs where a GPU is, if the device is present."""


BACKENDS: dict[str, Row] = {
    "cpu": Row(present="cpu"),
    "cuda": Row(present="cuda", absent="absent", on_gpu=True),
    "hip": Row(absent="hip"),
}


def name_of(target: Target) -> str:
    """The folder of the backend that serves a target; empty where only a plug-in can."""
    row = BACKENDS.get(target.kind, Row())
    return row.present if target.present else row.absent


def _opener(target: Target) -> "Callable[[Callable[[], Host]], Backend]":
    name = name_of(target)
    opener = _module(name).open_backend if name else load_plugin("backends", target.kind)
    if opener is None:
        raise MachineError(f"no backend serves {target.name!r}: known are {', '.join(BACKENDS)} ({page('plugins.md')})")
    return cast("Callable[[Callable[[], Host]], Backend]", opener)


def needs_gpu(target: Target) -> bool:
    """Whether jobs for a target must run where a GPU is."""
    row = BACKENDS[target.kind]
    return target.present and (row.on_gpu or not row.present)


def backend_checks() -> "list[Callable[[], list[Check]]]":
    """What the doctor looks at for each kind of device."""
    return [import_module(f"{HERE}.{kind}.doctor").checks for kind in BACKENDS]


class Backends:
    """The backends of one worker: each is opened when it is first asked for."""

    def __init__(self) -> None:
        self._opened: dict[str, Backend] = {}
        self._cpu: Host | None = None
        self._lock = threading.Lock()

    def of(self, target: Target) -> "Backend":
        """The backend that serves a target.

        Raises:
            MachineError: there is none, or its device is not here.
            UsageError: a plug-in that would serve it cannot be loaded.
        """
        name = name_of(target) or f"plug-in {target.kind}"
        with self._lock:
            if name not in self._opened:
                self._opened[name] = _opener(target)(self._host)
            return self._opened[name]

    def close(self) -> None:
        """Close them all."""
        for backend in self._opened.values():
            backend.close()
        if self._cpu is not None:
            self._cpu.close()

    def _host(self) -> "Host":
        """This machine's CPU, once for all that work on it."""
        if self._cpu is None:
            self._cpu = _module("cpu").open_host()
        return self._cpu


def _module(name: str) -> Any:  # noqa: ANN401 (a module)
    return import_module(f"{HERE}.{name}.backend")
