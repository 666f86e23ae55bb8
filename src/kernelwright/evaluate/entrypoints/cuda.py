"""A candidate on the GPU in its own process: its module or library, its host code, its launches (tier two).

Inputs are windows of device memory mapped without write access; results are copied to the outbox after the clock.
"""

import ctypes
import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.entrypoints.device_clock import OneGraph, publish, the_clock, timed
from kernelwright.evaluate.sandbox.cuda_arena import CopiedView, CudaView
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.model import full_precision, load_parameters, model_of, parameters_of, plain
from kernelwright.records.candidate import Candidate
from kernelwright.records.tensor import Scalar, TensorSpec

CONTIGUOUS, COPY = torch.Tensor.contiguous, torch.Tensor.copy_
"""As they were before there was a candidate."""


class HostFunction:
    """A `cuda_host` candidate's function, called on torch's current stream: inputs, parameters, outputs, workspace, stream.

    The result is allocated inside the call, by the allocator that eager uses.
    """

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


class CudaSide:
    """State of this process."""

    def __init__(self) -> None:
        self._results: list[object] = []
        self._own: list[torch.Tensor] = []
        """The model's parameters, once they have been loaded."""

    def open(self, command: messages.Open) -> Done:
        """Create the context, before there is a candidate."""
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        the_clock(watched=True)
        return Done()

    def load(self, command: messages.LoadModel) -> Done:
        """Import the module and build the model on the device."""
        self._workload = command.workload
        self._outputs = command.workload.outputs
        count = len(command.sizes)
        *arena, outbox = command.files[: count + 1]
        view = CudaView(arena, command.sizes, writable=False)
        self._view: CudaView | CopiedView = CopiedView(view) if command.private else view
        self._capacity = command.outbox
        self._outbox = CudaView([outbox], [self._capacity], writable=True)
        full_precision()
        self._model = self._built(command, command.files[count + 1 :])
        return Done()

    def _built(self, command: messages.LoadModel, library: Sequence[int]) -> torch.nn.Module | HostFunction:
        candidate = command.candidate
        if candidate.language == "cuda_host":
            return HostFunction(library[0], candidate, self._outputs)
        if command.extension is not None:
            # Not at the top: importing torch's builder asks for devices, and what is forked afterwards can use none.
            from kernelwright.evaluate.python_extension.fast_path import FastPath  # noqa: PLC0415

            FastPath(Path(command.extension.headers), command.extension.gencode).install()
        return model_of(candidate, command.init).cuda()

    def parameters(self, command: messages.TakeParameters) -> Done:
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

    def run(self, command: messages.RunOnDevice) -> messages.Clocked:
        """Call the model once for every list of offsets; results stay on the device until the next run."""
        if command.how.clock == "replay":
            return self._replayed(command)
        calls = [self._arguments(offsets) for offsets in command.calls]
        if command.how.clock == "capture":
            with torch.no_grad():
                self._graph = OneGraph(self._called, calls)
            return messages.Clocked(ns=0)
        self._results = []
        self._poison(len(calls))
        prepare = [partial(self._take_own, offsets) for offsets in command.calls]
        with torch.no_grad():
            self._results, times = timed(self._called, calls, command.how, prepare)
        return times

    def _replayed(self, command: messages.RunOnDevice) -> messages.Clocked:
        """The captured calls once more; without any, an empty question."""
        if not command.calls:
            return messages.Clocked(ns=0)
        self._results = list(self._graph.results)
        return self._graph.replay()

    def export(self, command: messages.Export) -> messages.Exported:
        """Copy the last results to the outbox."""
        results = [[CONTIGUOUS(t) for t in plain(r)] for r in self._results]
        return messages.Exported(results=publish(self._outbox, results, self._capacity))

    def inputs(self, command: messages.DescribeInputs) -> messages.Described:
        """Copy the windows at these offsets to the outbox, for the grader to look for changes."""
        placed = zip(enumerate(command.offsets), command.tensors, strict=True)
        windows = [self._view.tensor(i, o, s) for (i, o), s in placed]
        (tensors,) = publish(self._outbox, [windows], self._capacity)
        return messages.Described(tensors=tensors)

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

    def _arguments(self, offsets: messages.Offsets) -> list[object]:
        tensors = iter(
            [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._workload.tensors, strict=False)]
        )
        return [i.value if isinstance(i, Scalar) else next(tensors) for i in self._workload.inputs]


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = CudaSide()
    handlers: session.Handlers = {
        messages.Open: side.open,
        messages.LoadModel: side.load,
        messages.TakeParameters: side.parameters,
        messages.RunOnDevice: side.run,
        messages.Export: side.export,
        messages.DescribeInputs: side.inputs,
    }
    session.serve(control, handlers)
