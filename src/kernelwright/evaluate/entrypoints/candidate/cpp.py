"""A `cpp` candidate in its own process: load the shared object, call it on windows of the arena.

Results lie where the grader says, in a pool of this process's own memory that the grader fills with poison and guards
before every question: nothing of an earlier result is left, and no call can tell whether it will be checked. The pool's
pages are there already, as those of the heap are from which eager takes its results.
"""

import ctypes
import os
import socket
import time
from operator import add
from pathlib import Path

import torch

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox.arena import ArenaView
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import candidates


class CppSide:
    """State of this process: the function and where its arguments are."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._kept: list[torch.Tensor] = []

    def load(self, command: candidates.LoadLibrary) -> candidates.LibraryLoaded:
        """Map the arena, allocate the pool and open the library; its constructors run here."""
        arena, library_file = command.files
        self._view = ArenaView(arena, command.starts, command.private)
        self._pool = torch.empty(command.pool_bytes, dtype=torch.uint8)
        self._workspace_bytes = command.workspace_bytes
        torch.set_num_threads(command.threads)
        path = Path("kernel.so").absolute()
        with path.open("wb") as file:
            os.sendfile(file.fileno(), library_file, 0, os.fstat(library_file).st_size)
        pool = self._pool.data_ptr()
        library = ctypes.CDLL(str(path))
        try:
            self._function = getattr(library, command.entry)
        except AttributeError:
            raise LookupError(f'no function {command.entry!r}: define it, and as extern "C"') from None
        self._function.restype = None
        count = len(self._view.starts) + command.outputs + (self._workspace_bytes > 0)
        self._function.argtypes = [ctypes.c_void_p] * count
        self._bases = (*(self._view.address(i, 0) for i in range(len(self._view.starts))), *[0] * command.outputs)
        return candidates.LibraryLoaded(pool=pool)

    def run(self, command: candidates.RunPlaced) -> messages.Ran:
        """Call the function once for every row of numbers, with results where it says."""
        calls = [tuple(map(add, self._bases, row)) for row in command.rows]
        self._kept = []
        function, scratch = self._function, self._workspace_bytes > 0
        start = time.perf_counter_ns()
        for pointers in calls:
            function(*pointers, *self._workspace()) if scratch else function(*pointers)
        inside = time.perf_counter_ns() - start
        return messages.Ran(ns=inside)

    def in_turn(self, command: messages.RunInTurn) -> messages.RanInTurn:
        """The same for calls that the grader hands over one by one."""
        self._kept = []
        inputs = len(self._view.starts)

        def compute(told: tuple[int, ...]) -> list[int]:
            pointers = [*(self._view.address(i, o) for i, o in enumerate(told[:inputs])), *told[inputs:]]
            self._function(*pointers, *self._workspace())
            return []

        session.in_turn(self._control, command.count, compute)
        return messages.RanInTurn()

    def inputs(self, command: messages.DescribeInputs) -> messages.Described:
        """Where the windows at these offsets lie in this process, for the grader to look for changes."""
        places = [self._view.address(i, o) for i, o in enumerate(command.offsets)]
        found = [
            messages.Found(address=a, dtype=s.dtype, shape=s.shape)
            for a, s in zip(places, command.tensors, strict=True)
        ]
        return messages.Described(tensors=found)

    def _workspace(self) -> list[int]:
        if not self._workspace_bytes:
            return []
        memory = torch.empty(self._workspace_bytes, dtype=torch.uint8)
        self._kept.append(memory)
        return [memory.data_ptr()]


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = CppSide(control)
    handlers: session.Handlers = {
        candidates.LoadLibrary: side.load,
        candidates.RunPlaced: side.run,
        messages.RunInTurn: side.in_turn,
        messages.DescribeInputs: side.inputs,
    }
    session.serve(control, handlers)
