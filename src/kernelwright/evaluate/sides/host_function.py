"""A `cuda_host` candidate as something that is called with tensors: its shared object, and the pointers it wants.

The result is allocated inside the call, by the allocator that eager uses. Runs in the candidate's own process (tier two).
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from kernelwright.records.candidate import Candidate
from kernelwright.records.tensor import TensorSpec


class HostFunction:
    """The function, called on torch's current stream: inputs, parameters, outputs, workspace, stream."""

    def __init__(self, library_file: int, candidate: Candidate, outputs: Sequence[TensorSpec]) -> None:
        self._outputs, self._workspace_bytes = tuple(outputs), candidate.workspace_bytes
        path = Path("kernel.so").absolute()
        with path.open("wb") as file:
            os.sendfile(file.fileno(), library_file, 0, os.fstat(library_file).st_size)
        os.close(library_file)
        library = ctypes.CDLL(str(path))
        try:
            self._function = getattr(library, candidate.entry)
        except AttributeError:
            raise LookupError(f'no function {candidate.entry!r}: define it, and as extern "C"') from None
        self._function.restype = None
        self._parameters: list[int] = []
        self._kept: list[torch.Tensor] = []

    def load(self, parameters: Mapping[str, torch.Tensor]) -> None:
        """Take the parameters, in state_dict order, where they lie."""
        self._kept = list(parameters.values())
        self._parameters = [t.data_ptr() for t in self._kept]

    def __call__(self, *arguments: object) -> tuple[torch.Tensor, ...]:
        """What it writes for these inputs; scalars are constants of its source."""
        given = [a.data_ptr() for a in arguments if isinstance(a, torch.Tensor)]
        results = [torch.empty(s.shape, dtype=getattr(torch, s.dtype), device="cuda") for s in self._outputs]
        workspace = (
            torch.empty(self._workspace_bytes, dtype=torch.uint8, device="cuda") if self._workspace_bytes else None
        )
        pointers = [*given, *self._parameters, *(r.data_ptr() for r in results)]
        pointers += [workspace.data_ptr()] if workspace is not None else []
        self._function(*map(ctypes.c_void_p, pointers), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        return tuple(results)
