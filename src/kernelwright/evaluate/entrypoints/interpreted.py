"""A Triton candidate under Triton's interpreter, in its own process, on windows of the arena.

Its process was started with TRITON_INTERPRET=1 and imported Triton only after that.
"""

import socket
import time

import torch

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.float8 import bits
from kernelwright.evaluate.sandbox.arena import ArenaView, described
from kernelwright.evaluate.sandbox.messages.base import Done, Raised
from kernelwright.evaluate.sandbox.messages.calls import WITHOUT_KERNELS, LoadInterpreted, Offsets, Ran, Run
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, interpret, launched_with, launches
from kernelwright.records.tensor import Scalar, TensorSpec


class InterpretedSide:
    """State of this process."""

    def __init__(self) -> None:
        self._kept: list[list[torch.Tensor]] = []
        self._calls = 0

    def load(self, command: LoadInterpreted) -> Done:
        """Remember the candidate and map the arena."""
        self._candidate, self._workload = command.candidate, command.workload
        self._init, self._arch = command.init, command.arch
        self._view = ArenaView(command.files[0], command.starts)
        torch.set_num_threads(1)
        return Done()

    def run(self, command: Run) -> Ran | Raised:
        """Interpret one call after another; a fault is an answer, not an exception.

        Without kernels, what launches were given follows the results of the one call.
        """
        start, idle = time.perf_counter_ns(), command.variant == WITHOUT_KERNELS
        results: list[list[torch.Tensor]] = []
        for offsets in command.calls:
            self._calls += 1
            result = interpret(
                self._candidate, self._init, self._arguments(offsets), self._arch, idle, seed=self._calls
            )
            if isinstance(result, Fault):
                return Raised(error=f"fault {result.kind}", log=result.log)
            if changed := self._changed(offsets):
                return Raised(
                    error="fault input_written", log=f"it writes to {changed}, which is read-only on a device"
                )
            results.append([t.contiguous() for t in result])
        inside = time.perf_counter_ns() - start
        if idle:
            results.append([t.contiguous() for t in launched_with()])
        # They stay where they are until they have been read.
        self._kept = results
        told = [[described(t) for t in one] for one in results]
        return Ran(ns=inside, results=told, launches=launches())

    def _arguments(self, offsets: Offsets) -> Arguments:
        self._copies = [t.clone() for t in self._shared(offsets)]
        tensors = iter(self._copies)
        inputs = [i.value if isinstance(i, Scalar) else next(tensors) for i in self._workload.inputs]
        return Arguments(inputs, {p.name: next(tensors) for p in self._workload.parameters}, self._workload)

    def _changed(self, offsets: Offsets) -> str:
        """Names of the inputs and parameters that are not what they were."""
        triples = zip(self._specs, self._copies, self._shared(offsets), strict=True)
        allowed = self._workload.changes
        return ", ".join(
            repr(s.name)
            for s, mine, given in triples
            if s.name not in allowed and not torch.equal(bits(mine), bits(given))
        )

    def _shared(self, offsets: Offsets) -> list[torch.Tensor]:
        return [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._specs, strict=True)]

    @property
    def _specs(self) -> tuple[TensorSpec, ...]:
        return (*self._workload.tensors, *self._workload.parameters)


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = InterpretedSide()
    session.serve(control, {LoadInterpreted: side.load, Run: side.run})
