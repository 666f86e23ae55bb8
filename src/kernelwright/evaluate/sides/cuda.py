"""A candidate on the GPU in its own process: its module or library, its host code, its launches (tier two).

Inputs are windows of device memory mapped without write access; results are copied to the outbox after the clock.
"""

import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.cuda_arena import CopiedView, CudaView
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.sandbox.messages.calls import (
    Clocked,
    Described,
    DescribeInputs,
    Export,
    Exported,
    LoadModel,
    Offsets,
    Open,
    RunOnDevice,
    TakeParameters,
)
from kernelwright.evaluate.sides import precision, session
from kernelwright.evaluate.sides.cuda_calls import publish, the_clock, timed
from kernelwright.evaluate.sides.host_function import HostFunction
from kernelwright.evaluate.triton.model import construct, load_parameters, parameters_of, plain
from kernelwright.evaluate.triton.module import entry_of, load_module, private_path
from kernelwright.records.tensor import Scalar

CONTIGUOUS, COPY = torch.Tensor.contiguous, torch.Tensor.copy_
"""As they were before there was a candidate."""


class CudaSide:
    """State of this process."""

    def __init__(self) -> None:
        self._results: list[object] = []
        self._own: list[torch.Tensor] = []
        """The model's parameters, once they have been loaded."""

    def open(self, command: Open) -> Done:
        """Create the context, before there is a candidate."""
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        the_clock(watched=True)
        return Done()

    def load(self, command: LoadModel) -> Done:
        """Import the module and build the model on the device."""
        self._workload = command.workload
        self._outputs = command.workload.outputs
        count = len(command.sizes)
        *arena, outbox = command.files[: count + 1]
        view = CudaView(arena, command.sizes, writable=False)
        self._view: CudaView | CopiedView = CopiedView(view) if command.private else view
        self._capacity = command.outbox
        self._outbox = CudaView([outbox], [self._capacity], writable=True)
        precision.full()
        self._model = self._built(command, command.files[count + 1 :])
        return Done()

    def _built(self, command: LoadModel, library: Sequence[int]) -> torch.nn.Module | HostFunction:
        candidate = command.candidate
        if candidate.language == "cuda_host":
            return HostFunction(library[0], candidate, self._outputs)
        if command.extension is not None:
            # Not at the top: importing torch's builder asks for devices, and what is forked afterwards can use none.
            from kernelwright.evaluate.python_extension.fast_path import FastPath  # noqa: PLC0415

            FastPath(Path(command.extension.headers), command.extension.gencode).install()
        task = load_module(private_path("task"), command.init)
        entry = entry_of(load_module(private_path("kernel"), candidate.source, candidate.defines), candidate)
        return construct(entry, task).cuda()

    def parameters(self, command: TakeParameters) -> Done:
        """Take the parameters from the arena at these offsets."""
        self._take(command.offsets)
        return Done()

    def _take(self, offsets: Sequence[int]) -> None:
        """After the first time in place, so that no hook of the model's sees what it could prepare for."""
        found = self._parameters(offsets)
        if isinstance(self._model, HostFunction):
            self._model.load(found)
        elif not self._own:
            load_parameters(self._model, found)
            self._own = parameters_of(self._model, self._workload)
        for own, tensor in zip(self._own, found.values(), strict=False):
            COPY(own, tensor)

    def _parameters(self, offsets: Sequence[int]) -> dict[str, torch.Tensor]:
        first = len(self._workload.tensors)
        specs = enumerate(self._workload.parameters)
        return {p.name: self._view.tensor(first + i, offsets[i], p) for i, p in specs}

    def _take_own(self, offsets: Sequence[int]) -> None:
        """The parameters of one call, where it has any."""
        if own := offsets[len(self._workload.tensors) :]:
            self._take(own)

    def run(self, command: RunOnDevice) -> Clocked:
        """Call the model once for every list of offsets; results stay on the device until the next run."""
        calls = [self._arguments(offsets) for offsets in command.calls]
        self._results = []
        self._poison(len(calls))
        prepare = [partial(self._take_own, offsets) for offsets in command.calls]
        with torch.no_grad():
            self._results, times = timed(self._called, calls, command.how, prepare)
        return times

    def export(self, command: Export) -> Exported:
        """Copy the last results to the outbox."""
        results = [[CONTIGUOUS(t) for t in plain(r)] for r in self._results]
        return Exported(results=publish(self._outbox, results, self._capacity))

    def inputs(self, command: DescribeInputs) -> Described:
        """Copy the windows at these offsets to the outbox, for the grader to look for changes."""
        placed = zip(enumerate(command.offsets), command.tensors, strict=True)
        windows = [self._view.tensor(i, o, s) for (i, o), s in placed]
        (tensors,) = publish(self._outbox, [windows], self._capacity)
        return Described(tensors=tensors)

    def _called(self, *arguments: object) -> tuple[torch.Tensor, ...]:
        """One call. Its results are looked at while its time runs, so that none can be made later."""
        return plain(self._model(*arguments))

    def _poison(self, calls: int) -> None:
        """Fill memory of the results' sizes with NaN and give it back, checked or not: the next `empty` gets it.

        What held the last results is the first to be taken again, so that nothing of them is left.
        """
        sizes = [max(s.nbytes, 1) for _ in range(calls) for s in self._outputs]
        held = [torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda") for size in sizes]
        del held

    def _arguments(self, offsets: Offsets) -> list[object]:
        tensors = iter(
            [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._workload.tensors, strict=False)]
        )
        return [i.value if isinstance(i, Scalar) else next(tensors) for i in self._workload.inputs]


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = CudaSide()
    handlers: session.Handlers = {
        Open: side.open,
        LoadModel: side.load,
        TakeParameters: side.parameters,
        RunOnDevice: side.run,
        Export: side.export,
        DescribeInputs: side.inputs,
    }
    session.serve(control, handlers)
