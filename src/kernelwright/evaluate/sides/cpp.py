"""A `cpp` candidate in its own process: load the shared object, call it on windows of the arena.

The result is allocated inside the timed call, by the allocator that eager uses: the same duty on every side.
"""

import ctypes
import os
import socket
import time
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.memory import GUARD, ArenaView, empty, guarded, tensor_specs


class CppSide:
    """State of this process: the function and where its arguments are."""

    def __init__(self, denied: list[str]) -> None:
        self._denied = denied
        self._kept: list[torch.Tensor] = []

    def load(self, message: Message) -> Message:
        """Map the arena and open the library; its constructors run here."""
        arena, library_file = message["descriptors"]
        self._outputs = tensor_specs(message, "outputs")
        self._view = ArenaView(arena, message["starts"], bool(message.get("private")))
        self._workspace_bytes = int(message["workspace_bytes"])
        torch.set_num_threads(int(message["threads"]))
        path = Path("kernel.so").absolute()
        with path.open("wb") as file:
            os.sendfile(file.fileno(), library_file, 0, os.fstat(library_file).st_size)
        library = ctypes.CDLL(str(path))
        try:
            self._function = getattr(library, str(message["entry"]))
        except AttributeError:
            raise LookupError(f'no function {message["entry"]!r}: define it, and as extern "C"') from None
        self._function.restype = None
        count = len(self._view.starts) + len(self._outputs) + (self._workspace_bytes > 0)
        self._function.argtypes = [ctypes.c_void_p] * count
        return {"denied": list(self._denied)}

    def run(self, message: Message) -> Message:
        """Call the function once for every list of offsets; results stay alive until the next run."""
        calls = [[self._view.address(i, o) for i, o in enumerate(offsets)] for offsets in message["calls"]]
        checked = bool(message["checked"])
        self._kept, addresses = [], []
        start = time.perf_counter_ns()
        for pointers in calls:
            results = [guarded(s) if checked else empty(s) for s in self._outputs]
            outs = [r.data_ptr() + (GUARD if checked else 0) for r in results]
            workspace = self._workspace()
            self._function(*pointers, *outs, *workspace)
            self._kept += results
            addresses.append(outs)
        inside = time.perf_counter_ns() - start
        described = [
            [[address, spec.dtype, list(spec.shape)] for address, spec in zip(outs, self._outputs, strict=True)]
            for outs in addresses
        ]
        return {"ns": inside, "results": described}

    def inputs(self, message: Message) -> Message:
        """Where the windows at these offsets lie in this process, for the grader to look for changes."""
        specs = tensor_specs(message, "tensors")
        places = [self._view.address(i, int(o)) for i, o in enumerate(message["offsets"])]
        return {"results": [[[a, s.dtype, list(s.shape)] for a, s in zip(places, specs, strict=True)]]}

    def _workspace(self) -> list[int]:
        if not self._workspace_bytes:
            return []
        memory = torch.empty(self._workspace_bytes, dtype=torch.uint8)
        self._kept.append(memory)
        return [memory.data_ptr()]


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `load`, `run` and `inputs`."""
    side = CppSide(denied)
    session.serve(control, {"load": side.load, "run": side.run, "inputs": side.inputs})
