"""What becomes of a time that events in the candidate's process tell, beside a bound from outside."""

from types import SimpleNamespace

import pytest

from kernelwright.evaluate.pipeline import replayed
from kernelwright.evaluate.pipeline.replayed import Bound, check_bound
from kernelwright.evaluate.pipeline.timed_output_check import TimedOutputWrongError
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
    found = check_bound(told(events), Bound(outside, calls=16, how="replay"))
    assert found.outcome == outcome
    if outcome == "suspect":
        assert found.because == "clock_disagrees"
        assert "64.0 us each by the clock outside" in found.evidence


def test_where_nothing_can_be_captured_a_verdict_must_hold_for_the_bound():
    slow, quick = (check_bound(told(10.0), Bound(us, calls=16, how="loop")) for us in (60.0, 12.0))
    assert {v.verdict for v in slow.timing.versus} == {"inconclusive"}
    assert "host work included" in slow.timing.missing[-1]
    assert {v.verdict for v in quick.timing.versus} == {"faster"}


@pytest.mark.parametrize(
    ("held", "us", "how"), [(30.0, 30.0, "release"), (70.0, 60.0, "loop"), (ChildSlowError(5.0), 60.0, "loop")]
)
def test_calls_that_can_be_queued_ahead_are_bound_without_the_host_s_work(held, us, how):
    def measured(asked):
        if isinstance(held, Exception):
            raise held
        return Bound(held, 16, asked)

    found = replayed._quicker_behind_gate(Bound(60.0, calls=16, how="loop"), measured)
    assert (found.us, found.how) == (us, how)
    told_us = check_bound(told(2.0), found).timing.missing[-1]
    assert f"{us:.1f} us a call" in told_us
    assert ("host work included" in told_us) == (how == "loop")


EXPORTED_NS = 400_000
"""What handing over the results takes any side."""


class Process:
    """A candidate whose calls take so long each way, or are wrong that way; and what it was asked."""

    def __init__(self, when_fetched=False, **us):
        self.us, self.asked, self.when_fetched, self.calls = us, [], when_fetched, []

    def take_parameters(self, offsets):
        self.parameters = offsets

    def capture(self, calls):
        self.asked.append("capture")

    def enqueue_behind_gate(self, calls, limit_s):
        self.asked.append("queue")

    def overwrite(self):
        self.asked.append("overwrite")

    def copying_ns(self, calls):
        raise AssertionError("the reference is asked")

    def replay(self, calls, how):
        self.asked.append(how)
        self.calls = calls or self.calls
        computed_ns = int(1000 * len(calls) * (self.us[how] or 1))
        outside_ns, exported_ns = (0, computed_ns) if self.when_fetched else (computed_ns, 0)
        return SimpleNamespace(outside_ns=outside_ns + 10_000, exported_ns=exported_ns + EXPORTED_NS, how=how)


@pytest.fixture
def bound(monkeypatch):
    """The bound of a process beside a reference that is always right."""

    class Check:
        def __init__(self, trial, reference, results, places):
            self.seen, self.us, self.trial = [], trial.us, trial

        def look(self, arm, ran):
            self.seen.append(getattr(ran, "how", None))

        def compare(self):
            if self.us.get(self.seen[-1], 1.0) is None:
                raise TimedOutputWrongError("x differs")

    class Reference(Process):
        def run(self, calls, checked, variant):
            self.ran = (calls, checked)
            return SimpleNamespace(exported_ns=EXPORTED_NS)

        def copying_ns(self, calls):
            return {"replay": 4_000 * len(calls), "loop": 20_000 * len(calls)}

    def of(process, parameters=(), language="python", by_method=False, stay=False):
        session = SimpleNamespace(
            most_calls=lambda: 16, layout=SimpleNamespace(spare=20), timed_parameters=tuple, inputs=("x",),
            load_parameters=lambda offsets: None, reference=Reference(), parameters=parameters,
        )  # fmt: skip
        fresh = SimpleNamespace(
            windows=lambda calls: [(i, *range(len(parameters))) for i in range(calls)], refill=lambda places: None,
            parameters_stay=stay,
        )  # fmt: skip
        trial = SimpleNamespace(
            session=session, us=process.us, candidate=SimpleNamespace(language=language),
            found=SimpleNamespace(binding=SimpleNamespace(by_method=by_method)),
        )  # fmt: skip
        process.reference = session.reference
        return replayed._bound(SimpleNamespace(trial=trial, process=process), process, fresh, 10.0)

    monkeypatch.setattr(replayed, "TimedOutputCheck", Check)
    monkeypatch.setattr(replayed, "TimedResults", lambda session: None)
    return of


def test_a_graph_that_is_right_is_the_bound(bound):
    process = Process(replay=11.0)
    found = bound(process)
    assert (found.how, round(found.us)) == ("replay", 11)
    assert "loop" not in process.asked


def test_results_are_overwritten_before_each_round(bound):
    """What is only right because an earlier call wrote it must not be."""
    process = Process(replay=11.0)
    bound(process)
    assert process.asked == ["capture", *["overwrite", "replay", "replay"] * 3]


COPIED_US = 4.0 * 1.25
"""What copying its parameters may take a call of a graph."""


@pytest.mark.parametrize(
    ("how", "us"),
    [
        ({}, 11.0 - COPIED_US),
        ({"by_method": True}, 11.0),  # packing is its own work
        ({"language": "cuda_host"}, 11.0),  # reads them where they lie
    ],
)
def test_what_copying_takes_eager_is_no_work_of_the_call(bound, how, us):
    process = Process(replay=11.0)
    found = bound(process, parameters=("weight",), **how)
    assert found.us == pytest.approx(us, abs=0.01)
    assert {len(offsets) for offsets in process.calls} == {2}
    assert process.reference.ran == (process.calls, False)


def test_constant_parameters_are_given_once(bound):
    process = Process(replay=11.0)
    found = bound(process, parameters=("weight",), stay=True)
    assert found.us == pytest.approx(11.0, abs=0.01)
    assert {len(offsets) for offsets in process.calls} == {1}
    assert process.reference.ran == (process.calls, True)


def test_what_is_computed_when_results_are_fetched_counts(bound):
    found = bound(Process(when_fetched=True, replay=11.0))
    assert (found.how, round(found.us)) == ("replay", 11)


def test_a_graph_without_the_kernels_is_no_bound(bound):
    """What is launched on the legacy stream runs while the graph is made, and is no part of it."""
    found = bound(Process(replay=None, loop=12.0))
    assert (found.how, round(found.us)) == ("loop", 12)


def test_a_loop_that_takes_too_long_is_queued_ahead(bound):
    process = Process(replay=None, loop=40.0, release=12.0)
    found = bound(process)
    assert (found.how, round(found.us)) == ("release", 12)
    assert process.asked[-3:] == ["queue", "release", "release"]


def test_a_loop_that_is_wrong_bounds_nothing(bound):
    with pytest.raises(TimedOutputWrongError):
        bound(Process(replay=None, loop=None))
