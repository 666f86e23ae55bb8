"""The metrics of a prompt: every figure that is known of one call, by stable names, each explained once.

A table is never empty: where there is no profiler, the referee's own clock and the device's ceilings still say how much of
the bandwidth a call reaches, how much it computes, and what it could use.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from kernelwright.records.evaluation import Measured
from kernelwright.records.profile import Profile
from kernelwright.records.run import Device

DIGITS = 4
"""Significant digits of a figure that is computed here."""
CALL = ("device", "device_us", "bytes", "flops", "ceilings")
"""What a profile says of the whole call."""
NAMES = {
    "latency_us": "time of one call by the referee's clock, microseconds",
    "achieved_gbps": "compulsory bytes over that time, 10^9 bytes a second",
    "bandwidth_share": "achieved_gbps over the bandwidth that was measured by reading; above 1: a cache holds the data",
    "achieved_gflops": "the reference's arithmetic over that time, 10^9 operations a second",
    "cores": "hardware threads of the CPU, multiprocessors of the GPU",
    "vector_bits": "widest vector registers: of the CPU, and those that a loop's packed instructions use; 0: none",
    "device_us": "device time of one call as the profiler saw it",
    "bytes": "compulsory bytes of one call: inputs read once, outputs written once",
    "flops": "arithmetic operations of the reference",
    "ceilings": "what the device can do at most: origin (measured or published), and the figures that follow",
    "read_gbps": "10^9 bytes a second that a kernel reads which does nothing else",
    "copy_gbps": "10^9 bytes a second of a copy, both directions counted",
    "fp32_tflops": "10^12 operations a second outside the tensor cores",
    "tf32_tflops": "the same in tensor cores, inputs rounded to TF32",
    "bf16_tflops": "the same in tensor cores, bfloat16",
    "launch_us": "device time of one more empty kernel in a busy stream",
    "loops": "innermost loops as the compiler wrote them, the most deeply nested and widest first: instructions of one turn",
    "line": "line of the source that most of the loop belongs to",
    "packed": "instructions on whole vectors; 0 in a loop that computes: it is not vectorised",
    "scalar": "floating-point instructions on one value",
    "fma": "fused multiply-adds among both",
    "loads": "instructions that read memory",
    "stores": "instructions that write memory",
    "gathers": "loads of one address a lane",
    "divisions": "divisions and square roots",
    "stack": "loads and stores of the stack, where values go for which there is no register",
    "calls": "calls of functions, such as a scalar exp",
    "own": "whether it is the candidate's own code; false: a library's, a copy or a fill",
    "launches": "launches in one call",
    "duration_us": "time of all its launches in one call",
    "share": "its share of the call's device time",
    "grid": "blocks",
    "block": "threads of a block",
    "registers": "for each thread",
    "shared_bytes": "shared memory of each block",
    "spill_bytes": "bytes that each thread stores and loads because registers ran out",
    "occupancy_theoretical": "share of a multiprocessor's warps that can be resident",
    "occupancy_achieved": "share that was resident",
    "waves": "the grid over the blocks that the device holds at a time",
    "cycles": "cycles in which a multiprocessor had a warp",
    "sm_active_share": "share of the time in which multiprocessors had a warp; below 1: work ran out on some",
    "instructions": "instructions that warps executed; of a loop: in one turn",
    "issue_share": "share of cycles in which a scheduler issued an instruction",
    "sm_share": "the busiest unit of the multiprocessors, of its peak",
    "fma_share": "the pipes of fp32 arithmetic, of their peak",
    "tensor_share": "the tensor cores, of their peak",
    "dram_share": "device memory, of its peak",
    "dram_gbps": "10^9 bytes a second between device memory and L2",
    "dram_read_bytes": "bytes read from device memory",
    "dram_write_bytes": "bytes written to device memory",
    "l1_share": "L1 with shared memory, of its peak",
    "l1_hit_share": "share of accesses that L1 answered",
    "l2_share": "L2, of its peak",
    "l2_hit_share": "share of accesses that L2 answered",
    "load_bytes_per_sector": "bytes of each 32-byte sector that a load had asked for; 32 is perfectly coalesced",
    "store_bytes_per_sector": "the same of stores",
    "load_sectors": "32-byte sectors that loads from global memory asked for",
    "store_sectors": "the same of stores",
    "load_sectors_per_request": "sectors of each warp-wide load; 4 for coalesced 4-byte accesses, 16 for 16-byte ones",
    "local_load_sectors": "sectors that spilled registers loaded",
    "local_store_sectors": "sectors that spilled registers stored",
    "shared_wavefronts": "passes that shared memory took",
    "bank_conflicts": "passes of those that conflicts cost",
    "stall_long_scoreboard": "share of a warp's time in which it waited for global or local memory",
    "stall_short_scoreboard": "… for shared memory or a special function",
    "stall_barrier": "… for other warps at a barrier",
    "stall_branch": "… for a branch",
    "stall_mio_throttle": "… for the queue of shared memory instructions, which was full",
    "stall_lg_throttle": "… for the queue of global memory instructions, which was full",
    "stall_math_throttle": "… for an arithmetic pipe, which was busy",
    "uniform_branch_share": "share of branches that all threads of a warp took alike",
    "limit_blocks": "blocks that a multiprocessor holds by its slots",
    "limit_registers": "… by registers",
    "limit_shared": "… by shared memory",
    "limit_warps": "… by warps",
}  # fmt: skip
"""What each metric means, with its unit."""


def figures(profile: Profile | None, measured: Measured | None, device: Device | None) -> dict[str, JsonValue]:
    """Every figure that is known: of the call, and of each kernel where a profiler saw any."""
    found: dict[str, JsonValue] = {}
    if profile is not None:
        found |= profile.model_dump(mode="json", exclude_none=True, include=set(CALL))
    machine: dict[str, JsonValue] = {"cores": device.cores} if device is not None else {}
    machine |= {"vector_bits": device.vector_bits} if device is not None and device.vector_bits else {}
    call: dict[str, JsonValue] = {"call": found | _clocked(measured) | machine}
    kernels: dict[str, JsonValue] = {kernel.name: kernel.figures() for kernel in profile.kernels} if profile else {}
    loops: list[JsonValue] = [loop.model_dump(mode="json") for loop in profile.loops] if profile else []
    return call | ({"kernels": kernels} if kernels else {}) | ({"loops": loops} if loops else {})


def _clocked(measured: Measured | None) -> dict[str, JsonValue]:
    """What the referee's clock says of traffic and arithmetic."""
    if measured is None:
        return {}
    took, roofline = measured.timing.latency_us, measured.roofline
    found = {"latency_us": took, "achieved_gbps": roofline.bytes / took / 1e3}
    if roofline.ceiling_gbps:
        found["bandwidth_share"] = found["achieved_gbps"] / roofline.ceiling_gbps
    if roofline.flops:
        found["achieved_gflops"] = roofline.flops / took / 1e3
    return {name: float(f"{value:.{DIGITS}g}") for name, value in found.items()}


def table(shown: Mapping[str, JsonValue]) -> str:
    """The figures as JSON."""
    return json.dumps(shown, indent=1)


def explained(shown: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """A line for each metric that is shown."""
    return tuple(f"{name}: {NAMES[name]}" for name in dict.fromkeys(_keys(shown)) if name in NAMES)


def _keys(shown: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(shown, Mapping):
        for name, value in shown.items():
            yield name
            yield from _keys(value)
    elif isinstance(shown, Iterable) and not isinstance(shown, str):
        for value in shown:
            yield from _keys(value)
