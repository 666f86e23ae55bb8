"""What holds one kernel back: its occupancy, spills, access patterns, waves, or what its warps wait for.

Each function is one class: it returns a finding or None, with a gain of the *kernel's* time; `bottleneck` weighs it by
the kernel's share. Where a tier lacks what a class needs, there is no finding. Thresholds are named, with where they
come from.
"""

from math import ceil

from kernelwright.feedback.call_limits import BUSY, NEAR_CEILING
from kernelwright.records.feedback import Finding
from kernelwright.records.profile import Ceilings, Counters, KernelProfile

LOW_OCCUPANCY = 0.3
"""Share of warps below which few loads are in flight. Enough depends on the kernel (Volkov, Better Performance at Lower
Occupancy, GTC 2010), so that it counts only where no unit is busy."""
ENOUGH_OCCUPANCY = 0.5
"""From here on more warps rarely help (CUDA C++ Best Practices Guide, section Occupancy)."""
SPILL_TRAFFIC = 0.05
"""Share of sectors that are local memory from which spills cost more than the clock's noise."""
SECTOR = 32.0
"""Bytes of a sector, the smallest piece that memory moves."""
COALESCED = 16.0
"""Bytes used of each sector below which more than half of what is moved is wasted. Asynchronous copies to shared memory
are counted as exactly half (seen on Ampere and Hopper), so that half itself is no evidence."""
MEMORY_PRESSURE = 0.3
"""Share of its peak from which some level of memory is busy enough for wasted sectors to cost time."""
CONFLICTS = 0.25
"""Share of passes through shared memory that are conflicts from which they matter; fewer come from other causes too."""
SHARED_PRESSURE = 0.2
"""Share of the warps' time spent on shared memory from which conflicts cost time."""
TAIL = 0.2
"""Share of the last wave's room that stays empty, over all waves, from which a grid is worth reshaping (Nsight Compute's
launch statistics speak of the tail effect from the same size on)."""
IDLE = 0.9
"""Share of time in which the multiprocessors had work above which there was no tail, whatever the waves say."""
TENSOR_IDLE = 0.05
TENSOR_GAIN = 0.5
"""What a matrix product in fp32 gains by three bf16 products: measured on an H200 at 4096, half of the time."""
ROOM = 0.1
"""Share of a kernel's time that must be left unexplained to speak of waiting."""

STALLS = {
    "stall_long_scoreboard": ("loads from global memory", "Have more loads in flight: wider loads, several elements a "
                              "thread, software pipelining or asynchronous copies into shared memory."),
    "stall_lg_throttle": ("the full queue of memory instructions", "Use fewer and wider memory instructions (16 bytes)."),
    "stall_short_scoreboard": ("shared memory or special functions", "Read shared memory less often: keep values in "
                               "registers, or exchange them by warp shuffles."),
    "stall_mio_throttle": ("the full queue of shared memory instructions", "Use fewer and wider shared memory accesses."),
    "stall_barrier": ("other warps at barriers", "Use fewer barriers or smaller blocks, or reduce within a warp first."),
    "stall_math_throttle": ("a busy arithmetic pipe", "Move work to another pipe, or do less of it."),
    "stall_branch": ("branches", "Make branches uniform in a warp, or replace them by selections."),
}  # fmt: skip
"""What a stall waits for, and what helps."""


