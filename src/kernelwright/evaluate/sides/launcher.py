"""The referee's own launcher: device code with a launch plan, run by our host code on our clock (tier one).

Nothing of the candidate but its kernels runs here, in a process of its own all the same: a kernel that faults takes
its context with it. Results go where the grader says, in memory that it poisoned and guarded.
"""

import os
import socket

import torch
from cuda.bindings import driver

from kernelwright.errors import MachineError
from kernelwright.evaluate.sandbox.cuda_arena import CopiedView, CudaView, check
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.cuda_calls import clocked, publish, the_clock
from kernelwright.evaluate.sides.launch_plan import Bound, Places, bind
from kernelwright.evaluate.sides.memory import tensor_specs
from kernelwright.records.launch import LaunchPlan

BUSY_NS = 50_000
"""How long the device spins before a call while plans are compared."""
ALIGNED = 16
"""Bytes that a plan may take for granted unless it is made for less."""
TRIES = 7
"""Calls of each plan when the fastest of several is looked for, the first two unmeasured."""


class LauncherSide:
    """State of this process: modules, plans, buffers."""

    def open(self, message: Message) -> Message:
        """Create the context, before there is anything to launch."""
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        the_clock(watched=False)
        return {}

    def load(self, message: Message) -> Message:
        """Map the arena and the results, load the binaries, and look up every kernel of every plan.

        A plan that cannot be launched here is left out; the answer says why, and is an error if none is left.
        """
        count = len(message["sizes"])
        *mapped, outbox = message["descriptors"][: count + 1]
        self._view = CudaView(mapped, message["sizes"], writable=False)
        self._copies = CopiedView(self._view) if message.get("private") else None
        self._tensors = tensor_specs(message, "tensors") if message.get("private") else []
        self._outbox_bytes = int(message["outbox"])
        self._outbox = CudaView([outbox], [self._outbox_bytes], writable=True)
        self._output_bytes = [int(n) for n in message["output_bytes"]]
        self._inputs = int(message["inputs"])
        self._modules = [_module(d) for d in message["descriptors"][count + 1 :]]
        self._faults: list[str] = []
        self._bound = [self._tried_to_bind(d) for d in message["plans"]]
        self._unaligned = {b.plan.label: b for d in message["unaligned_plans"] if (b := self._tried_to_bind(d))}
        if not any(self._bound):
            raise RuntimeError(self._faults[0])
        self._chosen = next(i for i, b in enumerate(self._bound) if b)
        return {"faults": self._faults, "launchable": [b is not None for b in self._bound]}

    def choose(self, message: Message) -> Message:
        """Time every plan on one call and keep the fastest. Several calls, and the smallest of each."""
        times: list[float] = []
        for index, bound in enumerate(self._bound):
            self._chosen = index
            times.append(float("inf") if bound is None else self._timed(message))
        self._chosen = times.index(min(times))
        return {"chosen": self._chosen, "us": [round(t, 3) for t in times]}

    def run(self, message: Message) -> Message:
        """Launch once for every list of offsets; results are in the outbox."""
        stream = torch.cuda.current_stream().cuda_stream
        left_out = message.get("left_out", ())
        places = [self._places(*call) for call in zip(message["calls"], message["outs"], strict=True)]
        calls = [self._for(p).call(p, left_out) for p in places]
        _, clocks = clocked(lambda i: calls[i](stream), len(calls), message)
        return {**clocks, "results": []}

    def _tried_to_bind(self, described: Message) -> Bound | None:
        plan = LaunchPlan.model_validate(described)
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

    def _timed(self, message: Message) -> float:
        best = float("inf")
        for attempt in range(TRIES):
            taken = self.run({**message, "clock": "each", "busy_ns": BUSY_NS})["ns"] / 1000
            best = taken if attempt == 2 else min(best, taken)
        return best

    def inputs(self, message: Message) -> Message:
        """Copy the private inputs at these offsets to the outbox, for the grader to look for changes."""
        assert self._copies is not None
        windows = [self._copies.tensor(i, int(o), self._tensors[i]) for i, o in enumerate(message["offsets"])]
        return {"results": publish(self._outbox, [windows], self._outbox_bytes)}

    def _pointer(self, index: int, offset: int) -> int:
        if self._copies is None:
            return self._view.pointer(index) + offset
        return int(self._copies.tensor(index, offset, self._tensors[index]).data_ptr())

    def _places(self, offsets: list[int], outs: list[int]) -> Places:
        pointers = [self._pointer(i, o) for i, o in enumerate(offsets)]
        base = self._outbox.pointer(0)
        return {
            "input": pointers[: self._inputs],
            "parameter": pointers[self._inputs :],
            "output": [base + o for o in outs],
        }


def _module(descriptor: int) -> object:
    image = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    os.close(descriptor)
    return check(driver.cuModuleLoadData(image))


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `open`, `load`, `choose`, `run` and `inputs`."""
    side = LauncherSide()
    session.serve(control, {n: getattr(side, n) for n in ("open", "load", "choose", "run", "inputs")})
