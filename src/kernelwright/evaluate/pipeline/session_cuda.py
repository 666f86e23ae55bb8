"""A session on the GPU: the same cases and seeds, with tensors in shared device memory.

What differs from `session`: inputs lie in VMM allocations, the reference draws straight into them, and results come back
through an outbox of the child's own, copied there after the clock.
"""

from collections.abc import Sequence

import torch

from kernelwright.evaluate.pipeline.session import LINE, Session
from kernelwright.evaluate.profile.clock import MOST_CALLS
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.contestant import Contestant, Found, Ran, TamperedError, found_in, whole
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.verify.regimes import Regime
from kernelwright.records.tensor import TensorSpec

OUTBOX = 4 << 30
"""Most bytes of an outbox for the results of several calls; one fp64 result always fits."""
BUSY_NS_PER_CALL = 60_000
CYCLES_PER_NS = 1.98
"""Of torch's spin kernel, roughly: how long the stream is kept busy so that all calls are queued first."""


class CudaContestant(Contestant):
    """A child whose results are on the device. Its own events are the clock, bounded by the grader's outside."""

    def __init__(self, child: Child, limit_s: float) -> None:
        super().__init__(child, limit_s)
        self.outbox: CudaArena | None = None
        self.outbox_bytes = 0

    def open_outbox(self, size: int) -> int:
        """Allocate it; returns the descriptor for the child."""
        self.outbox = CudaArena([size])
        self.outbox_bytes = self.outbox.layout()[0]
        return self.outbox.descriptors[0]

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> Ran:
        """As `Contestant.run`; results are copied to the outbox in a question of their own, after the clock."""
        busy = 0 if checked else round(len(calls) * BUSY_NS_PER_CALL * CYCLES_PER_NS)
        message: Message = {
            "do": "run", "calls": [list(c) for c in calls], "checked": checked, "variant": variant, "busy_cycles": busy,
        }  # fmt: skip
        reply = self._put(message, (), None)
        exported = self._put({"do": "export"}, (), None)
        try:
            inside = max(1, whole(reply.message["ns"]))
            outside = max(1, reply.outside_ns - whole(reply.message["busy_ns"]))
            results = found_in(exported.message, len(calls))
        except (KeyError, TypeError, ValueError) as error:
            raise TamperedError(f"malformed answer: {error!r}") from None
        return Ran(results, outside, inside, reply.cpu_ns)

    def read(self, found: Found, start: int = 0, count: int | None = None) -> torch.Tensor:
        """Copy a result out of the outbox."""
        if found.address < 0 or self.outbox is None:
            raise TamperedError(f"a result of shape {found.shape} and dtype {found.dtype} does not fit the outbox")
        if found.address % LINE or found.address + found.nbytes > self.outbox_bytes:
            raise TamperedError(f"a result of {found.nbytes} bytes at {found.address} lies outside the outbox")
        result = self.outbox.tensor(0, found.address, TensorSpec(name="", shape=found.shape, dtype=found.dtype))
        return result.clone() if count is None else result.view(-1)[start : start + count].clone()

    def guards_intact(self, found: Found) -> bool:
        """There are none on the device: the child's results are its own allocations."""
        return True

    def close(self) -> None:
        """End the child and free the outbox."""
        super().close()
        if self.outbox is not None:
            self.outbox.close()
            self.outbox = None


class CudaSession(Session):
    """Everything about one task on the GPU."""

    device = "cuda"
    reference: CudaContestant
    cuda_arena: CudaArena

    @property
    def memory(self) -> int:  # type: ignore[override]
        """A little over half of the device's memory: the fp64 reference needs room for its intermediates."""
        return int(torch.cuda.get_device_properties(0).total_memory * 0.52)

    @property
    def pool(self) -> int:  # type: ignore[override]
        """Several times the L2."""
        return 6 * int(torch.cuda.get_device_properties(0).L2_cache_size)

    def outbox_size(self, item_bytes: int = 4) -> int:
        """Room for one call's results at this many bytes an element, and for a sample's calls where that is not much."""
        outputs = self.task.workload.outputs
        one = sum(item_bytes * o.numel + 4096 for o in outputs)
        sample = MOST_CALLS * sum(o.nbytes + 4096 for o in outputs)
        return max(one, min(OUTBOX, sample))

    def most_calls(self) -> int:
        """Calls whose results fit the smallest outbox together."""
        return max(1, min(MOST_CALLS, self.outbox_size() // sum(o.nbytes + 4096 for o in self.task.workload.outputs)))

    def share(self) -> tuple[Message, list[int]]:
        """Sizes and descriptors of the segments."""
        return {"sizes": self.cuda_arena.layout()}, list(self.cuda_arena.descriptors)

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor at a byte offset, in the grader's own writable mapping."""
        return self.cuda_arena.tensor(index, offset, self.tensors[index])

    def close(self) -> None:
        """End the reference and free the inputs."""
        self.reference.close()
        self.cuda_arena.close()

    def _open_arena(self) -> None:
        self.cuda_arena = CudaArena(self._capacities())
        outbox = self.reference.open_outbox(self.outbox_size(8))
        fields, descriptors = self.share()
        message = {"do": "arrange", **fields, "outbox": self.reference.outbox_bytes}
        self.reference.ask(message, [*descriptors, outbox])

    def refresh(self, replayed: Sequence[int] = ()) -> None:
        """As `Session.refresh`; gives the grader's own intermediates back to the device."""
        super().refresh(replayed)
        torch.cuda.empty_cache()

    def _place_draw(self, draw: int) -> list[torch.Tensor]:
        offsets = [draw * t.nbytes for t in self.inputs]
        self.reference.ask({"do": "draw", "seed": self.seeds.new(), "offsets": offsets})
        return [self.view(i, o) for i, o in enumerate(offsets)]

    def _place_regime(self, slot: int, regime: Regime, drawn: Sequence[torch.Tensor]) -> tuple[int, ...]:
        offsets = super()._place_regime(slot, regime, drawn)
        # Another process reads next: what this one has queued must be done.
        torch.cuda.synchronize()
        return offsets

    def _place_parameters(self) -> None:
        super()._place_parameters()
        torch.cuda.synchronize()

    def _place_initial(self) -> None:
        self.reference.ask({"do": "state", "offsets": [0] * len(self.parameters)})
