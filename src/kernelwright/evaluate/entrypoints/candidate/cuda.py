"""A candidate on the GPU in its own process: its module or library, its host code, its launches (tier two).

Inputs are windows of device memory mapped without write access; results are copied to the outbox after the clock.
"""

import ctypes
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from kernelwright.evaluate.entrypoints import numerics, session
from kernelwright.evaluate.entrypoints.candidate import poison
from kernelwright.evaluate.entrypoints.candidate.held_calls import HeldCalls, aside
from kernelwright.evaluate.entrypoints.candidate.library_share import library_share
from kernelwright.evaluate.entrypoints.candidate.stream_order import LATE, StreamOrder
from kernelwright.evaluate.entrypoints.captures import OneGraph, let_go
from kernelwright.evaluate.entrypoints.device_clock import Enqueue, Left, clocked, publish, the_clock
from kernelwright.evaluate.sandbox.cuda_arena import CopiedView, CudaView
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import candidates
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.binding import Bound, bind
from kernelwright.evaluate.triton.model import call, model_of, plain, written
from kernelwright.records.candidate import Candidate
from kernelwright.records.tensor import Scalar, TensorSpec

Call = tuple[messages.Offsets, list[object]]
"""Where what it is given lies, and its arguments."""
CONTIGUOUS, CLONE = torch.Tensor.contiguous, torch.Tensor.clone
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

    _graph: OneGraph | None = None
    """Of the calls that were captured last; None: they could not be."""
    _kept: Sequence[Call] = ()
    """These calls, with their arguments."""
    _held: HeldCalls[tuple[torch.Tensor, ...]] | None = None
    """Calls that wait to be released."""

    def __init__(self) -> None:
        self._results: list[tuple[torch.Tensor, ...]] = []
        self._own_results = poison.OwnResults()
        self._taken: messages.Offsets | None = None
        """Where the parameters lie that it was given last."""

    def open(self, command: messages.Open) -> Done:
        """Create the context, before there is a candidate."""
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        the_clock(watched=True)
        return Done()

    def load(self, command: candidates.LoadModel) -> candidates.ModelLoaded:
        """Import the module and build the model on the device."""
        self._workload = command.workload
        self._outputs = command.workload.outputs
        count = len(command.sizes)
        *arena, outbox = command.files[: count + 1]
        view = CudaView(arena, command.sizes, writable=False)
        self._view: CudaView | CopiedView = CopiedView(view) if command.private else view
        self._capacity = command.outbox
        self._outbox = CudaView([outbox], [self._capacity], writable=True)
        numerics.take(command.flags)
        self._source, self._begun = command.candidate.source, numerics.everything()
        self._constant = command.constant
        if command.candidate.language == "cuda_host":
            self._bound: Bound | HostFunction = HostFunction(command.files[count + 1], command.candidate, self._outputs)
            return candidates.ModelLoaded()
        model = self._built(command)
        first = len(self._workload.tensors)
        initial = {p.name: self._view.tensor(first + i, 0, p) for i, p in enumerate(self._workload.parameters)}
        self._bound = bind(model, initial, constants=self._workload.constants)
        return candidates.ModelLoaded(binding=self._bound.told)

    def _built(self, command: candidates.LoadModel) -> torch.nn.Module:
        if command.extension is not None:
            # Not at the top: importing torch's builder asks for devices, and what is forked afterwards can use none.
            from kernelwright.evaluate.python_extension.fast_path import FastPath  # noqa: PLC0415

            FastPath(Path(command.extension.headers), command.extension.gencode).install()
        return model_of(command.candidate, command.init).cuda()

    def flags(self, command: messages.TellPrecision) -> messages.Precision:
        """The flags that the candidate's own code has set."""
        return messages.Precision(flags=numerics.changed(self._begun, self._source))

    def parameters(self, command: messages.TakeParameters) -> Done:
        """Take the parameters from the arena at these offsets."""
        self._take(command.offsets)
        return Done()

    def _take(self, offsets: Sequence[int]) -> None:
        """Once, where parameters are constant: nothing that depends on them alone is to be done again."""
        if self._constant and self._taken == tuple(offsets) and not self._stateful:
            return
        self._taken = tuple(offsets)
        found = self._parameters(offsets)
        if isinstance(self._bound, HostFunction):
            self._bound.load(found)
        else:
            self._bound.give(found)

    def _parameters(self, offsets: Sequence[int]) -> dict[str, torch.Tensor]:
        first = len(self._workload.tensors)
        specs = enumerate(self._workload.parameters)
        return {p.name: self._view.tensor(first + i, offsets[i], p) for i, p in specs}

    def _take_own(self, offsets: Sequence[int]) -> None:
        """The parameters of one call, where it has any."""
        own = offsets[len(self._workload.tensors) :] or (self._taken or () if self._stateful else ())
        if own and not self._packs:
            self._take(own)

    @property
    def _packs(self) -> bool:
        """Whether it takes other parameters by code of its own, which is part of every call then."""
        return isinstance(self._bound, Bound) and self._bound.told.by_method and not self._constant

    @property
    def _stateful(self) -> bool:
        """Whether a call changes parameters that the next one must find as they were; a function is only handed them."""
        names = {p.name for p in self._workload.parameters}
        return isinstance(self._bound, Bound) and any(name in names for name in self._workload.changes)

    def _after(self, inputs: Sequence[object]) -> list[torch.Tensor]:
        """New values of what the last call wrote to, where they are outputs; a function's are among its results."""
        if not isinstance(self._bound, Bound):
            return []
        # Copies of what the next call is given anew.
        return [t.clone() for t in written(self._bound.own, self._workload, inputs)]

    def run(self, command: messages.RunOnDevice) -> messages.Clocked:
        """Call the model once for every list of offsets; results stay on the device until the next run."""
        calls = self._with_arguments(command.calls)
        if command.how.clock == "none" and isinstance(self._bound, Bound):
            self._own_results.look(self._bound.model)
        self._poison(len(calls), command.poison)
        calling = self._calling(calls)
        if command.how.clock != "none" or not command.stream_order:
            return self._computed(calling, calls, command.how)
        order = StreamOrder(calling, len(calls) - 1, the_clock(watched=True).occupy)
        times = self._computed(order, calls, command.how)
        if order.late():
            raise RuntimeError(LATE)
        return times

    def _calling(self, calls: Sequence[Call]) -> Callable[[int], tuple[torch.Tensor, ...]]:
        """What makes call i."""
        anew = self._packs and bool(self._workload.parameters)
        function = self._called_anew if anew else lambda offsets, inputs: self._called(inputs)
        return lambda i: function(*calls[i])

    def _computed(self, calling: Enqueue, calls: Sequence[Call], how: messages.Clocking) -> messages.Clocked:
        """The calls' results, with the times that are asked for."""
        left = Left(lambda i: self._after(calls[i][-1]))
        ready = [partial(self._take_own, offsets) for offsets, _ in calls]
        with torch.no_grad():
            enqueue, prepare = left.around(calling, ready, how, self._stateful)
            values, times = clocked(enqueue, len(calls), how, prepare)
            self._own_results.asked()
            self._results = [(*value, *after) for value, after in zip(values, left.all(len(calls)), strict=True)]  # type: ignore[misc]
        return times

    def _ungraph(self) -> None:
        """No replay follows: what the graph took is free for other calls."""
        self._graph = None
        let_go()

    def capture(self, command: messages.CaptureGraph) -> Done:
        """Make one graph of these calls, whose arguments are kept for a loop of them."""
        calls = self._with_arguments(command.calls)
        self._ungraph()
        self._kept = calls
        with torch.no_grad():
            self._graph = OneGraph(self._whole, calls)
        return Done()

    def hold(self, command: messages.HoldCalls) -> Done:
        """Queue the calls, none of which begins: their arguments too, some of which are copies of what is not there yet."""
        self._ungraph()
        self._kept, self._held = (), None
        calls = command.calls
        self._poison(len(calls), command.poison)
        with torch.no_grad():
            self._held = HeldCalls(lambda i: self._whole(calls[i], self._arguments(calls[i])), len(calls))
        return Done()

    def replay(self, command: messages.Replay) -> Done:
        """The captured calls, the held ones, or a loop of the captured ones.

        Idle: a kernel that does nothing, past the gate: the device turns to this process for it.
        """
        if command.idle:
            aside()
            return Done()
        if command.how == "loop":
            # Nothing is poisoned, nor an argument made: inputs are new, and the loop's time is to be that of its calls.
            self._ungraph()
            self._results = []
            kept = self._kept
            calling = self._calling(kept) if self._stateful else lambda i: self._whole(*kept[i])
            self._computed(calling, kept, messages.Clocking())
            return Done()
        made = self._graph if command.how == "replay" else self._held
        if made is None:
            raise RuntimeError("there are no such calls")
        self._results = [plain(r) for r in made.results]
        made.run()
        return Done()

    def overwrite(self, command: messages.Overwrite) -> Done:
        """Overwrite the last results."""
        self._overwrite()
        return Done()

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

    def share(self, command: candidates.TellLibraryShare) -> candidates.LibraryShare:
        """How much of one call's time on the device is PyTorch's and its libraries'."""
        arguments = self._arguments(command.call)
        with torch.no_grad():
            return library_share(lambda: self._called(arguments), "cuda")

    def _called(self, inputs: Sequence[object]) -> tuple[torch.Tensor, ...]:
        """One call. Its results are looked at while its time runs, so that none can be made later.

        What the model keeps is handed out as a copy, for what is handed out is overwritten before the next question.
        """
        if isinstance(self._bound, HostFunction):
            return self._bound(*inputs)
        results = plain(call(self._bound.model, self._workload, inputs))
        self._own_results.called(self._bound.model)
        return tuple(CLONE(t) if self._own_results.holds(t) else t for t in results)

    def _called_anew(self, offsets: messages.Offsets, inputs: Sequence[object]) -> tuple[torch.Tensor, ...]:
        """One call of a model that packs its own weights, these among them."""
        if own := offsets[len(self._workload.tensors) :]:
            self._take(own)
        return self._called(inputs)

    def _whole(self, offsets: messages.Offsets, inputs: Sequence[object]) -> tuple[torch.Tensor, ...]:
        """One call, with its taking of parameters where it has its own."""
        self._take_own(offsets)
        return self._called_anew(offsets, inputs) if self._packs else self._called(inputs)

    def _poison(self, calls: int, over: bool) -> None:
        """Leave nothing of the last results: neither in them, if the module has them still, nor in what it gets next."""
        if over:
            self._overwrite()
        self._results = []
        poison.ahead(self._outputs, calls, "cuda")

    def _overwrite(self) -> None:
        """Overwrite the last results, except inputs, which nobody can write to."""
        poison.over((t for r in self._results for t in r), lambda t: self._view.holds(t.data_ptr()))
        torch.cuda.synchronize()

    def _with_arguments(self, calls: Sequence[messages.Offsets]) -> list[Call]:
        return [(offsets, self._arguments(offsets)) for offsets in calls]

    def _arguments(self, offsets: messages.Offsets) -> list[object]:
        tensors = iter(
            [self._view.tensor(i, o, s) for (i, o), s in zip(enumerate(offsets), self._workload.tensors, strict=False)]
        )
        changes = self._workload.changes
        return [
            i.value if isinstance(i, Scalar) else next(tensors).clone() if i.name in changes else next(tensors)
            for i in self._workload.inputs
        ]


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = CudaSide()
    handlers: session.Handlers = {
        messages.Open: side.open,
        candidates.LoadModel: side.load,
        messages.TakeParameters: side.parameters,
        messages.RunOnDevice: side.run,
        messages.CaptureGraph: side.capture,
        messages.HoldCalls: side.hold,
        messages.Replay: side.replay,
        messages.Overwrite: side.overwrite,
        messages.Export: side.export,
        messages.DescribeInputs: side.inputs,
        messages.TellPrecision: side.flags,
        candidates.TellLibraryShare: side.share,
    }
    session.serve(control, handlers)
