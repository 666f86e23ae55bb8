"""When a contest has seen enough: the looks and what settles it.

By simulation: looking often calls no noise a difference, and 3 % are seen."""

import json
from pathlib import Path

import numpy as np
import pytest

from kernelwright.evaluate.timing.statistics import FIRST, Stopping, schedule
from kernelwright.records.policy import Policy

RECORDED = Path(__file__).parent / "h200_blocks.json"
POLICY = Policy()
SEARCH = Stopping(("eager",), POLICY.search_blocks, POLICY.confidence, POLICY.minimum_effect, POLICY.search_precision)
FINAL = Stopping(
    ("eager",), POLICY.final_blocks, POLICY.confidence, POLICY.minimum_effect, POLICY.final_precision, clear="goes on"
)
NO_EFFECT_NEEDED = Stopping(("eager",), 60, 0.99, 0.0, 1e-9)
"""The level of the interval alone: nothing but one is excluded, and every look is used."""


def play(rule, draw):
    """One contest on drawn pairs (baseline, candidate): its comparison, and how many blocks it took."""
    samples = {"eager": [], "candidate": []}
    while True:
        for name, value in zip(("eager", "candidate"), draw(len(samples["eager"])), strict=True):
            samples[name].append(value)
        if rule.enough(samples):
            return rule.versus(samples, "eager"), len(samples["eager"])


def played(rule, draw, times):
    """The verdicts of many contests, and their mean number of blocks."""
    found = [play(rule, draw) for _ in range(times)]
    return [v.verdict for v, _ in found], float(np.mean([n for _, n in found]))


def noisy(seed, sigma, slower=1.0, heavy=False):
    """Pairs of about 10 us with that much noise on each side; heavy tails are Student's with two degrees of freedom."""
    rng = np.random.default_rng(seed)
    noise = (lambda: rng.standard_t(2, 2) * sigma) if heavy else (lambda: rng.normal(0, sigma, 2))
    return lambda block: (np.array([10.0, 10.0 * slower]) * np.exp(noise())).tolist()


@pytest.mark.parametrize("most", [4, 8, 10, 12, 24, 60, 200])
def test_the_looks_are_few_ascend_and_end_with_the_last_block(most):
    looks = schedule(most)
    assert list(looks) == sorted(set(looks))
    assert looks[-1] == most
    assert looks[0] >= min(most, FIRST)
    assert len(looks) <= 4


def test_between_looks_nothing_stops_it():
    samples = {"eager": [20.0] * 11, "candidate": [10.0] * 11}
    assert not SEARCH.enough(samples)
    assert SEARCH.enough({name: values[:10] for name, values in samples.items()})


def test_a_search_stops_at_a_clear_verdict_and_a_final_when_it_is_tight():
    rng = np.random.default_rng(1)
    rough = {"eager": list(20 * np.exp(rng.normal(0, 0.05, 20))), "candidate": [10.0] * 20}
    first = {name: values[:10] for name, values in rough.items()}
    assert SEARCH.speedup(first, "eager").width > SEARCH.precision
    assert SEARCH.enough(first)
    assert not FINAL.enough(rough)
    assert FINAL.enough({"eager": [20.0] * 20, "candidate": [10.0] * 20})


def test_a_verdict_whose_size_is_blurred_is_no_end():
    disturbed = {"eager": [10.0] * 15, "candidate": [30.0] * 9 + [900.0] + [30.0] * 5}
    first = {name: values[:10] for name, values in disturbed.items()}
    assert SEARCH.speedup(first, "eager").high < 1
    assert not SEARCH.enough(first)
    quiet = {"eager": [10.0] * 16, "candidate": [30.0] * 9 + [900.0] + [30.0] * 6}
    assert SEARCH.enough(quiet)


def test_a_difference_too_small_to_mean_something_is_clear_as_well():
    rng = np.random.default_rng(2)
    alike = {"eager": list(10 * np.exp(rng.normal(0, 0.004, 10))), "candidate": [10.0] * 10}
    rule = Stopping(("eager",), 24, 0.99, 0.015, 1e-6)
    assert rule.enough(alike)
    assert rule.versus(alike, "eager").verdict == "inconclusive"


