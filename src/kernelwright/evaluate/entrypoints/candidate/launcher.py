"""The referee's own launcher: device code with a launch plan, run by our host code on our clock (tier one).

Nothing of the candidate but its kernels runs here, in a process of its own all the same: a kernel that faults takes
its context with it. Results go where the grader says, in memory that it poisoned and guarded.
"""

import os
import socket
from collections.abc import Sequence
from functools import partial

import torch
from cuda.bindings import driver

from kernelwright.errors import MachineError
from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.entrypoints.candidate.device_state import DeviceState, finder
from kernelwright.evaluate.entrypoints.candidate.launch_plan import Bound, Places, bind
from kernelwright.evaluate.entrypoints.device_clock import clocked, publish, the_clock
from kernelwright.evaluate.sandbox.cuda_arena import CopiedView, CudaView, check, window
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import candidates
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.records.launch import LaunchPlan

BUSY_NS = 50_000
"""How long the device spins before a call while plans are compared."""
ALIGNED = 16
"""Bytes that a plan may take for granted unless it is made for less."""
TRIES = 7
"""Calls of each plan when the fastest of several is looked for, the first two unmeasured."""


class LauncherSide:
    """State of this process: modules, plans, buffers."""

    def open(self, command: messages.Open) -> Done:
        """Create the context, before there is anything to launch."""
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        the_clock(watched=False)
        return Done()

    def load(self, command: candidates.LoadProgram) -> candidates.ProgramLoaded:
        """Map the arena and the results, load the binaries, and look up every kernel of every plan.

        A plan that cannot be launched here is left out; the answer says why, and is an error if none is left.
        """
        count = len(command.sizes)
        *mapped, outbox = command.files[: count + 1]
        self._view = CudaView(mapped, command.sizes, writable=False)
        self._copies = CopiedView(self._view) if command.private else None
        self._tensors = command.private
        self._outbox_bytes = command.outbox
        self._outbox = CudaView([outbox], [self._outbox_bytes], writable=True)
        self._output_bytes = command.output_bytes
        self._inputs = command.inputs
        self._state = DeviceState(window)
        self._modules = [_module(d, self._state) for d in command.files[count + 1 :]]
        self._faults: list[str] = []
        self._bound = [self._tried_to_bind(p) for p in command.plans]
        self._unaligned = {b.plan.label: b for p in command.unaligned_plans if (b := self._tried_to_bind(p))}
        if not any(self._bound):
            raise RuntimeError(self._faults[0])
        self._chosen = next(i for i, b in enumerate(self._bound) if b)
        return candidates.ProgramLoaded(faults=self._faults)

    def choose(self, command: candidates.ChoosePlan) -> candidates.Chosen:
        """Time every plan on one call and keep the fastest. Several calls, and the smallest of each."""
        times: list[float] = []
        for index, bound in enumerate(self._bound):
            self._chosen = index
            times.append(float("inf") if bound is None else self._timed(command))
        self._chosen = times.index(min(times))
        return candidates.Chosen(index=self._chosen, us=[round(t, 3) for t in times])

    def run(self, command: candidates.LaunchPlans) -> messages.Clocked:
        """Launch once for every list of offsets; results are in the outbox."""
        stream = torch.cuda.current_stream().cuda_stream
        places = [self._places(*call) for call in zip(command.calls, command.outs, strict=True)]
        bound = [self._for(p) for p in places]
        calls = [b.call(p, command.left_out) for b, p in zip(bound, places, strict=True)]

        def put_back(index: int) -> None:
            if command.device_state:
                self._state.put_back(bound[index].workspaces)

        def enqueue(index: int) -> None:
            if command.how.clock == "none":
                put_back(index)
            calls[index](stream)

        prepare = [partial(put_back, i) for i in range(len(calls))]
        _, times = clocked(enqueue, len(calls), command.how, prepare)
        return times

    def _tried_to_bind(self, plan: LaunchPlan) -> Bound | None:
        try:
            return bind(plan, self._modules, self._output_bytes)
        except (MachineError, ValueError) as fault:
            self._faults.append(f"{plan.label or 'the plan'}: {fault}")
            return None

    def _for(self, places: Places) -> Bound:
        """The chosen plan, in its form for inputs that lie where these do."""
        bound = self._bound[self._chosen]
        assert bound is not None
        if any(pointer % ALIGNED for pointer in places["input"]):
            # Where some plans have a form of their own for this, another's right one is better than a wrong one.
            other = next(iter(self._unaligned.values()), bound)
            return self._unaligned.get(bound.plan.label, other)
        return bound

    def _timed(self, command: candidates.ChoosePlan) -> float:
        how = messages.Clocking(clock="each", busy_ns=BUSY_NS)
        once, best = candidates.LaunchPlans(calls=[command.call], outs=[command.outs], how=how), float("inf")
        for attempt in range(TRIES):
            taken = self.run(once).ns / 1000
            best = taken if attempt == 2 else min(best, taken)
        return best

    def inputs(self, command: messages.DescribeInputs) -> messages.Described:
        """Copy the private inputs at these offsets to the outbox, for the grader to look for changes."""
        assert self._copies is not None
        windows = [self._copies.tensor(i, o, self._tensors[i]) for i, o in enumerate(command.offsets)]
        (tensors,) = publish(self._outbox, [windows], self._outbox_bytes)
        return messages.Described(tensors=tensors)

    def _pointer(self, index: int, offset: int) -> int:
        if self._copies is None:
            return self._view.pointer(index) + offset
        return int(self._copies.tensor(index, offset, self._tensors[index]).data_ptr())

    def _places(self, offsets: messages.Offsets, outs: Sequence[int]) -> Places:
        pointers = [self._pointer(i, o) for i, o in enumerate(offsets)]
        base = self._outbox.pointer(0)
        return {
            "input": pointers[: self._inputs],
            "parameter": pointers[self._inputs :],
            "output": [base + o for o in outs],
        }


def _module(descriptor: int, state: DeviceState) -> object:
    image = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    os.close(descriptor)
    module = check(driver.cuModuleLoadData(image))
    state.keep(image, finder(driver, module))
    return module


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = LauncherSide()
    handlers: session.Handlers = {
        messages.Open: side.open,
        candidates.LoadProgram: side.load,
        candidates.ChoosePlan: side.choose,
        candidates.LaunchPlans: side.run,
        messages.DescribeInputs: side.inputs,
    }
    session.serve(control, handlers)
