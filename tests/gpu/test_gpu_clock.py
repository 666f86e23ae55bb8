"""The clock on the device: what a call meets, what it costs to look, every baseline, and what is written beside the time."""

import time
from statistics import median

import gpu_kernels
import pytest
import torch

from kernelwright.evaluate.entrypoints import captures, device_clock
from kernelwright.evaluate.entrypoints.candidate.held_calls import HeldCalls, aside
from kernelwright.evaluate.entrypoints.device_clock import DeviceClock

pytestmark = pytest.mark.gpu
BUSY_NS = 500_000


@pytest.fixture(scope="module")
def clock():
    return DeviceClock(watched=False)


def us(clock, enqueue, calls=15):
    return median(clock.each(enqueue, calls, BUSY_NS)[1].each_ns) / 1000


@pytest.mark.usefixtures("alone")
def test_nothing_costs_little_and_the_same_every_time(clock):
    found = [us(clock, device_clock.nothing) for _ in range(5)]
    assert 0 < min(found) <= max(found) < 15
    assert max(found) < 1.5 * min(found)


@pytest.mark.usefixtures("alone")
def test_the_cache_is_cold_for_every_call(clock):
    x = torch.ones(20 << 18, device="cuda")
    cold = [us(clock, lambda i: x.sum()) for _ in range(3)]
    clock.cold_cache = False
    try:
        warm = [us(clock, lambda i: x.sum()) for _ in range(3)]
    finally:
        clock.cold_cache = True
    assert min(cold) > 1.05 * max(warm)


@pytest.mark.usefixtures("alone")
def test_host_work_hides_behind_the_spin(clock):
    x = torch.ones(1024, device="cuda")

    def slow(index):
        x.add_(1)
        begin = time.perf_counter()
        while time.perf_counter() - begin < 150e-6:
            pass
        x.add_(1)

    assert us(clock, slow) < 60


@pytest.mark.usefixtures("alone")
def test_work_on_another_stream_is_part_of_the_call_of_foreign_host_code():
    clock = DeviceClock(watched=True)
    other = torch.cuda.Stream()

    def aside(index):
        with torch.cuda.stream(other):
            torch.cuda._sleep(2_000_000)

    assert us(clock, aside) > 800


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("size", [1 << 10, 1 << 24])
def test_nothing_is_added_where_no_other_stream_works(size):
    """Whatever a call leaves the multiprocessors configured for."""
    x, m = torch.rand(size, device="cuda"), torch.rand(1024, 1024, device="cuda")
    found = {}
    for name, call in {"sum": x.sum, "product": lambda: m @ m, "softmax": lambda: torch.softmax(m, -1)}.items():
        foreign, own = (us(DeviceClock(watched=w), lambda i, call=call: call()) for w in (True, False))
        found[name] = (foreign, own)
    assert all(abs(foreign - own) < 4 + own / 20 for foreign, own in found.values()), found


@pytest.mark.usefixtures("alone")
def test_held_calls_compute_from_what_is_written_after_they_were_queued():
    x, other = torch.zeros(1 << 20, device="cuda"), torch.cuda.Stream()
    x.fill_(1).add(0)  # what is launched for the first time is loaded, and would wait for the gate
    held = HeldCalls(lambda i: x + i, 3)
    with torch.cuda.stream(other):
        x.fill_(5)
    other.synchronize()
    aside()  # it does not wait for the gate
    held.run()
    assert [float(result.sum()) / x.numel() for result in held.results] == [5, 6, 7]


def test_a_graph_gives_eager_s_results(clock):
    calls = [[torch.randn(512, 512, device="cuda")] for _ in range(4)]
    with torch.no_grad():
        results, clocks = clock.each(captures.captured(lambda x: torch.softmax(x, -1) * 2, calls), 4, BUSY_NS)
    for (x,), got in zip(calls, results, strict=True):
        torch.testing.assert_close(got, torch.softmax(x, -1) * 2)
    assert all(ns > 0 for ns in clocks.each_ns)


def test_graphs_of_many_samples_take_the_memory_of_one_and_give_it_back():
    def sample():
        calls = [[torch.ones(1 << 26, device="cuda")] for _ in range(2)]
        captured = captures.captured(lambda x: torch.softmax(x, -1) * 2, calls)
        return [captured(i) for i in range(2)]

    captures.let_go()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    with torch.no_grad():
        for _ in range(2):
            sample()
        once = torch.cuda.memory_reserved()
        for _ in range(12):
            sample()
    assert once - before >= 1 << 30
    assert torch.cuda.memory_reserved() == once
    captures.let_go()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() - before < 1 << 20


def test_after_what_cannot_be_captured_others_still_can(clock):
    x = torch.ones(512, device="cuda")
    with pytest.raises(RuntimeError):
        captures.captured(lambda x: x.sum().item(), [[x]])
    results, _ = clock.each(captures.captured(lambda x: x + 1, [[x]]), 1, BUSY_NS)
    torch.testing.assert_close(results[0], x + 1)
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before, "the allocator goes on as if something were captured"


def test_beside_the_time_stand_its_circumstances(gpu):
    found = gpu.judge("softmax", gpu_kernels.SOFTMAX, search_blocks=12)
    assert found.outcome == "measured", found
    timing = found.timing
    assert 0 < timing.launch_overhead_us < 15
    assert all(side.call_us > 0 for side in timing.arms)
    assert timing.call_us == next(s.call_us for s in timing.arms if s.name == "candidate")
    assert found.numerics.mode == "as-is"
    assert found.numerics.flags == {"float32_matmul_precision": "highest", "cudnn.allow_tf32": True}
    conditions = timing.conditions
    assert conditions.note or len(conditions.sm_mhz) == len(timing.arms[0].samples_us)
    assert not conditions.note or "NVML" in conditions.note


def test_a_search_times_compile_once_for_the_task(gpu):
    both = {"baselines": ("eager", "compile"), "search_blocks": 12}
    first, second = (gpu.judge("layer_norm", gpu_kernels.LAYER_NORM, **both) for _ in range(2))
    assert not first.timing.against("eager").cached
    assert not second.timing.against("eager").cached
    assert second.timing.against("compile").cached
    assert {s.name for s in second.timing.arms} == {"eager", "candidate"}
    direct, known = first.timing.against("compile").speedup, second.timing.against("compile").speedup
    assert known.low < direct.high
    assert direct.low < known.high


def test_a_final_meets_every_baseline(gpu):
    more = {"baselines": ("eager", "compile"), "final_baselines": ("compile_max", "graph")}
    found = gpu.judge("mse", gpu_kernels.MSE, effort="final", **more)
    assert found.outcome == "measured", found
    named = {v.baseline for v in found.timing.versus} | {told.split(":")[0] for told in found.timing.missing}
    assert named == {"eager", "compile", "compile_max", "graph"}
    assert not any(v.cached for v in found.timing.versus)
    assert "graph" in {v.baseline for v in found.timing.versus}


def test_a_compiler_that_tunes_for_too_long_is_left_out_and_what_is_timed_then_is_right(gpu):
    more = {"baselines": ("eager", "compile"), "final_baselines": ("compile_max", "graph"), "tuning_limit_s": 0.1}
    found = gpu.judge("softmax", gpu_kernels.SOFTMAX, effort="final", **more)
    assert found.outcome == "measured", found
    assert found.timing.missing == ("compile_max: torch.compile was not done tuning after 0.1 s",)
    assert {v.baseline for v in found.timing.versus} == {"eager", "compile", "graph"}
