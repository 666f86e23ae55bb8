"""A `cpp` candidate in its own process: load the shared object, call it on windows of the arena.

Results lie where the grader says, in a pool of this process's own memory that the grader fills with poison and guards
before every question: nothing of an earlier result is left, and no call can tell whether it will be checked. The pool's
pages are there already, as those of the heap are from which eager takes its results.
"""

import ctypes
import os
import socket
import time
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.memory import ArenaView, tensor_specs


class CppSide:
    """State of this process: the function and where its arguments are."""

    def __init__(self, denied: list[str], control: socket.socket) -> None:
        self._denied, self._control = denied, control
        self._kept: list[torch.Tensor] = []

    def load(self, message: Message) -> Message:
        """Map the arena, allocate the pool and open the library; its constructors run here."""
        arena, library_file = message["descriptors"]
        self._view = ArenaView(arena, message["starts"], bool(message.get("private")))
        self._pool = torch.empty(int(message["pool_bytes"]), dtype=torch.uint8)
        self._workspace_bytes = int(message["workspace_bytes"])
        torch.set_num_threads(int(message["threads"]))
        path = Path("kernel.so").absolute()
        with path.open("wb") as file:
            os.sendfile(file.fileno(), library_file, 0, os.fstat(library_file).st_size)
        pool = self._pool.data_ptr()
        library = ctypes.CDLL(str(path))
        try:
            self._function = getattr(library, str(message["entry"]))
        except AttributeError:
            raise LookupError(f'no function {message["entry"]!r}: define it, and as extern "C"') from None
        self._function.restype = None
        count = len(self._view.starts) + int(message["outputs"]) + (self._workspace_bytes > 0)
        self._function.argtypes = [ctypes.c_void_p] * count
        return {"denied": list(self._denied), "pool": pool}

    def run(self, message: Message) -> Message:
        """Call the function once for every list of offsets, with results where `outs` says."""
        calls = [
            [*(self._view.address(i, o) for i, o in enumerate(offsets)), *outs]
            for offsets, outs in zip(message["calls"], message["outs"], strict=True)
        ]
        self._kept = []
        start = time.perf_counter_ns()
        for pointers in calls:
            self._function(*pointers, *self._workspace())
        inside = time.perf_counter_ns() - start
        return {"ns": inside}

    def in_turn(self, message: Message) -> Message:
        """The same for calls that the grader hands over one by one."""
        self._kept = []
        inputs = len(self._view.starts)

        def compute(told: tuple[int, ...]) -> list[int]:
            pointers = [*(self._view.address(i, o) for i, o in enumerate(told[:inputs])), *told[inputs:]]
            self._function(*pointers, *self._workspace())
            return []

        session.in_turn(self._control, int(message["count"]), compute)
        return {}

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
    """Answer `load`, `run`, `in_turn` and `inputs`."""
    side = CppSide(denied, control)
    session.serve(control, {name: getattr(side, name) for name in ("load", "run", "in_turn", "inputs")})
