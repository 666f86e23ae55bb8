"""The task's own code on the GPU, in its own process. What differs from `sides.reference`: where tensors live.

Inputs are drawn under `torch.device("cuda")`, so that gigabytes of random numbers cost milliseconds; the arena is mapped
writable here, and draws are put straight into it. The baselines that only a GPU has are made here.
"""

import gc
import socket
import traceback
from functools import partial

import torch

from kernelwright.evaluate.sandbox.cuda_arena import CudaView
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import graphed, session
from kernelwright.evaluate.sides.cuda_calls import clocked, publish
from kernelwright.evaluate.sides.device_clock import Enqueue
from kernelwright.evaluate.sides.reference import COMMANDS, ReferenceSide
from kernelwright.evaluate.sides.values import tensors_of
from kernelwright.records.tensor import TensorSpec

CACHE_BYTES = 16 << 30
"""What this process may keep of freed device memory between two calls."""


class CudaReferenceSide(ReferenceSide):
    """State of this process."""

    def arrange(self, message: Message) -> Message:
        """Map the arena and the outbox."""
        torch.cuda.empty_cache()
        *arena, outbox = message["descriptors"]
        self._view = CudaView(arena, message["sizes"], writable=True)  # type: ignore[assignment]
        self._capacity = int(message["outbox"])
        self._outbox = CudaView([outbox], [self._capacity], writable=True)
        return {}

    def release(self, message: Message) -> Message:
        """Give memory back to the device: of the last results, and of what refers to itself if `collect` says so."""
        self._kept = []
        if message["collect"]:
            gc.collect()
        torch.cuda.empty_cache()
        return {}

    def draw(self, message: Message) -> Message:
        """Draw inputs of one seed into the arena at these offsets."""
        drawn = self._draw(int(message["seed"]))
        self._put([t for t in drawn if isinstance(t, torch.Tensor)], 0, message["offsets"])
        return {"results": []}

    def state(self, message: Message) -> Message:
        """Put the parameters as they were initialised into the arena at these offsets."""
        state = [t.detach() for t in self._models["eager"].state_dict().values()]
        self._put(state, self._first_parameter, message["offsets"])
        return {"results": []}

    def run(self, message: Message) -> Message:
        """Run a variant; results stay on the device until the next run."""
        variant = str(message["variant"])
        calls = [self._window(self._view, offsets) for offsets in message["calls"]]
        if variant.endswith("fp64"):
            calls = [self._doubled(c) for c in calls]
        self._kept = []
        with torch.no_grad():
            prepare = [partial(self._take_own, offsets) for offsets in message["calls"]]
            self._kept, clocks = clocked(self._enqueue(variant, calls), len(calls), message, prepare)
        return {**clocks, "results": [[] for _ in calls]}

    def prepare(self, message: Message) -> Message:
        """As on the CPU; a baseline that cannot be made is no error of the task's, and says why."""
        variant = str(message["variant"])
        if variant == "compile_max":
            # Its CUDA graphs would copy every input in, or be captured anew within the clock: inputs move here.
            self._variants[variant] = torch.compile(self._models["eager"], mode="max-autotune-no-cudagraphs")
        elif variant != "graph":
            return super().prepare(message)
        return self._tried(variant, message["calls"])

    def _tried(self, variant: str, windows: list[list[int]]) -> Message:
        try:
            with torch.no_grad():
                self._kept, _ = clocked(self._enqueue(variant, [self._window(self._view, w) for w in windows]), 1, {})
        except Exception:  # noqa: BLE001 (the task's own code, and the compiler's; told to the grader)
            return {"missing": traceback.format_exc(limit=-1).strip().splitlines()[-1][:300]}
        return {}

    def _enqueue(self, variant: str, calls: list[list[object]]) -> Enqueue:
        if variant == "graph":
            return graphed.captured(self._models["eager"], calls)
        function = self._function(variant)
        return lambda i: function(*calls[i])

    def export(self, message: Message) -> Message:
        """Copy the last results to the outbox; `narrow` rounds fp64 to single precision, which takes half the room."""
        results = [[t.contiguous() for t in tensors_of(value)] for value in self._kept]
        if message["narrow"]:
            self._kept = []
            results = [[t.float() if t.dtype == torch.float64 else t for t in call] for call in results]
        published = publish(self._outbox, results, self._capacity)
        if torch.cuda.memory_reserved() > CACHE_BYTES:
            # The fp64 variant's intermediates are several times the inputs; other processes need that memory.
            self._kept, results = [], []
            torch.cuda.empty_cache()
        return {"results": published}

    def _put(self, tensors: list[torch.Tensor], first: int, offsets: list[int]) -> None:
        specs = [s for s in self._inputs if isinstance(s, TensorSpec)] if first == 0 else self._parameters
        for i, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
            if tuple(tensor.shape) != spec.shape:
                raise ValueError(f"{spec.name} changed its shape from {spec.shape} to {tuple(tensor.shape)}")
            self._view.tensor(first + i, offsets[i], spec).copy_(tensor)
        torch.cuda.synchronize()


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer the grader's questions about the reference."""
    side = CudaReferenceSide(denied, "cuda")
    session.serve(control, {name: getattr(side, name) for name in (*COMMANDS, "export", "release")})
