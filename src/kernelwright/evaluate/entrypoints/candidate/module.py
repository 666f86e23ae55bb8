"""A candidate that is a Python module, in its own process on this machine's cores: as it was published.

Inputs are windows of the arena without write access; results are the candidate's own memory, which the grader reads while
the process stands still. Parameters are given in a question of their own, outside of any clock; a model that packs them by
code of its own does so within the call, unless they are constant.
"""

import socket
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from kernelwright.evaluate.entrypoints import numerics, session
from kernelwright.evaluate.entrypoints.candidate import poison
from kernelwright.evaluate.entrypoints.candidate.library_share import library_share
from kernelwright.evaluate.sandbox.arena import ArenaView, described
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import candidates
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.binding import COPY, bind
from kernelwright.evaluate.triton.model import call, model_of, plain, written
from kernelwright.records.tensor import Scalar

CONTIGUOUS, CLONE = torch.Tensor.contiguous, torch.Tensor.clone
ADDRESS, STRIDES, DTYPE = torch.Tensor.data_ptr, torch.Tensor.stride, torch.Tensor.dtype.__get__
NO_FUNCTION, NO_DISPATCH = torch._C.DisableTorchFunction, torch._C._DisableTorchDispatch
"""As they were before there was a candidate."""


class ModuleSide:
    """State of this process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._results: list[list[torch.Tensor]] = []
        self._taken: tuple[int, ...] = ()
        self._late = False
        self._own_results = poison.OwnResults()

    def load(self, command: candidates.LoadModule) -> candidates.ModelLoaded:
        """Map the arena, import the module and build its model."""
        torch.set_num_threads(command.threads)
        self._view = ArenaView(command.files[0], command.starts, command.private)
        self._workload, self._constant = command.workload, command.constant
        numerics.take(command.flags)
        self._source, self._begun = command.candidate.source, numerics.everything()
        if command.headers is not None:
            # Not at the top: it imports torch's builder, which few candidates need.
            from kernelwright.evaluate.python_extension.fast_path import FastPath  # noqa: PLC0415

            FastPath(Path(command.headers), "").install()
        model = model_of(command.candidate, command.init)
        self._first = len(self._workload.tensors)
        workload = self._workload
        self._bound = bind(model, self._parameters([0] * len(workload.parameters)), constants=workload.constants)
        self._stateful = [p.name for p in self._workload.parameters if p.name in self._workload.changes]
        return candidates.ModelLoaded(binding=self._bound.told)

    def flags(self, command: messages.TellPrecision) -> messages.Precision:
        """The flags that the candidate's own code has set."""
        return messages.Precision(flags=numerics.changed(self._begun, self._source))

    def parameters(self, command: messages.TakeParameters) -> Done:
        """Take the parameters at these offsets, or remember that the next call takes them."""
        wanted = tuple(command.offsets)
        if self._constant and self._taken == wanted:
            return Done()
        self._taken = wanted
        self._late = self._bound.told.by_method and not self._constant
        if not self._late:
            self._bound.give(self._parameters(wanted))
        return Done()

    def held(self, command: candidates.TellParameters) -> candidates.ParametersHeld:
        """Where they lie, for the grader to look whether they were taken."""
        own = [self._bound.own.get(p.name) for p in self._workload.parameters]
        return candidates.ParametersHeld(tensors=[None if t is None else _held(t) for t in own])

    def clear(self, command: candidates.Clear) -> Done:
        """Forget the last results, and leave poison where the next ones may come to lie.

        The grader has filled those, so that what the model keeps must not be among the next.
        """
        self._results = []
        self._own_results.look(self._bound.model)
        poison.ahead(self._workload.outputs, command.count, "cpu")
        return Done()

    def run(self, command: messages.Run) -> messages.Ran:
        """Call the model once for every list of offsets."""
        calls = [self._arguments(offsets) for offsets in command.calls]
        self._results = []
        with torch.no_grad():
            begin = time.perf_counter_ns()
            for arguments in calls:
                self._results.append(self._called(arguments))
            inside = time.perf_counter_ns() - begin
        self._own_results.asked()
        return messages.Ran(ns=inside, results=self._described())

    def in_turn(self, command: messages.RunInTurn) -> messages.RanInTurn:
        """The same for calls that the grader hands over one by one."""
        self._results = []

        def compute(offsets: tuple[int, ...]) -> list[int]:
            result = self._called(self._arguments(offsets))
            self._results.append(result)
            return [t.data_ptr() for t in result if t.numel()]

        with torch.no_grad():
            session.in_turn(self._control, command.count, compute)
        return messages.RanInTurn(results=self._described())

    def inputs(self, command: messages.DescribeInputs) -> messages.Described:
        """Where the windows at these offsets lie in this process, for the grader to look for changes."""
        placed = zip(enumerate(command.offsets), command.tensors, strict=True)
        return messages.Described(tensors=[described(self._view.tensor(i, o, s)) for (i, o), s in placed])

    def share(self, command: candidates.TellLibraryShare) -> candidates.LibraryShare:
        """How much of one call's time is PyTorch's."""
        arguments = self._arguments(command.call)
        with torch.no_grad():
            return library_share(lambda: self._called(arguments), "cpu")

    def _called(self, arguments: list[object]) -> list[torch.Tensor]:
        """One call, with results as eager's are: dense, and in memory that is no input's."""
        if self._late:
            self._bound.give(self._parameters(self._taken))
        elif self._stateful:
            self._put_back()
        results = plain(call(self._bound.model, self._workload, arguments))
        self._own_results.called(self._bound.model)
        after = [CLONE(t) for t in written(self._bound.own, self._workload, arguments)]
        return [*(self._own(CONTIGUOUS(t)) for t in results), *after]

    def _put_back(self) -> None:
        """What the call before has written to is as it was given."""
        given = self._parameters(self._taken)
        for name in self._stateful:
            if name in self._bound.own:
                COPY(self._bound.own[name], given[name])

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        kept = self._view.holds(tensor.data_ptr()) or self._own_results.holds(tensor)
        return CLONE(tensor) if kept else tensor

    def _described(self) -> list[list[messages.Found]]:
        return [[described(t) for t in call] for call in self._results]

    def _parameters(self, offsets: Sequence[int]) -> dict[str, torch.Tensor]:
        specs = enumerate(self._workload.parameters)
        return {p.name: self._view.tensor(self._first + i, offsets[i], p) for i, p in specs}

    def _arguments(self, offsets: Sequence[int]) -> list[object]:
        placed = zip(enumerate(offsets), self._workload.tensors, strict=False)
        tensors = iter([self._view.tensor(i, o, s) for (i, o), s in placed])
        changes = self._workload.changes
        return [
            i.value if isinstance(i, Scalar) else CLONE(next(tensors)) if i.name in changes else next(tensors)
            for i in self._workload.inputs
        ]


def _held(tensor: torch.Tensor) -> candidates.Held:
    # No clock runs here, so no code of the candidate's may.
    with NO_FUNCTION(), NO_DISPATCH():
        dtype = str(DTYPE(tensor)).removeprefix("torch.")
        return candidates.Held(address=ADDRESS(tensor), dtype=dtype, strides=STRIDES(tensor))


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = ModuleSide(control)
    handlers: session.Handlers = {
        candidates.LoadModule: side.load,
        messages.TakeParameters: side.parameters,
        candidates.TellParameters: side.held,
        candidates.Clear: side.clear,
        messages.Run: side.run,
        messages.RunInTurn: side.in_turn,
        messages.DescribeInputs: side.inputs,
        candidates.TellLibraryShare: side.share,
        messages.TellPrecision: side.flags,
    }
    session.serve(control, handlers)
