"""What holds a measured kernel back, judged from its roofline and the compiler's facts.

Decides one word and one sentence. Not covered: hardware counters; where the facts are silent the word
is `unknown`, never a guess.
"""

from typing import NamedTuple

from kernelwright.records.evaluation import Measured
from kernelwright.records.feedback import Bottleneck

NEAR_CEILING = 0.75
"""Share of the measured bandwidth from which more speed must come from moving fewer bytes."""
SHORT_US = 20.0
"""A floor below this is hidden by the fixed price of a call when the kernel takes several times longer."""
INTENSE = 16.0
"""Operations for each compulsory byte beyond which arithmetic, not memory, can be the limit."""


class Limit(NamedTuple):
    """What limits a kernel, and the evidence in words."""

    bottleneck: Bottleneck
    evidence: str


def bottleneck(found: Measured) -> Limit:
    """The most likely limit of a measured kernel."""
    roof, latency = found.roofline, found.timing.latency_us
    bandwidth = f"{roof.achieved_gbps:.1f} of {roof.ceiling_gbps:.1f} GB/s"
    share = f"{roof.fraction:.0%} of the measured bandwidth ({bandwidth})"
    spilled = sum(kernel.spill_bytes or 0 for kernel in found.build.kernels)
    if roof.fraction >= NEAR_CEILING:
        return Limit("memory", f"Memory-bound: it reaches {share}; only moving fewer bytes can help much.")
    if spilled:
        return Limit("latency", f"Latency-bound: {spilled} bytes of registers spill to memory; it reaches {share}.")
    if roof.floor_us < SHORT_US and latency > 4 * roof.floor_us:
        return Limit("launch", f"Overhead-bound: the data needs {roof.floor_us:.1f} us, the call takes {latency:.1f}.")
    if roof.flops > INTENSE * roof.bytes:
        return Limit("compute", f"Compute-bound: {roof.flops / roof.bytes:.0f} operations a byte; it reaches {share}.")
    if roof.fraction < NEAR_CEILING / 2:
        return Limit("latency", f"Latency-bound: it reaches only {share}; more work in flight, wider loads may help.")
    return Limit("unknown", f"It reaches {share}; no single limit stands out.")
