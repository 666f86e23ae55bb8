"""Levels of memory, the yardstick for each, and the floor that no honest kernel undercuts."""

import pytest

from kernelwright.evaluate.backends.cpu import clock as ceiling
from kernelwright.evaluate.backends.cpu.clock import MARGIN, Level, floor_us, level_for, levels, probe


def test_levels_grow_and_memory_is_the_last():
    found = levels()
    assert found[-1].name == "memory"
    assert [level.holds for level in found] == sorted({level.holds for level in found})
    assert len({level.name for level in found}) == len(found)


def test_a_cache_is_measured_with_data_that_it_holds_and_memory_with_data_that_nothing_holds():
    *caches, memory = levels()
    assert all(32768 <= level.probe_bytes <= max(level.holds, 32768) for level in caches)
    assert memory.probe_bytes >= 4 * max((level.holds for level in caches), default=0)
    assert memory.probe_bytes >= 128 << 20


def test_the_smallest_level_that_holds_the_data_is_chosen(monkeypatch):
    made = (Level("L1", 1000, 500), Level("L2", 5000, 2500), Level("memory", 1 << 62, 20000))
    monkeypatch.setattr(ceiling, "levels", lambda: made)
    chosen = [level_for(size).name for size in (0, 1000, 1001, 5000, 5001, 1 << 50)]
    assert chosen == ["L1", "L1", "L2", "L2", "memory", "memory"]


@pytest.mark.parametrize("level", levels(), ids=lambda level: level.name)
def test_the_yardstick_reads_the_level_s_data_in_whole_blocks(level):
    candidate = probe(level)
    values = {d.name: d.value for d in candidate.defines}
    assert values["COUNT"] * 4 == level.probe_bytes
    assert values["COUNT"] % 1024 == 0
    assert values["PASSES"] >= 1
    assert values["PASSES"] * level.probe_bytes >= 32 << 20
    assert candidate.language == "cpp"
    assert f"void {candidate.entry}(" in candidate.source


def test_the_floor_of_a_memory_bound_task_is_its_bytes_at_a_margin_over_what_was_measured():
    assert floor_us(size=15_000_000, flops=0, gbps=10.0, cores=2) == pytest.approx(1000.0)
    assert MARGIN > 1


def test_the_floor_of_a_compute_bound_task_is_its_arithmetic():
    few, many = (floor_us(size=4, flops=10**12, gbps=10.0, cores=n) for n in (1, 4))
    assert few == pytest.approx(4 * many)
    assert few > floor_us(size=4, flops=10**9, gbps=10.0, cores=1)


@pytest.mark.parametrize("larger", [{"size": 200}, {"flops": 10**9}, {"gbps": 5.0}])
def test_the_floor_rises_with_what_must_be_done_and_falls_with_what_the_machine_can(larger):
    base = {"size": 100, "flops": 10, "gbps": 10.0, "cores": 2}
    assert floor_us(**{**base, **larger}) > floor_us(**base)


def test_what_the_caches_may_hold_is_bounded_by_what_cores_can_load_however_busy_the_machine_was():
    few, many = (floor_us(4 << 20, 0, gbps, cores=2, cached=8 << 20, near=4 << 20) for gbps in (0.5, 50.0))
    assert few == many < 4
    assert floor_us(4 << 20, 0, 10.0, cores=2, cached=8 << 20, near=1 << 20) > 2 * few, "a shared cache is further away"
    assert floor_us(12 << 20, 0, 10.0, cores=2, cached=8 << 20) > (4 << 20) / 15e3


def test_nothing_to_do_takes_no_time():
    assert floor_us(0, 0, 10.0, 2) == 0
