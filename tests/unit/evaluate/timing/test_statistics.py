"""Ratios, intervals and verdicts: known answers, coverage by simulation, and the edges of the rule."""

import numpy as np
import pytest

from kernelwright.evaluate.timing.statistics import ratio, through, versus
from kernelwright.records.measure import Ratio, verdict

EFFECT = 0.015


def lognormal(rng, median, noise, count):
    return list(median * np.exp(rng.normal(0, noise, count)))


def interval(median, low, high):
    return Ratio(median=median, low=low, high=high, confidence=0.99)


def test_without_noise_the_ratio_is_known():
    found = ratio([10.0] * 12, [4.0] * 12, 0.99)
    assert (found.median, found.low, found.high) == pytest.approx((2.5, 2.5, 2.5))
    assert found.confidence == 0.99


def test_blocks_are_paired():
    """The machine slows down threefold in half of the blocks, and both sides with it."""
    drift = [1.0, 3.0] * 10
    found = ratio([10.0 * d for d in drift], [5.0 * d for d in drift], 0.99)
    assert found.median == pytest.approx(2.0)
    assert found.width < 1e-9


def test_the_ratio_is_a_median_and_forgets_a_spoiled_block():
    candidate = [5.0] * 19 + [500.0]
    assert ratio([10.0] * 20, candidate, 0.99).median == pytest.approx(2.0)


def test_swapping_the_sides_inverts_everything():
    rng = np.random.default_rng(5)
    a, b = lognormal(rng, 20, 0.05, 21), lognormal(rng, 10, 0.05, 21)
    forward, backward = ratio(a, b, 0.99), ratio(b, a, 0.99)
    assert forward.median == pytest.approx(1 / backward.median)
    assert forward.low == pytest.approx(1 / backward.high, rel=1e-2)


def test_the_same_samples_give_the_same_interval():
    rng = np.random.default_rng(1)
    a, b = lognormal(rng, 20, 0.1, 15), lognormal(rng, 10, 0.1, 15)
    np.random.default_rng().random(100)
    assert ratio(a, b, 0.99) == ratio(list(a), list(b), 0.99)


def test_the_unit_does_not_matter():
    rng = np.random.default_rng(2)
    a, b = lognormal(rng, 20, 0.1, 15), lognormal(rng, 10, 0.1, 15)
    thousand = ratio([x * 1000 for x in a], [x * 1000 for x in b], 0.99)
    assert thousand.low == pytest.approx(ratio(a, b, 0.99).low)


def test_more_confidence_and_fewer_blocks_make_a_wider_interval():
    rng = np.random.default_rng(3)
    a, b = lognormal(rng, 20, 0.1, 60), lognormal(rng, 10, 0.1, 60)
    assert ratio(a, b, 0.99).width > ratio(a, b, 0.8).width
    assert ratio(a[:8], b[:8], 0.99).width > ratio(a, b, 0.99).width


@pytest.mark.parametrize("blocks", [12, 60])
def test_the_interval_covers_the_truth(blocks):
    rng = np.random.default_rng(11)
    rounds = 120
    found = [ratio(lognormal(rng, 14, 0.05, blocks), lognormal(rng, 10, 0.05, blocks), 0.99) for _ in range(rounds)]
    covered = sum(f.low <= 1.4 <= f.high for f in found)
    assert covered >= 0.95 * rounds


def test_a_against_a_is_inconclusive_and_five_percent_are_seen():
    rng = np.random.default_rng(12)
    rounds, noise = 60, 0.01

    def verdicts(slowdown):
        arms = ((lognormal(rng, 10, noise, 12), lognormal(rng, 10 * slowdown, noise, 12)) for _ in range(rounds))
        return [versus("eager", a, b, 0.99, EFFECT).verdict for a, b in arms]

    assert verdicts(1.0).count("inconclusive") >= 0.95 * rounds
    assert verdicts(1.05).count("slower") >= 0.9 * rounds
    assert verdicts(1 / 1.05).count("faster") >= 0.9 * rounds


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (interval(1.2, 1.1, 1.3), "faster"),
        (interval(1.2, 0.99, 1.3), "inconclusive"),
        (interval(1.2, 1.0, 1.3), "inconclusive"),  # one itself is not excluded
        (interval(1.015, 1.01, 1.02), "inconclusive"),  # the smallest effect itself is not beyond it
        (interval(1.0151, 1.01, 1.02), "faster"),
        (interval(1.01, 1.005, 1.012), "inconclusive"),  # certain, and too small to mean something
        (interval(0.8, 0.7, 0.9), "slower"),
        (interval(0.8, 0.7, 1.0), "inconclusive"),
        (interval(0.8, 0.7, 1.1), "inconclusive"),
        (interval(0.99, 0.98, 0.995), "inconclusive"),
        (interval(1 / 1.0151, 0.97, 0.99), "slower"),
        (interval(1.0, 1.0, 1.0), "inconclusive"),
    ],
)
def test_the_edges_of_the_rule(found, wanted):
    assert verdict(found, EFFECT) == wanted


def test_the_rule_is_symmetric():
    for median in (1.0149, 1.0151, 1.3):
        faster = verdict(interval(median, median - 1e-4, median + 1e-4), EFFECT)
        slower = verdict(interval(1 / median, 1 / (median + 1e-4), 1 / (median - 1e-4)), EFFECT)
        assert (faster, slower) in (("faster", "slower"), ("inconclusive", "inconclusive"))


def test_a_comparison_names_its_baseline():
    found = versus("compile", [10.0] * 8, [5.0] * 8, 0.99, EFFECT)
    assert (found.baseline, found.verdict) == ("compile", "faster")


@pytest.mark.parametrize("blocks", [2, 3, 5, 8])
def test_with_too_few_blocks_for_order_statistics_the_interval_is_student_s(blocks):
    rng = np.random.default_rng(20)
    found = [ratio(lognormal(rng, 10, 0.02, blocks), lognormal(rng, 10, 0.02, blocks), 0.99, 3) for _ in range(400)]
    assert sum(f.low <= 1 <= f.high for f in found) >= 0.99 * 400
    assert all(f.low <= f.median <= f.high for f in found)


def test_an_interval_of_order_statistics_is_made_of_the_blocks_own_ratios():
    candidate = [10.0, 9.0, 11.0, 9.5, 10.5, 9.9, 10.1, 9.8]
    found = ratio([10.0] * 8, candidate, 0.99)
    assert (found.low, found.high) == pytest.approx((10 / 11, 10 / 9))


def test_more_looks_make_a_wider_interval():
    rng = np.random.default_rng(21)
    a, b = lognormal(rng, 10, 0.02, 40), lognormal(rng, 10, 0.02, 40)
    assert ratio(a, b, 0.99, 4).width > ratio(a, b, 0.99).width


def test_one_block_has_no_interval():
    with pytest.raises(ValueError, match="two blocks"):
        ratio([1.0], [1.0], 0.99)


def test_ratios_from_different_samples_multiply_and_lose_confidence():
    found = through(interval(2.0, 1.9, 2.1), interval(0.5, 0.4, 0.6))
    assert (found.median, found.low, found.high) == pytest.approx((1.0, 0.76, 1.26))
    assert found.confidence == pytest.approx(0.98)
