"""The table of counters is whole: every field has a metric, CUDAForge's list is covered, the page names them all."""

from pathlib import Path

import pytest

from kernelwright.evaluate.profile import ncu
from kernelwright.evaluate.profile.ncu import CUDAFORGE, METRICS, OF_COUNTERS, OF_KERNEL, wanted
from kernelwright.records.profile import Counters, KernelProfile

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
