"""What becomes of a time that events in the candidate's process tell, beside a bound from outside."""

import pytest

from kernelwright.evaluate.pipeline import replayed
from kernelwright.evaluate.pipeline.replayed import Bound, borne_out
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.records.measure import Ratio
from kernelwright.testing.samples import sample_measured


def told(us):
    found = sample_measured()
    versus = tuple(
        v.model_copy(update={"verdict": "faster", "speedup": Ratio(median=4, low=3.9, high=4.1, confidence=0.99)})
        for v in found.timing.versus
    )
    return found.model_copy(update={"timing": found.timing.model_copy(update={"latency_us": us, "versus": versus})})


@pytest.mark.parametrize(
    ("events", "outside", "outcome"), [(1.3, 64.0, "suspect"), (64.0, 66.0, "measured"), (3.0, 9.0, "measured")]
)
def test_events_that_tell_of_less_than_captured_calls_take_are_suspect(events, outside, outcome):
    found = borne_out(told(events), Bound(outside, calls=16, made="captured"))
    assert found.outcome == outcome
    if outcome == "suspect":
        assert found.because == "clock_disagrees"
        assert "64.0 us each by the clock outside" in found.evidence


def test_where_nothing_can_be_captured_a_verdict_must_hold_for_the_bound():
    slow, quick = (borne_out(told(10.0), Bound(us, calls=16, made="looped")) for us in (60.0, 12.0))
    assert {v.verdict for v in slow.timing.versus} == {"inconclusive"}
    assert "host work included" in slow.timing.missing[-1]
    assert {v.verdict for v in quick.timing.versus} == {"faster"}


@pytest.mark.parametrize(
    ("held", "us", "made"), [(30.0, 30.0, "held"), (70.0, 60.0, "looped"), (ChildSlowError(5.0), 60.0, "looped")]
)
def test_calls_that_can_be_queued_ahead_are_bound_without_the_host_s_work(held, us, made):
    def measure(hold):
        assert hold
        if isinstance(held, Exception):
            raise held
        return held

    found = replayed._held(Bound(60.0, calls=16, made="looped"), measure)
    assert (found.us, found.made) == (us, made)
    told_us = borne_out(told(2.0), found).timing.missing[-1]
    assert f"{us:.1f} us a call" in told_us
    assert ("host work included" in told_us) == (made == "looped")
