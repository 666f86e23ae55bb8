"""Intervals that hold for other starts: from a machine's own repeats, and from what is usual where it has none."""

import random
from itertools import combinations
from types import SimpleNamespace

import pytest

from kernelwright.evaluate.pipeline import starts
from kernelwright.records.measure import Load, Ratio, Versus
from kernelwright.records.run import Device
from kernelwright.testing.samples import sample_attempt

DEVICE = Device(kind="cpu", name="CPU", cores=2)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def judged(effort="final", load=None, speedup=2.0, kernel="one"):
    found = sample_attempt(0, "measured", speedup).evaluation
    found = found.model_copy(update={"timing": found.timing.model_copy(update={"load": load})})
    trial = SimpleNamespace(effort=effort, task=SimpleNamespace(id="task"), candidate=SimpleNamespace(id=kernel))
    return found, starts.beyond_starts(found, trial, DEVICE, on_device=False)


def test_every_interval_is_wider_by_what_starts_differ_by():
    before, after = judged()
    for one, two in zip(before.timing.versus, after.timing.versus, strict=True):
        assert two.speedup.low < one.speedup.low <= one.speedup.high < two.speedup.high
        assert two.speedup.median == one.speedup.median
    assert after.timing.start_spread > 0


def test_repeats_of_this_machine_say_by_how_much():
    usual = judged()[1].timing.start_spread
    for _ in range(30):
        alike = judged()[1].timing.start_spread
    assert alike < usual / 2
    drawn = random.Random(1)
    for number in range(60):
        apart = judged(speedup=drawn.lognormvariate(0.7, 0.05), kernel=f"kernel {number % 10}")[1].timing.start_spread
    assert 0.08 < apart < 0.16


@pytest.mark.parametrize("more", [{"effort": "search"}, {"load": Load(cores=2, during=1.5)}])
def test_what_is_no_final_or_was_disturbed_is_no_repeat(more):
    usual = judged(**more)[1].timing.start_spread
    for speedup in (1.0, 2.0, 4.0):
        assert judged(speedup=speedup, **more)[1].timing.start_spread == usual


def test_intervals_of_repeated_starts_meet():
    """Starts that differ by five percent, samples of one that differ by half a percent."""
    drawn, found = random.Random(2), []
    for number in range(80):
        median = drawn.lognormvariate(0, 0.05)
        verdict = Versus(baseline="eager", speedup=Ratio(median=median, low=median / 1.005, high=median * 1.005,
                         confidence=0.99), verdict="inconclusive")  # fmt: skip
        found.append(
            verdict.beyond(judged(speedup=median, kernel=f"kernel {number % 10}")[1].timing.start_spread).speedup
        )
    pairs = list(combinations(found[20:], 2))
    assert sum(a.low <= b.high and b.low <= a.high for a, b in pairs) >= 0.99 * len(pairs)


def test_a_verdict_that_other_starts_may_not_show_is_not_told():
    ratio = Ratio(median=1.03, low=1.02, high=1.04, confidence=0.99)
    assert Versus(baseline="eager", speedup=ratio, verdict="faster").beyond(0.05).verdict == "inconclusive"
    assert Versus(baseline="eager", speedup=ratio, verdict="faster").beyond(0.01).verdict == "faster"
    assert Versus(baseline="eager", speedup=ratio, verdict="disturbed").beyond(0.05).verdict == "disturbed"


def test_the_record_keeps_the_latest_kernels_and_starts():
    file = starts.file_of(DEVICE)
    for number in range(starts.MOST_KERNELS + 5):
        starts.note(file, f"kernel {number}", 0.0)
    for _ in range(starts.MOST_STARTS + 5):
        starts.note(file, "again", 0.0)
    kept = starts.kept.read(starts._KEPT, file)
    assert len(kept) == starts.MOST_KERNELS
    assert len(kept["again"]) == starts.MOST_STARTS
    assert "kernel 0" not in kept