def test_every_baseline_must_be_settled():
    rng = np.random.default_rng(3)
    samples = {
        "eager": [20.0] * 10,
        "compile": list(10.1 * np.exp(rng.normal(0, 0.05, 10))),
        "candidate": [10.0] * 10,
    }
    assert SEARCH.enough(samples)
    assert not Stopping(("eager", "compile"), 24, 0.99, 0.015, 0.02).enough(samples)


def test_a_disturbed_device_asks_for_a_larger_effect():
    samples = {"eager": [10.25] * 10, "candidate": [10.0] * 10}
    assert SEARCH.versus(samples, "eager").verdict == "faster"
    assert SEARCH.versus(samples, "eager", effect_times=2.0).verdict == "inconclusive"


def test_the_same_samples_stop_at_the_same_look():
    assert play(SEARCH, noisy(7, 0.01)) == play(SEARCH, noisy(7, 0.01))


@pytest.mark.parametrize("heavy", [False, True])
def test_looking_often_does_not_call_equal_kernels_different(heavy):
    """The level of all looks together, without the smallest effect that protects it further; 1 % is allowed."""
    verdicts, blocks = played(NO_EFFECT_NEEDED, noisy(11, 0.02, heavy=heavy), 1000)
    assert sum(v != "inconclusive" for v in verdicts) <= 20, "1 % of 1000, and three standard deviations"
    assert blocks > 50, "every look was used"


def test_drift_does_not_break_the_level_since_the_order_is_drawn():
    """Whoever comes second is 1 % slower, and the machine warms up by 20 %: only the coin decides who that is."""
    rng = np.random.default_rng(12)

    def draw(block):
        first, second = 10 * (1.2 - 0.2 * 0.9**block), 10.1 * (1.2 - 0.2 * 0.9**block)
        return (first, second) if rng.random() < 0.5 else (second, first)

    verdicts, _ = played(NO_EFFECT_NEEDED, draw, 1000)
    assert sum(v != "inconclusive" for v in verdicts) <= 20


@pytest.mark.parametrize(("slower", "wanted"), [(1.03, "slower"), (1 / 1.03, "faster")])
@pytest.mark.parametrize(("sigma", "most_blocks"), [(0.002, 10.0), (0.01, 22.0), (0.014, 24.0)])
def test_three_percent_are_seen_and_sooner_where_it_is_quiet(slower, wanted, sigma, most_blocks):
    verdicts, blocks = played(SEARCH, noisy(13, sigma, slower), 200)
    assert verdicts.count(wanted) >= 180, "18 of 20"
    assert blocks <= most_blocks


def test_where_it_is_too_noisy_it_says_so_instead_of_guessing():
    verdicts, blocks = played(SEARCH, noisy(14, 0.1, 1.03), 200)
    assert verdicts.count("faster") <= 2
    assert blocks > 23


def test_with_the_samples_of_an_h200():
    """Blocks that were measured on the device: A against A as they are, and with 3 % put on one side."""
    recorded = json.loads(RECORDED.read_text())
    verdicts = {1.0: [], 1.03: [], 1 / 1.03: []}
    for times, found in verdicts.items():
        for a, b in zip(recorded["a_us"], recorded["b_us"], strict=True):
            verdict, blocks = play(SEARCH, lambda n, a=a, b=b, times=times: (a[n], b[n] * times))
            found.append(verdict.verdict)
            assert blocks <= 16, "it is a quiet device"
    assert set(verdicts[1.0]) == {"inconclusive"}
    assert set(verdicts[1.03]) == {"slower"}
    assert set(verdicts[1 / 1.03]) == {"faster"}


def test_a_difference_that_two_processes_of_one_kernel_show_is_not_told():
    rule = Stopping(("eager",), 24, 0.99, 0.015, 0.02, least_us=0.25)
    short = {"eager": [11.1 + 0.001 * i for i in range(24)], "candidate": [10.9] * 24}
    assert rule.versus(short, "eager").verdict == "inconclusive"
    longer = {name: [100 * us for us in times] for name, times in short.items()}
    assert rule.versus(longer, "eager").verdict == "faster"
