"""A Triton candidate under Triton's interpreter, in its own process, on windows of the arena.

Its process was started with TRITON_INTERPRET=1 and imported Triton only after that.
"""

import socket
import time

import torch

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.memory import ArenaView, described
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, interpret
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec


class InterpretedSide:
    """State of this process."""

    def __init__(self) -> None:
        self._kept: list[torch.Tensor] = []

    def load(self, message: Message) -> Message:
        """Remember the candidate and map the arena."""
        self._candidate = Candidate.model_validate(message["candidate"])
        self._workload = Workload.model_validate(message["workload"])
        self._init, self._arch = str(message["init"]), str(message["arch"])
        self._view = ArenaView(message["descriptors"][0], message["starts"])
        torch.set_num_threads(1)
        return {}

    def run(self, message: Message) -> Message:
        """Interpret one call; a fault is an answer, not an exception."""
        start = time.perf_counter_ns()
        (offsets,) = message["calls"]
        result = interpret(self._candidate, self._init, self._arguments(offsets), self._arch)
        inside = time.perf_counter_ns() - start
        if isinstance(result, Fault):
            return {"error": f"fault {result.kind}", "log": result.log}
        if changed := self._changed(offsets):
            return {"error": "fault input_written", "log": f"it writes to {changed}, which is read-only on a device"}
        self._kept = [t.contiguous() for t in result]
        return {"ns": inside, "results": [[described(t) for t in self._kept]]}

    def _arguments(self, offsets: list[int]) -> Arguments:
        self._copies = [t.clone() for t in self._shared(offsets)]
        tensors = iter(self._copies)
        inputs = [i.value if isinstance(i, Scalar) else next(tensors) for i in self._workload.inputs]
        return Arguments(inputs, {p.name: next(tensors) for p in self._workload.parameters})

    def _changed(self, offsets: list[int]) -> str:
        """Names of the inputs and parameters that are not what they were."""
        triples = zip(self._specs, self._copies, self._shared(offsets), strict=True)
        return ", ".join(repr(s.name) for s, mine, given in triples if not torch.equal(mine, given))

    def _shared(self, offsets: list[int]) -> list[torch.Tensor]:
        return [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._specs, strict=True)]

    @property
    def _specs(self) -> tuple[TensorSpec, ...]:
        return (*self._workload.tensors, *self._workload.parameters)


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `load` and `run`."""
    side = InterpretedSide()
    session.serve(control, {"load": side.load, "run": side.run})
