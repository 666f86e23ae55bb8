"""Whether results are complete on the stream that their call was made on: whoever reads them there reads no earlier.

A program that computes on another stream and does not wait for it is right once the whole device has been waited for, and
wrong in any program that goes on at once. So the last call of a question that is only checked is made behind a spin on every
thread of the device: the end of each result is copied on the call's own stream, directly behind the call, and held against
what it is when the device has ended. A kernel that ends sooner than a copy begins is not told; what it gains is nothing, since
the clock counts other streams' work (`device_clock.py`).
"""

from collections.abc import Callable, Sequence

import torch

LOOKED_AT = 1 << 18
"""Elements at the end of a result."""
SPIN_NS = 1_000_000
"""How long the device is kept: longer than the host takes to queue a call and the copies."""
LATE = (
    "a result was not complete on the stream that the call was made on: have that stream wait for the one that computes it "
    "(torch.cuda.current_stream().wait_stream(other))"
)


class StreamOrder:
    """Calls, of which the last one's results are looked at twice."""

    def __init__(
        self, enqueue: Callable[[int], Sequence[torch.Tensor]], last: int, occupy: Callable[[int], None]
    ) -> None:
        self._enqueue, self._last, self._occupy = enqueue, last, occupy
        self._seen: list[torch.Tensor] = []
        self._ends: list[torch.Tensor] = []

    def __call__(self, index: int) -> Sequence[torch.Tensor]:
        """One call."""
        if index != self._last:
            return self._enqueue(index)
        self._occupy(SPIN_NS)
        results = self._enqueue(index)
        self._ends = [_end_of(t) for t in results if t.is_contiguous() and t.numel()]
        self._seen = [t.clone() for t in self._ends]
        return results

    def late(self) -> bool:
        """Whether a result has changed since its stream was done with it; to be asked when the device has ended."""
        return not all(torch.equal(then, now) for then, now in zip(self._seen, self._ends, strict=True))


def _end_of(tensor: torch.Tensor) -> torch.Tensor:
    """Its last elements, as bytes: what is no number equals itself there."""
    return tensor.detach().view(-1)[-LOOKED_AT:].view(torch.uint8)
