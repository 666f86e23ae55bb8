"""Profile: what a profiler saw of one candidate on one workload. One schema for every tier; what is missing is None.

Hardware counters have our own stable names, with their units; `docs/profile.md` has ncu's names for them.
`evaluate/profile` takes the figures, and `feedback/bottleneck.py` says what they mean.
"""

from typing import Literal

from pydantic import JsonValue

from kernelwright.records.base import Record
from kernelwright.records.launch import Dim3
from kernelwright.records.measure import BuildFacts, KernelFacts

Tier = Literal["counters", "trace", "compiler"]
"""Where a profile comes from, best first: hardware counters (ncu), the driver's record of launches (CUPTI through
torch.profiler), or nothing but the compiler's own facts."""


class Counters(Record):
    """Hardware counters of one kernel, of its last launch. Shares are from 0 to 1 of what the unit can do at most."""

    cycles: float | None = None
    """Cycles in which a multiprocessor had a warp, mean over multiprocessors."""
    sm_active_share: float | None = None
    """Mean over multiprocessors of the share of time in which they had a warp: below one where work ran out."""
    instructions: float | None = None
    """Instructions that warps executed."""
    issue_share: float | None = None
    """Share of active cycles in which a scheduler issued an instruction."""
    sm_share: float | None = None
    """The busiest unit of the multiprocessors, of its peak."""
    fma_share: float | None = None
    """The pipes of fp32 arithmetic, of their peak."""
    tensor_share: float | None = None
    """The tensor cores, of their peak, in active cycles."""
    dram_share: float | None = None
    """Device memory, of its peak."""
    dram_gbps: float | None = None
    """10^9 bytes a second between device memory and L2, both directions."""
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l1_share: float | None = None
    """L1 with shared memory, of its peak, in active cycles."""
    l1_hit_share: float | None = None
    l2_share: float | None = None
    """L2, of its peak, in active cycles."""
    l2_hit_share: float | None = None
    load_bytes_per_sector: float | None = None
    """Bytes of each 32-byte sector that the threads of a load had asked for: 32 is perfectly coalesced."""
    store_bytes_per_sector: float | None = None
    load_sectors: float | None = None
    """32-byte sectors that loads from global memory asked the L1 for."""
    store_sectors: float | None = None
    load_sectors_per_request: float | None = None
    """Sectors for each warp-wide load: 4 for coalesced 4-byte accesses, 16 for 16-byte ones."""
    local_load_sectors: float | None = None
    """Sectors of local memory, where registers are spilled to, that were loaded."""
    local_store_sectors: float | None = None
    shared_wavefronts: float | None = None
    """Passes that shared memory took."""
    bank_conflicts: float | None = None
    """Passes of those that would not have been needed without conflicts."""
    stall_long_scoreboard: float | None = None
    """Share of a resident warp's time in which it waited for global or local memory. The next ones likewise."""
    stall_short_scoreboard: float | None = None
    """… for shared memory or a special function."""
    stall_barrier: float | None = None
    """… for other warps at a barrier."""
    stall_branch: float | None = None
    """… for a branch to be resolved."""
    stall_mio_throttle: float | None = None
    """… for the queue of shared memory instructions, which was full."""
    stall_lg_throttle: float | None = None
    """… for the queue of global and local memory instructions, which was full."""
    stall_math_throttle: float | None = None
    """… for an arithmetic pipe, which was busy."""
    uniform_branch_share: float | None = None
    """Share of branches that all threads of the warp took alike."""
    limit_blocks: float | None = None
    """Blocks that one multiprocessor can hold: by its own number of slots. The next ones likewise."""
    limit_registers: float | None = None
    """… by registers."""
    limit_shared: float | None = None
    """… by shared memory."""
    limit_warps: float | None = None
    """… by warps."""


