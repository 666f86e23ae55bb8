"""Whom a candidate is timed against, and what a baseline that is known from an earlier contest may say."""

import dataclasses
from types import SimpleNamespace

import pytest

from kernelwright.evaluate.backends.cpu.clock import CpuClock
from kernelwright.evaluate.pipeline import baselines, timing_sanity
from kernelwright.evaluate.sandbox.compute_process import TimedRun
from kernelwright.evaluate.sandbox.messages.calls import Prepared
from kernelwright.evaluate.timing.clock import Samples
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.records.policy import Policy

GPU = SimpleNamespace(baselines=("eager", "compile", "compile_max", "graph"), keeps_baselines=True)
CPU = CpuClock(None)
RULE = Stopping(("eager", "compile"), 24, 0.99, 0.015, 0.02)
SAMPLES = {"eager": [20.0] * 16, "compile": [10.0 + i % 3 / 100 for i in range(16)], "candidate": [8.0] * 16}


def session(**options):
    return SimpleNamespace(known={}, policy=Policy(**options))


def test_a_search_names_eager_and_compile_and_a_final_on_a_gpu_all_four():
    assert baselines.asked(Policy(), "search", GPU) == ("eager", "compile")
    assert baselines.asked(Policy(), "final", GPU) == ("eager", "compile", "compile_max", "graph")
    assert baselines.asked(Policy(), "final", CPU) == ("eager", "compile")
    assert baselines.asked(Policy(final_baselines=("eager", "graph")), "final", GPU) == ("eager", "compile", "graph")


def test_a_known_baseline_is_not_timed_again_in_a_search():
    known = session()
    assert baselines.to_time(known, ("eager", "compile"), "search", GPU) == ["eager", "compile"]
    baselines.remember(known, SAMPLES, RULE)
    assert baselines.to_time(known, ("eager", "compile"), "search", GPU) == ["eager"]
    assert baselines.to_time(known, ("eager", "compile"), "final", GPU) == ["eager", "compile"]


@pytest.mark.parametrize(
    ("other", "clock"), [(session(), CPU), (session(cached_baselines=False), GPU)], ids=["cpu", "switched off"]
)
def test_where_baselines_are_not_cached_all_are_timed(other, clock):
    baselines.remember(other, SAMPLES, RULE)
    assert baselines.to_time(other, ("eager", "compile"), "search", clock) == ["eager", "compile"]


def test_of_two_kernels_beside_serial_code_the_quicker_is_the_faster_whatever_the_host_does():
    noisy, here = SimpleNamespace(serial_us={}), {"candidate": [8.0 + i % 3 / 100 for i in range(16)]}
    slow = baselines.over_serial(noisy, "search", {**here, "eager": [20000.0 + 900 * (i % 5) for i in range(16)]}, RULE)
    fast = baselines.over_serial(noisy, "search", {"candidate": [7.0] * 16, "eager": [15000.0] * 16}, RULE)
    assert not slow.cached
    assert fast.cached
    assert slow.speedup.median == pytest.approx(21800 / 8.01)
    assert fast.speedup.median / slow.speedup.median == pytest.approx(8.01 / 7.0)
    assert slow.speedup.low <= 20000 / 8.02
    assert slow.speedup.high >= 23600 / 8.0
    assert slow.speedup.confidence == pytest.approx(0.99)
    final = baselines.over_serial(noisy, "final", {"candidate": [7.0] * 16, "eager": [15000.0] * 16}, RULE)
    assert final.speedup.median == pytest.approx(15000 / 7.0)
    assert not final.cached


def test_by_way_of_eager_the_speedup_is_the_same_wider_and_marked():
    known = session()
    baselines.remember(known, SAMPLES, RULE)
    direct = RULE.versus(SAMPLES, "compile")
    found = baselines.through_eager(known.known["compile"], "compile", SAMPLES, RULE)
    assert found.cached
    assert not direct.cached
    assert found.speedup.median == pytest.approx(direct.speedup.median)
    assert found.speedup.width >= direct.speedup.width
    assert found.speedup.confidence == pytest.approx(0.99)
    assert found.verdict == direct.verdict == "faster"


