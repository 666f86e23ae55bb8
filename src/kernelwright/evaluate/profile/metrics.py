"""The table of hardware counters: our name, ncu's name by generation, and how a raw value becomes ours.

It covers the 24 metrics that CUDAForge feeds its judge (arXiv 2511.01884, `ncu_metrics` of its code), with the names
that exist from Turing to Blackwell, and those that tell uncoalesced access, bank conflicts, spills and tails apart.

Two of CUDAForge's names are of older chips: `sm__inst_executed_pipe_fp32` (GA10x and AD10x only; elsewhere fp32 runs in
`fma`) and `smsp__warp_issue_stalled_memory_dependency` (before Volta; since then long_scoreboard and lg_throttle).
"""

from dataclasses import dataclass

PERCENT = 0.01
"""ncu's percentages become shares."""


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

CUDAFORGE = {
    "sm__cycles_active.avg": "cycles",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_achieved",
    "launch__occupancy_limit_blocks": "limit_blocks",
    "launch__occupancy_limit_registers": "limit_registers",
    "launch__occupancy_limit_shared_mem": "limit_shared",
    "launch__registers_per_thread": "registers",
    "sm__inst_executed.sum": "instructions",
    "sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active": "fma_share",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active": "tensor_share",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_share",
    "dram__bytes.sum.per_second": "dram_gbps",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "dram_share",
    "l1tex__t_sector_hit_rate.pct": "l1_hit_share",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "l1_share",
    "lts__t_sector_hit_rate.pct": "l2_hit_share",
    "lts__throughput.avg.pct_of_peak_sustained_active": "l2_share",
    "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct": "stall_lg_throttle",
    "smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct": "stall_short_scoreboard",
    "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct": "stall_long_scoreboard",
    "smsp__warp_issue_stalled_barrier_per_warp_active.pct": "stall_barrier",
    "smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct": "stall_branch",
    "smsp__sass_average_branch_targets_threads_uniform.pct": "uniform_branch_share",
}
"""CUDAForge's metrics under our names."""


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
