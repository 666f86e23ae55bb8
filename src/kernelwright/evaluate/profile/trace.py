"""The second tier: what the driver recorded of each launch (CUPTI, through torch.profiler). Needs no privilege.

Names, times and shapes come from a process that may run untrusted code, so they are checked before they are believed.
`sides/profiled.py` records them.
"""

from collections.abc import Sequence

from kernelwright.evaluate.profile.launches import Seen
from kernelwright.evaluate.sandbox.messages.tools import Activity


def seen_in(activities: Sequence[Activity]) -> list[Seen]:
    """Launches as the child tells of them."""
    return [
        Seen(
            name=one.name,
            duration_us=one.us,
            grid=one.grid,
            block=one.block,
            registers=one.registers,
            shared_bytes=one.shared_bytes,
            count=one.count,
        )
        for one in activities
    ]