def memory(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """Device memory is as busy as it gets while this kernel runs."""
    share, seen = memory_share(kernel, ceilings), kernel.counters
    if share is None or share < NEAR_CEILING or share < (compute_share(seen) or 0.0):
        return None
    rate = f", {seen.dram_gbps:.0f} GB/s" if seen.dram_gbps is not None else ""
    text = f"Memory-bound: device memory is at {share:.0%} of what it can do{rate}."
    advice = "Only moving fewer bytes can help: fuse with neighbours, and read each input once."
    return _found("memory", kernel, max(0.0, 1 - share), text, advice)


def compute(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """A pipe of the multiprocessors is busy, and more so than memory."""
    seen, share = kernel.counters, compute_share(kernel.counters)
    if share is None or share < BUSY or share < (memory_share(kernel, ceilings) or 0.0):
        return None
    text = f"Compute-bound: {_pipe(seen)} at {share:.0%} of the peak."
    if (seen.fma_share or 0.0) >= BUSY and seen.tensor_share is not None and seen.tensor_share < TENSOR_IDLE:
        advice = "The tensor cores are idle: split a matrix product in fp32 into tf32 or bf16 parts (tf32x3, bf16x3)."
        return _found("compute", kernel, max(TENSOR_GAIN, 1 - share), text, advice)
    advice = "Do fewer operations: cheaper forms of functions, and work shared between threads."
    return _found("compute", kernel, 1 - min(share, 1.0), text, advice)


def occupancy(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """Too few warps to hide latency, and no unit is busy."""
    busy = busy_share(kernel, ceilings)
    found = kernel.occupancy_achieved if kernel.occupancy_achieved is not None else kernel.occupancy_theoretical
    possible = kernel.occupancy_theoretical
    if found is None or possible is None or possible >= LOW_OCCUPANCY or (busy is not None and busy >= BUSY):
        return None
    text = f"Occupancy-bound: {found:.0%} of the warps are resident, {possible:.0%} possible, limited by {_limiter(kernel)}"
    text += f"; the busiest unit is at {busy:.0%}." if busy is not None else "."
    advice = (
        "Make room for more warps: smaller tiles, fewer stages, or fewer live values (launch bounds, less unrolling)."
    )
    gain = (1 - busy) * (1 - found / ENOUGH_OCCUPANCY) if busy is not None else None
    return _found("occupancy", kernel, gain, text, advice)


def spills(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """Registers go through local memory; only if that traffic is seen where it can be."""
    seen = kernel.counters
    if seen.local_load_sectors is not None and seen.load_sectors is not None:
        local = seen.local_load_sectors + (seen.local_store_sectors or 0.0)
        total = local + seen.load_sectors + (seen.store_sectors or 0.0)
        share = local / total if total else 0.0
        if share < SPILL_TRAFFIC:
            return None
        gain: float | None = share * max(busy_share(kernel, ceilings) or 0.0, seen.stall_long_scoreboard or 0.0)
        text = f"Register spills: {share:.0%} of the sectors it moves are local memory"
    elif kernel.spill_bytes:
        gain, text = None, f"Register spills: {kernel.spill_bytes} bytes a thread go to local memory"
    else:
        return None
    text += f", at {kernel.registers} registers a thread." if kernel.registers is not None else "."
    advice = (
        "Keep fewer values alive: smaller tiles for each thread, less unrolling, more threads, looser launch bounds."
    )
    return _found("spills", kernel, gain, text, advice)


def uncoalesced(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """Threads of a warp use little of the sectors that they have moved."""
    seen = kernel.counters
    ways = [
        ("loads", seen.load_bytes_per_sector, seen.load_sectors),
        ("stores", seen.store_bytes_per_sector, seen.store_sectors),
    ]
    used = [(name, value, sectors) for name, value, sectors in ways if value is not None and sectors]
    pressure = max((s for s in (seen.dram_share, seen.l2_share, seen.l1_share, seen.stall_long_scoreboard,
                                seen.stall_lg_throttle) if s is not None), default=None)  # fmt: skip
    bad = [(name, value, sectors) for name, value, sectors in used if value < COALESCED]
    if not bad or pressure is None or pressure < MEMORY_PRESSURE:
        return None
    total = sum(sectors for _, _, sectors in used)
    wasted = sum(sectors * (1 - value / SECTOR) for _, value, sectors in bad) / total
    if wasted < SPILL_TRAFFIC:
        return None
    text = "Uncoalesced access: " + " and ".join(
        f"{name} use {value:.1f} of each 32-byte sector" for name, value, _ in bad
    )
    advice = (
        "Let neighbouring threads touch neighbouring addresses: swap loop order, or transpose through shared memory."
    )
    return _found("uncoalesced", kernel, wasted * min(1.0, pressure), text + ".", advice)


def bank_conflicts(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """Shared memory is passed through more often than needed, and that takes time."""
    seen = kernel.counters
    if not seen.shared_wavefronts or seen.bank_conflicts is None:
        return None
    share = seen.bank_conflicts / seen.shared_wavefronts
    stalled = (seen.stall_short_scoreboard or 0.0) + (seen.stall_mio_throttle or 0.0)
    pressure = max(stalled, (seen.l1_share or 0.0) - MEMORY_PRESSURE)
    if share < CONFLICTS or pressure < SHARED_PRESSURE:
        return None
    text = f"Bank conflicts: {share:.0%} of the passes through shared memory are conflicts"
    text += f"; warps wait for it {stalled:.0%} of their time."
    advice = "Pad the rows of the shared tile by one element, or swizzle its columns."
    return _found(
        "bank_conflicts", kernel, min(1.0, share) * min(1.0, max(stalled, seen.l1_share or 0.0)), text, advice
    )


def tail(kernel: KernelProfile, ceilings: Ceilings) -> Finding | None:
    """The last wave of blocks leaves much of the device empty, and no unit is busy all the same."""
    waves, active, busy = kernel.waves, kernel.counters.sm_active_share, busy_share(kernel, ceilings)
    if waves is None or waves <= 0 or (active is not None and active >= IDLE):
        return None
    loss = 1 - waves / ceil(waves)
    if waves < 1:
        # A grid within one wave leaves no tail; whether it reaches every multiprocessor only counters say.
        loss = 1 - active if active is not None else 0.0
    if loss < TAIL or (busy is not None and 1 - busy < ROOM):
        return None
    text = f"Tail effect: {waves:.2f} waves of blocks"
    text += f" leave {loss:.0%} empty." if active is None else f"; multiprocessors have work {active:.0%} of the time."
    advice = (
        "Use smaller blocks or tiles, or split the reduction, so that every multiprocessor has some."
        if waves < 1
        else "Choose a grid that fills whole waves, or let a grid of one wave loop over the tiles (persistent kernel)."
    )
    return _found("tail", kernel, min(loss, 1 - busy) if busy is not None else loss, text, advice)


def latency(kernel: KernelProfile, ceilings: Ceilings, explained: float) -> Finding | None:
    """No unit is busy, and more of the time is left than the other findings explain."""
    busy = busy_share(kernel, ceilings)
    if busy is None or busy >= BUSY or 1 - busy - explained < ROOM:
        return None
    stalls = {name: getattr(kernel.counters, name) or 0.0 for name in STALLS}
    worst = max(stalls, key=lambda name: stalls[name])
    text = f"Latency-bound: the busiest unit is at {busy:.0%} of its peak"
    if not stalls[worst]:
        advice = "Keep more work in flight: wider loads, several elements a thread, more blocks."
        return _found("latency", kernel, 1 - busy - explained, text + ".", advice)
    cause, advice = STALLS[worst]
    text += f"; warps spend {stalls[worst]:.0%} of their time waiting for {cause}."
    return _found("latency", kernel, 1 - busy - explained, text, advice)


RULES = (memory, compute, occupancy, spills, uncoalesced, bank_conflicts, tail)
"""Every class but waiting, which is what the others leave."""


def memory_share(kernel: KernelProfile, ceilings: Ceilings) -> float | None:
    """Device memory of what it can do: of the measured bandwidth where there is one, otherwise of the peak."""
    rate, ceiling = kernel.counters.dram_gbps, max(ceilings.read_gbps or 0.0, ceilings.copy_gbps or 0.0)
    return min(1.0, rate / ceiling) if rate is not None and ceiling else kernel.counters.dram_share


def compute_share(seen: Counters) -> float | None:
    """The busiest arithmetic pipe, of its peak."""
    return max((s for s in (seen.fma_share, seen.tensor_share) if s is not None), default=None)


def busy_share(kernel: KernelProfile, ceilings: Ceilings) -> float | None:
    """The busiest unit of all; None without counters."""
    seen = kernel.counters
    shares = (memory_share(kernel, ceilings), compute_share(seen), seen.l2_share, seen.l1_share, seen.sm_share)
    return max((min(1.0, s) for s in shares if s is not None), default=None)


def _pipe(seen: Counters) -> str:
    return "the tensor cores are" if (seen.tensor_share or 0.0) >= (seen.fma_share or 0.0) else "the fp32 pipes are"


def _limiter(kernel: KernelProfile) -> str:
    seen = kernel.counters
    limits = {
        "registers": seen.limit_registers,
        "shared memory": seen.limit_shared,
        "slots for blocks": seen.limit_blocks,
    }
    known = {name: value for name, value in limits.items() if value}
    if known:
        return min(known, key=lambda name: known[name])
    needs = [f"{kernel.registers} registers a thread"] if kernel.registers is not None else []
    needs += [f"{kernel.shared_bytes} bytes of shared memory a block"] if kernel.shared_bytes else []
    return " and ".join(needs) or "its needs"


def _found(what: str, kernel: KernelProfile, gain: float | None, told: str, advice: str) -> Finding:
    return Finding.model_validate(
        {"bottleneck": what, "kernel": kernel.name, "gain": gain, "evidence": told, "suggestion": advice}
    )
