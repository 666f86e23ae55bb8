"""The first tier: hardware counters through NVIDIA Nsight Compute's command `ncu`.

Clocks are left as they are, caches are flushed before each replay, and one call is profiled after two unprofiled ones.

The metrics cover the 24 that CUDAForge feeds its judge (arXiv 2511.01884, `ncu_metrics` of its code), with the names that
exist from Turing to Blackwell, and those that tell uncoalesced access, bank conflicts, spills and tails apart. Two of
CUDAForge's names are of older chips: `sm__inst_executed_pipe_fp32` (GA10x and AD10x only; elsewhere fp32 runs in `fma`)
and `smsp__warp_issue_stalled_memory_dependency` (before Volta; since then long_scoreboard and lg_throttle).
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.evaluate.profile.launches import Seen
from kernelwright.evaluate.profile.ncu_output import Instance, Output

PERCENT = 0.01
"""ncu's percentages become shares."""

PROBE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def done(status):
    assert status == 0, status
context, module, function, device = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
done(cuda.cuInit(0))
done(cuda.cuDeviceGet(ctypes.byref(device), 0))
done(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
done(cuda.cuCtxSetCurrent(context))
ptx = b".version 6.4\\n.target sm_70\\n.address_size 64\\n.visible .entry probe() { ret; }\\n\\0"
done(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
done(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"probe"))
done(cuda.cuLaunchKernel(function, *[ctypes.c_uint(n) for n in (1, 1, 1, 32, 1, 1, 0)], None, None, None))
done(cuda.cuCtxSynchronize())
"""
"""The smallest program that ncu can count, run as `python -c`: one empty kernel through the driver, without torch."""
METRIC = "sm__cycles_active.avg"
ADMIN_ONLY = "/proc/driver/nvidia/params"
"""Where the driver says `RmProfilingAdminOnly: 1` when counters are for the administrator."""
PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
"""Where it lies when PATH does not say."""
MOST_LAUNCHES = 64
"""Launches of one call that are profiled: each is replayed about ten times."""
LIMIT_S = 180.0
"""Longest that one run of ncu may take."""
TRIES = 4
"""Runs at most, since each may find metrics that this chip does not know."""
LOG = "ncu.csv"
DENIED = (
    "the driver keeps hardware counters from this user (ERR_NVGPUCTRPERM). Load the nvidia module with "
    "NVreg_RestrictProfilingToAdminUsers=0, or start the container with --cap-add SYS_ADMIN "
    "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
)
BUSY = "another tool holds the counters (DCGM, another profiler): pause it, for example with `dcgmi profile --pause`"


@dataclass(frozen=True)
class Metric:
    """One figure."""

    name: str
    """A field of `Counters`, or of `KernelProfile`."""
    ncu: tuple[str, ...]
    """ncu's names for it, the one for chips up to Hopper first; the first that is known on the device counts."""
    scale: float = 1.0
    """Ours over ncu's, in ncu's base units (bytes, seconds, per cent)."""
    blackwell: tuple[str, ...] = ()
    """Names to try first from compute capability 10 on."""

    def names(self, capability: tuple[int, int]) -> tuple[str, ...]:
        """Names of ncu's in the order in which they should be tried on this chip."""
        return (*self.blackwell, *self.ncu) if capability >= (10, 0) else (*self.ncu, *self.blackwell)


def _stall(ours: str, ncu: str) -> Metric:
    # CUDAForge's own form; each is the share of a resident warp's time.
    return Metric(f"stall_{ours}", (f"smsp__warp_issue_stalled_{ncu}_per_warp_active.pct",), PERCENT)


OF_KERNEL = (
    Metric("duration_us", ("gpu__time_duration.sum",), 1e6),
    Metric("registers", ("launch__registers_per_thread",)),
    Metric("shared_bytes", ("launch__shared_mem_per_block",)),
    Metric("occupancy_theoretical", ("sm__maximum_warps_per_active_cycle_pct",), PERCENT),
    Metric("occupancy_achieved", ("sm__warps_active.avg.pct_of_peak_sustained_active",), PERCENT),
    Metric("waves", ("launch__waves_per_multiprocessor",)),
)
"""What goes into fields of KernelProfile."""

OF_COUNTERS = (
    Metric("cycles", ("sm__cycles_active.avg",)),
    Metric("sm_active_share", ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed",), PERCENT),
    Metric("instructions", ("sm__inst_executed.sum",)),
    Metric("issue_share", ("smsp__issue_active.avg.pct_of_peak_sustained_active",), PERCENT),
    Metric("sm_share", ("sm__throughput.avg.pct_of_peak_sustained_elapsed",), PERCENT),
    Metric(
        "fma_share",
        (
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active",
        ),
        PERCENT,
    ),
    Metric(
        "tensor_share",
        (
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
        ),
        PERCENT,
    ),
    Metric(
        "dram_share",
        (
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
        PERCENT,
    ),
    Metric("dram_gbps", ("dram__bytes.sum.per_second",), 1e-9),
    Metric("dram_read_bytes", ("dram__bytes_read.sum",), blackwell=("dram__bytes_op_read.sum",)),
    Metric("dram_write_bytes", ("dram__bytes_write.sum",), blackwell=("dram__bytes_op_write.sum",)),
    Metric("l1_share", ("l1tex__throughput.avg.pct_of_peak_sustained_active",), PERCENT),
    Metric("l1_hit_share", ("l1tex__t_sector_hit_rate.pct",), PERCENT),
    Metric(
        "l2_share",
        ("lts__throughput.avg.pct_of_peak_sustained_active", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
        PERCENT,
    ),
    Metric("l2_hit_share", ("lts__t_sector_hit_rate.pct",), PERCENT),
    Metric("load_bytes_per_sector", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",)),
    Metric("store_bytes_per_sector", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",)),
    Metric("load_sectors", ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",)),
    Metric("store_sectors", ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",)),
    Metric("load_sectors_per_request", ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",)),
    Metric("local_load_sectors", ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",)),
    Metric("local_store_sectors", ("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",)),
    Metric("shared_wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)),
    Metric("bank_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)),
    _stall("long_scoreboard", "long_scoreboard"),
    _stall("short_scoreboard", "short_scoreboard"),
    _stall("barrier", "barrier"),
    _stall("branch", "branch_resolving"),
    _stall("mio_throttle", "mio_throttle"),
    _stall("lg_throttle", "lg_throttle"),
    _stall("math_throttle", "math_pipe_throttle"),
    Metric("uniform_branch_share", ("smsp__sass_average_branch_targets_threads_uniform.pct",), PERCENT),
    Metric("limit_blocks", ("launch__occupancy_limit_blocks",)),
    Metric("limit_registers", ("launch__occupancy_limit_registers",)),
    Metric("limit_shared", ("launch__occupancy_limit_shared_mem",)),
    Metric("limit_warps", ("launch__occupancy_limit_warps",)),
)
"""What goes into Counters, in its order."""

METRICS = (*OF_KERNEL, *OF_COUNTERS)


def wanted(capability: tuple[int, int], unknown: frozenset[str] = frozenset()) -> dict[str, Metric]:
    """What to ask ncu for on this chip: its name, and the metric that it gives.

    Names in `unknown`, whole or up to the first dot, are passed over.
    """
    asked: dict[str, Metric] = {}
    for metric in METRICS:
        known = (n for n in metric.names(capability) if not {n, n.partition(".")[0]} & unknown)
        name = next(known, None)
        if name is not None:
            asked[name] = metric
    return asked


def find() -> str | None:
    """Path of the command; None where there is none."""
    return shutil.which("ncu") or next((p for p in PLACES if Path(p).exists()), None)


def command(tool: str, target: Sequence[str], capability: tuple[int, int], unknown: frozenset[str]) -> list[str]:
    """What to run, for a target that marks its one profiled call with cudaProfilerStart and cudaProfilerStop."""
    return [
        tool, "--csv", "--page", "raw", "--print-units", "base", "--log-file", LOG,
        "--target-processes", "all", "--replay-mode", "kernel", "--profile-from-start", "off",
        # The device's clocks are nobody's to set, and the caches are cold for the referee's clock as well.
        "--clock-control", "none", "--cache-control", "all",
        "--launch-count", str(MOST_LAUNCHES), "--metrics", ",".join(wanted(capability, unknown)), *target,
    ]  # fmt: skip


def seen_in(output: Output, capability: tuple[int, int], unknown: frozenset[str]) -> list[Seen]:
    """The profiled launches under our names."""
    asked = wanted(capability, unknown)
    return [_seen(instance, asked) for instance in output.instances]


def unanswered(output: Output, capability: tuple[int, int], unknown: frozenset[str]) -> frozenset[str]:
    """Names for which ncu printed no number for any kernel, of metrics that have another name to try."""
    asked = wanted(capability, unknown)
    answered = {name for instance in output.instances for name in instance.values}
    others = {name for name, m in asked.items() if len({*m.ncu, *m.blackwell} - unknown) > 1}
    return frozenset(others - answered) if output.instances else frozenset()


def refusal(output: Output) -> str:
    """Why there are no counters, with the fix; empty when there are."""
    if output.denied:
        return DENIED
    if output.busy and not output.instances:
        return BUSY
    return "" if output.instances else output.problem


def _seen(instance: Instance, asked: Mapping[str, Metric]) -> Seen:
    fields = {m.name: v * m.scale for name, m in asked.items() if (v := instance.values.get(name)) is not None}
    registers, shared = fields.get("registers"), fields.get("shared_bytes")
    return Seen(
        name=instance.kernel,
        duration_us=fields.pop("duration_us", None),
        grid=instance.grid,
        block=instance.block,
        registers=None if registers is None else round(registers),
        shared_bytes=None if shared is None else round(shared),
        fields=fields,
    )
