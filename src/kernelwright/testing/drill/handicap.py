"""Handicaps: ways to make a good kernel slow whose bottleneck is known and told by the referee's own diagnosis.

Decides which handicaps a task can have and what each eases. Refuses to know sources: `handicap_cpp` and
`handicap_triton` write them.
"""

from collections.abc import Collection
from typing import NamedTuple

from kernelwright.devices import kinds
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.task import Task

SHORT_BYTES = 400_000
"""Compulsory bytes below which a CPU's call is so short that its fixed price is what the diagnosis names."""


class Handicap(NamedTuple):
    """One way to be slow."""

    name: str
    bottleneck: Bottleneck
    """What it makes the kernel wait for; only a prompt that names this lifts it."""
    note: str
    blurred: Bottleneck | None = None
    """What a referee without counters may call it instead; this lifts it too."""


WAITING = (
    Handicap(
        "division_chain",
        "latency",
        "every element waits for divisions of which each waits for the one before",
        "launch",
    ),
    Handicap(
        "product_chain", "latency", "every element waits for products of which each waits for the one before", "launch"
    ),
    Handicap(
        "root_chain", "latency", "every element waits for square roots of which each waits for the one before", "launch"
    ),
)
"""For a call of a CPU that is long enough to reach a ceiling. Waiting is called overhead where the data itself would be
there within a few microseconds, and how large it may be for that, each machine's caches decide."""
OVERHEAD = (
    Handicap("empty_regions", "launch", "parallel regions are opened that have nothing to do", "latency"),
    Handicap("scratch_memory", "launch", "memory is allocated, touched and freed in each call", "latency"),
    Handicap("extra_barriers", "launch", "threads meet at barriers before there is anything to share", "latency"),
)
"""For a short call of a CPU."""
DEVICE = (
    Handicap("few_programs", "latency", "a dozen programs take all tiles, and the device stands empty"),
    Handicap("dependent_chain", "latency", "every program waits for a chain of square roots before it begins"),
    Handicap("extra_launches", "launch", "kernels are launched that have next to nothing to do"),
)
"""For a GPU."""


def handicaps(task: Task) -> tuple[Handicap, ...]:
    """Those that a task's kernels can have."""
    if kinds()[task.target.kind].gpu:
        return DEVICE
    return OVERHEAD if task.workload.compulsory_bytes < SHORT_BYTES else WAITING


def eased(by: Collection[Bottleneck], among: Collection[Handicap]) -> Handicap | None:
    """The first handicap that a named bottleneck is about: the very one, the broad class of it, or what it is taken for."""
    return next((h for h in among if {h.bottleneck, BROADER.get(h.bottleneck), h.blurred} & set(by)), None)
