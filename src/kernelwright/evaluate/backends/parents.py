"""The warm parents of this machine's backends: what each imports, and one that is begun before its backend is opened.

Nothing heavy is imported here: PyTorch takes a worker seconds, and the parent of its processes as many, so the worker has the
parent begin first, and both import side by side.
"""

import threading

from kernelwright.evaluate.sandbox.spawn import Warm

INDUCTOR = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1"}
"""For a warm parent that imports torch._dynamo, which reads it then: a confined process has no pool of compilers, and what
instructions there are, -march=native knows."""
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""For a warm parent whose children use no GPU, though one may be here: whoever asks torch for one is told that there is none,
and the driver, which torch would wake otherwise, is left alone."""
ENTRYPOINTS = "kernelwright.evaluate.entrypoints"
COMPILING = (
    "torch._dynamo",
    "kernelwright.evaluate.triton.rehearsal",
    f"{ENTRYPOINTS}.cross",
    f"{ENTRYPOINTS}.reference",
)
"""Imported once by the parent of compilers and references: torch._dynamo alone takes two seconds of each child."""
ON_GPU = (
    "torch._dynamo",
    "kernelwright.evaluate.triton.driver",
    "kernelwright.evaluate.triton.rehearsal",
    f"{ENTRYPOINTS}.cross",
    f"{ENTRYPOINTS}.cuda",
    f"{ENTRYPOINTS}.launcher",
    f"{ENTRYPOINTS}.nvrtc",
    f"{ENTRYPOINTS}.reference_cuda",
)
"""Imported once by the GPU's warm parent, so that no child pays for them. Triton reads TRITON_INTERPRET when it is imported,
so only the GPU's children are born with it."""
PARENTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "cpu": ((), NO_GPU),
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
