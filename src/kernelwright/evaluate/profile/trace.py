"""The second tier: what the driver recorded of each launch (CUPTI, through torch.profiler). Needs no privilege.

They are recorded in `sides/profiled.py`, in a process that may run foreign code: their record bounds what it can say.
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
