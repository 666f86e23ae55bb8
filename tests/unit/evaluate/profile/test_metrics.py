"""The table of counters is whole: every field has a metric, CUDAForge's list is covered, the page names them all."""

from pathlib import Path

import pytest

from kernelwright.evaluate.profile import ncu
from kernelwright.evaluate.profile.ncu import METRICS, OF_COUNTERS, OF_KERNEL, wanted
from kernelwright.records.profile import Counters, KernelProfile

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

CHIPS = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
PAGE = Path(__file__).parents[4] / "docs" / "profile.md"


def test_every_counter_has_its_metric_and_every_metric_its_field():
    assert [m.name for m in OF_COUNTERS] == list(Counters.model_fields)
    assert {m.name for m in OF_KERNEL} <= set(KernelProfile.model_fields)


def test_names_are_ncus():
    names = [n for m in METRICS for n in (*m.ncu, *m.blackwell)]
    assert len(names) == len(set(names))
    assert all("__" in n and " " not in n for n in names)


def test_all_24_metrics_of_cudaforge_are_covered():
    assert len(CUDAFORGE) == 24
    assert set(CUDAFORGE.values()) <= {m.name for m in METRICS}


@pytest.mark.parametrize("chip", CHIPS)
def test_each_metric_is_asked_for_once_on_each_chip(chip):
    assert len(wanted(chip)) == len(METRICS)


def test_dram_traffic_has_another_name_from_blackwell_on():
    assert "dram__bytes_read.sum" in wanted((9, 0))
    assert "dram__bytes_op_read.sum" in wanted((10, 0))


def test_a_name_that_the_chip_lacks_gives_way_to_the_next_and_then_to_none():
    first, second, third = next(m for m in METRICS if m.name == "fma_share").ncu
    assert second in wanted((9, 0), frozenset({first}))
    without = wanted((9, 0), frozenset({first, second, third}))
    assert "fma_share" not in {m.name for m in without.values()}


def test_the_command_leaves_clocks_alone_and_asks_for_marked_calls_only():
    command = ncu.command("ncu", ["python", "x"], (9, 0), frozenset())
    assert command[-2:] == ["python", "x"]
    for option, value in (("--clock-control", "none"), ("--profile-from-start", "off"), ("--target-processes", "all")):
        assert command[command.index(option) + 1] == value


def test_the_page_names_every_metric():
    page = PAGE.read_text()
    missing = [m.name for m in METRICS if f"`{m.name}`" not in page]
    missing += [n for m in METRICS for n in (*m.ncu, *m.blackwell) if n not in page]
    assert not missing