class KernelProfile(Record):
    """One kernel of the candidate's call: all launches under one name with one shape."""

    name: str
    """Without arguments; template arguments are kept."""
    own: bool | None = None
    """The candidate's own device code; False: a library's (cuBLAS, cuDNN, ATen), a copy or a fill; None: not known."""
    launches: int | None = None
    """In one call."""
    duration_us: float | None = None
    """Time of all its launches in one call together."""
    share: float | None = None
    """Share of the call's device time, 0 to 1."""
    grid: Dim3 | None = None
    """Blocks."""
    block: Dim3 | None = None
    """Threads."""
    registers: int | None = None
    """For each thread."""
    shared_bytes: int | None = None
    """For each block, static and dynamic."""
    spill_bytes: int | None = None
    """Stores and loads by spills in the code of each thread, as the compiler counts them."""
    occupancy_theoretical: float | None = None
    """Share of the multiprocessor's warps that can be resident, 0 to 1."""
    occupancy_achieved: float | None = None
    """Share that was resident, mean over active cycles."""
    waves: float | None = None
    """Grid over the blocks that the device holds at a time."""
    counters: Counters = Counters()

    @classmethod
    def of(cls, facts: KernelFacts) -> "KernelProfile":
        """What the compiler alone says of a kernel."""
        return cls(
            name=facts.name,
            own=True,
            registers=facts.registers,
            shared_bytes=facts.shared_bytes,
            spill_bytes=facts.spill_bytes,
            occupancy_theoretical=facts.occupancy,
        )

    def figures(self) -> dict[str, JsonValue]:
        """Everything that is known of it but its name, by our stable names, its counters among them; as JSON has it."""
        known: dict[str, JsonValue] = self.model_dump(mode="json", exclude_none=True, exclude={"name", "counters"})
        return known | self.counters.model_dump(mode="json", exclude_none=True)


class LoopProfile(Record):
    """An innermost loop of a CPU's code, as the compiler wrote it: instructions of one turn, counted."""

    line: int
    """Of the source, which most of it belongs to; 0: not known."""
    instructions: int
    vector_bits: int
    """Widest registers that its packed instructions use; 0: it is not vectorised."""
    packed: int
    """Instructions on whole vectors."""
    scalar: int
    """Floating-point instructions on one value."""
    fma: int
    """Fused multiply-adds among both."""
    loads: int
    stores: int
    gathers: int
    """Loads of one address a lane."""
    divisions: int
    """Divisions and square roots."""
    stack: int
    """Loads and stores of the stack, where values go for which there is no register."""
    calls: int
    """Of functions, such as a scalar `exp`."""


class Ceilings(Record):
    """What the device can do at most; None where it was not measured or is not known."""

    origin: Literal["measured", "published"] = "measured"
    """`published`: a vendor's figures for an architecture that is not here."""
    read_gbps: float | None = None
    """10^9 bytes a second that a kernel reads which does nothing else."""
    copy_gbps: float | None = None
    """10^9 bytes a second of a copy, read and written bytes counted."""
    fp32_tflops: float | None = None
    """10^12 operations a second outside the tensor cores. The next two within them."""
    tf32_tflops: float | None = None
    bf16_tflops: float | None = None
    launch_us: float | None = None
    """Device time that one more empty kernel costs in a stream that is kept busy."""


class Profile(Record):
    """What is known of where one call's time goes."""

    task: str
    """Id of the task."""
    candidate: str
    """Id of the candidate."""
    workload: int = 0
    """Position among the task's workloads."""
    tier: Tier
    device: str
    """Name of the device, or the architecture that was compiled for."""
    multiprocessors: int | None = None
    """How many the device has; None on a CPU."""
    kernels: tuple[KernelProfile, ...] = ()
    """In the order of their share, the largest first; the compiler's order where there are no times."""
    device_us: float | None = None
    """Device time of one call, all kernels together, as the profiler saw it; it disturbs, and is not the clock."""
    bytes: int | None = None
    """Compulsory bytes of one call."""
    flops: int | None = None
    """Arithmetic operations of the reference."""
    ceilings: Ceilings = Ceilings()
    loops: tuple[LoopProfile, ...] = ()
    """Innermost loops of a CPU's code, the most deeply nested and widest first."""
    notes: tuple[str, ...] = ()
    """Why it is of no better tier, what a figure leaves out, in which jail it was taken."""

    @property
    def own_share(self) -> float | None:
        """Share of device time in the candidate's own kernels; None where some kernel's owner or time is not known."""
        if not self.kernels or any(k.own is None or k.share is None for k in self.kernels):
            return None
        return sum(k.share or 0.0 for k in self.kernels if k.own)


def compiled(task: str, candidate: str, device: str, build: BuildFacts | None, *notes: str) -> Profile:
    """The lowest tier: the compiler's facts, and why there is no more."""
    kernels = tuple(KernelProfile.of(facts) for facts in build.kernels) if build else ()
    return Profile(task=task, candidate=candidate, tier="compiler", device=device, kernels=kernels, notes=notes)
