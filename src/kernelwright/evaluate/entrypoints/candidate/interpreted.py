"""A Triton candidate under Triton's interpreter, in its own process, on windows of the arena.

Its process was started with TRITON_INTERPRET=1 and imported Triton only after that.
"""

import socket
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.pieces import difference
from kernelwright.evaluate.sandbox.arena import ArenaView, described
from kernelwright.evaluate.sandbox.messages.base import Done, Raised
from kernelwright.evaluate.sandbox.messages.calls import INPUT_WRITTEN, WITHOUT_KERNELS, Offsets, Ran, Run
from kernelwright.evaluate.sandbox.messages.candidates import Examine, Examined, LoadInterpreted
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, Way, interpret, launched_with, launches, undefined
from kernelwright.evaluate.triton.programs import ORDERS
from kernelwright.evaluate.triton.undefined import Fill
from kernelwright.evaluate.triton.unseen import examine
from kernelwright.records.tensor import Scalar, TensorSpec

Results = Sequence[torch.Tensor]
MANY = 64
DEPENDS = "the result depends on lanes that a masked load left undefined: {}; give such a load its `other`"


class InterpretedSide:
    """State of this process."""

    def __init__(self) -> None:
        self._kept: list[list[torch.Tensor]] = []
        self._calls = self._interpreted = 0
        self._examined: set[str] = set()

    def load(self, command: LoadInterpreted) -> Done:
        """Remember the candidate and map the arena."""
        self._candidate, self._workload = command.candidate, command.workload
        self._init, self._arch = command.init, command.arch
        self._view = ArenaView(command.files[0], command.starts)
        torch.set_num_threads(1)
        return Done()

    def examine(self, command: Examine) -> Examined | Raised:
        """What only the full size shows, as far as it can be seen without memory."""
        found = examine(self._candidate, command.init, command.workload, self._arch)
        if isinstance(found, Fault):
            return Raised(error=f"fault {found.kind}", log=found.log)
        return Examined(words=found)

    def run(self, command: Run) -> Ran | Raised:
        """Interpret one call after another; a fault is an answer, not an exception.

        Without kernels, what launches were given follows the results of the one call.
        """
        start, idle = time.perf_counter_ns(), command.variant == WITHOUT_KERNELS
        results: list[list[torch.Tensor]] = []
        for offsets in command.calls:
            self._calls += 1
            self._interpreted += not idle
            # Cases follow one another, so that each order is compared with what is expected.
            order = ORDERS[self._interpreted % len(ORDERS)]
            way = Way(idle, seed=self._calls, order=order)
            result = interpret(self._candidate, self._init, self._arguments(offsets), self._arch, way)
            if isinstance(result, Fault):
                return Raised(error=f"fault {result.kind}", log=result.log)
            if changed := self._changed(offsets):
                return Raised(error=INPUT_WRITTEN, log=f"it writes to its {changed}")
            if not idle and (lines := self._depends_on(offsets, way, result)):
                return Raised(error="fault undefined_lanes", log=DEPENDS.format("; ".join(lines)))
            results.append([t.contiguous() for t in result])
        inside = time.perf_counter_ns() - start
        if idle:
            results.append([t.contiguous() for t in launched_with()])
        # They stay where they are until they have been read.
        self._kept = results
        told = [[described(t) for t in one] for one in results]
        return Ran(ns=inside, results=told, launches=launches())

    def _depends_on(self, offsets: Offsets, way: Way, result: Results) -> list[str]:
        """Lines whose undefined lanes the result depends on: with other values there it is another one."""
        seen = undefined()
        if not seen.left.keys() - self._examined:
            return []
        self._examined |= seen.left.keys()

        def differs(fill: Fill | None) -> bool:
            again = interpret(
                self._candidate, self._init, self._arguments(offsets), self._arch, way._replace(fill=fill)
            )
            return isinstance(again, Fault) or any(map(difference, again, result))

        # Many lanes hold each of the values in one call.
        for turn in range(3 if seen.left.total() < MANY else 1):
            fill = Fill(turn, most_loads=4 * seen.loads + 1000)
            if differs(fill) and not differs(None):
                return [line for line in seen.left if differs(replace(fill, only=line))] or list(seen.left)
        return []

    def _arguments(self, offsets: Offsets) -> Arguments:
        self._copies = [t.clone() for t in self._shared(offsets)]
        tensors = iter(self._copies)
        inputs = [i.value if isinstance(i, Scalar) else next(tensors) for i in self._workload.inputs]
        return Arguments(inputs, {p.name: next(tensors) for p in self._workload.parameters}, self._workload)

    def _changed(self, offsets: Offsets) -> str:
        """The first input or parameter that is not what it was, and where; empty where all are."""
        inputs = len(self._workload.tensors)
        for i, (spec, mine, given) in enumerate(zip(self._specs, self._copies, self._shared(offsets), strict=True)):
            if spec.name not in self._workload.changes and (changes := difference(mine, given)):
                return f"{'input' if i < inputs else 'parameter'} {spec.name!r}: {changes}"
        return ""

    def _shared(self, offsets: Offsets) -> list[torch.Tensor]:
        return [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._specs, strict=True)]

    @property
    def _specs(self) -> tuple[TensorSpec, ...]:
        return (*self._workload.tensors, *self._workload.parameters)


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = InterpretedSide()
    session.serve(control, {LoadInterpreted: side.load, Examine: side.examine, Run: side.run})