def test_a_baseline_that_cannot_be_made_is_left_out_with_its_reason():
    why = {"eager": "", "graph": "RuntimeError: operation not permitted when stream is capturing"}
    asked = SimpleNamespace(prepared=why, gone={})
    names, missing = baselines.made(asked, ("eager", "graph"))
    assert names == ["eager"]
    assert missing == (f"graph: {why['graph']}",)


def test_the_compiler_may_tune_as_long_as_the_policy_says_and_what_is_not_done_is_named():
    asked = []

    def ask(command, limit_s):
        asked.append((command.limit_s, limit_s))
        return Prepared(missing="torch.compile was not done tuning after 7 s")

    case = SimpleNamespace(offsets=(0,))
    tuned = SimpleNamespace(
        prepared={},
        gone={},
        policy=Policy(tuning_limit_s=7.0),
        cases=[case],
        inputs=[None],
        reference=SimpleNamespace(ask=ask),
    )
    for _ in range(2):
        names, missing = baselines.made(tuned, ("eager", "compile_max"))
        assert names == ["eager"]
        assert missing == ("compile_max: torch.compile was not done tuning after 7 s",)
    assert asked == [(7.0, 607.0)]
    baselines.try_again(tuned)
    baselines.made(tuned, ("compile_max",))
    assert len(asked) == 2


def device_sample(each_us, hidden_us, calls=10):
    each = (round(each_us * 1000),) * calls
    return TimedRun((), sum(each) + round(hidden_us * 1000) * calls, sum(each), 0, each)


def disagrees(candidate, eager, copies=False):
    samples = Samples({}, 10, {"candidate": candidate, "eager": eager}, {})
    return timing_sanity.clock_disagrees(samples, copies)


def test_on_a_device_preparation_is_not_held_against_anybody():
    assert disagrees(device_sample(10, 260), device_sample(500, 250)) is None
    assert disagrees(device_sample(900, 250), device_sample(3000, 255)) is None


def test_on_a_device_events_that_leave_work_out_are_seen_from_outside():
    found = disagrees(device_sample(500, 1250), device_sample(1000, 250))
    assert found is not None
    assert found.because == "clock_disagrees"
    assert disagrees(device_sample(5, 505), device_sample(40, 250)) is not None


def test_on_a_device_eager_s_copies_of_parameters_hide_nothing_of_a_candidate_that_has_none():
    eager = dataclasses.replace(device_sample(500, 2250), beside_ns=20_000_000)
    assert disagrees(device_sample(500, 2250), eager) is not None
    assert disagrees(device_sample(500, 2250), eager, copies=True) is None
    assert disagrees(device_sample(500, 250), eager) is None


def test_on_a_device_poisoning_the_memory_of_large_results_is_no_hidden_work():
    eager = dataclasses.replace(device_sample(2900, 2500, calls=1), exported_ns=2_900_000)
    honest = dataclasses.replace(device_sample(2900, 4000, calls=1), exported_ns=2_900_000)
    assert disagrees(honest, eager) is None
    assert disagrees(dataclasses.replace(honest, outside_ns=honest.outside_ns + 4_000_000), eager) is not None


def test_on_a_device_fetching_results_must_not_take_longer_than_eager_s():
    eager = dataclasses.replace(device_sample(500, 250), exported_ns=400_000)
    honest = dataclasses.replace(device_sample(400, 250), exported_ns=450_000)
    assert disagrees(honest, eager) is None
    assert disagrees(dataclasses.replace(honest, exported_ns=5_000_000), eager) is not None
    launched = device_sample(400, 250)
    assert disagrees(launched, eager) is None, "the launcher's results lie where they are wanted"
