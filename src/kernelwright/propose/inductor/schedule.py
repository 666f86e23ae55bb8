"""What is free in a candidate that Inductor wrote: Inductor's own settings, and how its kernels are launched."""

from typing import Any, Literal

from kernelwright.propose.author.ir.space import Option, Space
from kernelwright.records.base import Record
from kernelwright.records.lowering import LoweredKernel, Options

MOST_SETTINGS = 12
"""Settings of one kernel that are open: those that Inductor would choose among, and what lies beside its first."""
LARGEST_BLOCK, MOST_WARPS = 16384, 16
Scale = Literal["quarter", "half", "usual", "double", "fourfold"]
SCALES: dict[Scale, float] = {"quarter": 0.25, "half": 0.5, "usual": 1.0, "double": 2.0, "fourfold": 4.0}

SCALAR = 1
"""Bits for Inductor that stand for no vectors."""
BASE: dict[str, Options] = {
    "triton": {"triton.mix_order_reduction": False, "combo_kernels": False, "allow_buffer_reuse": True},
    "cpp": {"cpp.dynamic_threads": False},
}
"""Under which settings Inductor is asked, whatever is varied: those whose kernels can be launched without it."""
VARIANTS: dict[str, dict[str, Options]] = {
    "triton": {
        "usual": {},
        "looped": {"triton.persistent_reductions": False},
        "unsplit": {"split_reductions": False},
        "two-pass-softmax": {"online_softmax": False},
        "fused": {"aggressive_fusion": True},
        "flat": {"triton.max_tiles": 1},
    },
    "cpp": {
        "usual": {},
        "fused": {"aggressive_fusion": True},
        "large-chunks": {"cpp.min_chunk_size": 1 << 16},
        "unsplit": {"split_reductions": False},
        "two-pass-softmax": {"online_softmax": False},
    },
}
"""By language and name, settings of Inductor's under which it writes another program for the same task."""


class TritonLaunches(Record):
    """Degrees of freedom of Triton kernels, the same for all of them; a table in the source has each kernel's own."""

    variant: str = "usual"
    blocks: Scale = "usual"
    """Against the size that Inductor would try first."""
    warps: Scale = "usual"
    stages: int = 0
    """Loads that a loop keeps in flight; 0: as Inductor has it."""


class CppLoops(Record):
    """Degrees of freedom of C++ kernels."""

    variant: str = "usual"
    vector_bits: Literal[256, 512] = 512
    """Of the registers that Inductor writes for; a CPU without them gets scalar loops."""
    unrolled: Literal[0, 1] = 0


Launching = TritonLaunches | CppLoops
SPACES: dict[str, Space[Any]] = {
    "triton": Space(
        TritonLaunches,
        (
            Option("variant", tuple(VARIANTS["triton"]), "memory"),
            Option("blocks", tuple(SCALES), "memory"),
            Option("warps", ("half", "usual", "double"), "latency"),
            Option("stages", (0, 2, 3, 4), "memory"),
        ),
    ),
    "cpp": Space(
        CppLoops,
        (
            Option("variant", tuple(VARIANTS["cpp"]), "memory"),
            Option("vector_bits", (256, 512), "compute"),
            Option("unrolled", (0, 1), "compute"),
        ),
    ),
}


def options_of(schedule: Launching) -> list[Options]:
    """Inductor's settings for a schedule: those to ask with first, and then what to fall back on."""
    if isinstance(schedule, TritonLaunches):
        return [{**BASE["triton"], **VARIANTS["triton"].get(schedule.variant, {})}]
    usual = {**BASE["cpp"], **VARIANTS["cpp"].get(schedule.variant, {})}
    return [{**usual, "cpp.simdlen": bits} for bits in (schedule.vector_bits, SCALAR)]


def settings_of(kernel: LoweredKernel, launches: TritonLaunches) -> tuple[dict[str, int], ...]:
    """The settings that stay open for one kernel, all different: first Inductor's own first one, as the schedule scales it."""
    scaled = [_scaled(one, launches) for one in kernel.settings]
    first = scaled[0]
    beside = [_times(first, block=b, warps=w) for b, w in ((1, 0.5), (1, 2), (0.5, 1), (2, 1), (0.5, 0.5), (2, 2))]
    unique = {tuple(sorted(one.items())): one for one in [*scaled, *beside]}
    return tuple(unique.values())[:MOST_SETTINGS]


def _scaled(setting: dict[str, int], launches: TritonLaunches) -> dict[str, int]:
    found = _times(setting, block=SCALES[launches.blocks], warps=SCALES[launches.warps])
    return {**found, "num_stages": launches.stages} if launches.stages else found


def _times(setting: dict[str, int], block: float, warps: float) -> dict[str, int]:
    """The setting with its largest block, and its warps, times a power of two."""
    blocks = [name for name in setting if name.endswith("BLOCK")]
    largest = max(blocks, key=lambda name: setting[name], default=None)
    found = dict(setting)
    if largest is not None:
        found[largest] = max(1, min(LARGEST_BLOCK, int(setting[largest] * block)))
    found["num_warps"] = max(1, min(MOST_WARPS, int(setting["num_warps"] * warps)))
    return found
