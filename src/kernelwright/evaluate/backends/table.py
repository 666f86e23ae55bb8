"""Which backend serves a target: a row for each kind of device. Nothing heavy is imported until a backend is opened."""

import threading
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from kernelwright.errors import MachineError
from kernelwright.evaluate.sandbox.messages.entrypoints import MODULES
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.pages import page
from kernelwright.plugins import load_plugin
from kernelwright.records.task import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelwright.evaluate.backends.backend import Backend
    from kernelwright.evaluate.backends.host import Host
    from kernelwright.records.run import Check

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
    tf32: bool = False
    """Its libraries may round the factors of products to TF32."""
    on_gpu: bool = False
    """A cluster must run its jobs where a GPU is, if the device is present."""


BACKENDS: dict[str, Row] = {
    "cpu": Row(present="cpu"),
    "cuda": Row(present="cuda", absent="absent", on_gpu=True, tf32=True),
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


def may_use_tf32(target: Target) -> bool:
    """Whether libraries of a target's kind may round the factors of products to TF32."""
    return BACKENDS.get(target.kind, Row()).tf32


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


INDUCTOR = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1"}
"""For a warm parent that imports torch._dynamo, which reads it then: a confined process has no pool of compilers, and what
instructions there are, -march=native knows."""
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""For a warm parent whose children use no GPU, though one may be here: whoever asks torch for one is told that there is none,
and the driver, which torch would wake otherwise, is left alone."""
EXPORTING = ("torch._dynamo", "torch.export._trace")
"""What exporting a reference imports: three seconds of each child otherwise, of which torch._dynamo alone takes two."""
COMPILING = (
    *EXPORTING,
    "kernelwright.evaluate.triton.rehearsal",
    MODULES["cross"],
    MODULES["reference"],
)
"""Imported once by the parent of compilers and references."""
ON_GPU = (
    *EXPORTING,
    "kernelwright.evaluate.triton.driver",
    "kernelwright.evaluate.triton.rehearsal",
    MODULES["cross"],
    MODULES["cuda"],
    MODULES["launcher"],
    MODULES["nvrtc"],
    MODULES["reference_cuda"],
)
"""Imported once by the GPU's warm parent, so that no child pays for them. Triton reads TRITON_INTERPRET when it is imported,
so only the GPU's children are born with it."""
PARENTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "cpu": ((*EXPORTING, MODULES["reference"]), INDUCTOR | NO_GPU),
    "cuda": (ON_GPU, INDUCTOR),
    "absent": (COMPILING, INDUCTOR | NO_GPU),
    "hip": (COMPILING, INDUCTOR | NO_GPU),
}
"""Modules and environment, by the backend's folder."""

_begun: dict[str, Warm] = {}
_lock = threading.Lock()


def begin_parent(folder: str) -> None:
    """Have the parent of a backend's processes begin to import, if it is one of these; `parent_of` gives it."""
    with _lock:
        if folder in PARENTS and folder not in _begun:
            _begun[folder] = Warm(*PARENTS[folder])
            _begun[folder].begin()


def parent_of(folder: str) -> Warm:
    """The parent of a backend's processes, whether or not it has begun; whoever has it must close it."""
    with _lock:
        return _begun.pop(folder, None) or Warm(*PARENTS[folder])


def close_parents() -> None:
    """End those that nobody has taken."""
    with _lock:
        for warm in _begun.values():
            warm.close()
        _begun.clear()
