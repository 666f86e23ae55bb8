"""Blocks that are held once more with calls handed over one by one, between fakes whose clocks are scripted."""

import pytest

from kernelwright.evaluate.pipeline.timing_sanity import MORE_SHARE, MORE_US, batched
from kernelwright.evaluate.sandbox.compute_process import TimedRun
from kernelwright.evaluate.timing.clock import MOST_IN_TURN, ROUNDS, Arm, PairedBenchmark

HANDING = 60_000
"""Nanoseconds that handing over one call takes here."""


class Side:
    """A side whose call takes some nanoseconds, and more where calls come one by one."""

    def __init__(self, ns, more=0):
        self.ns, self.more, self.met, self.idle = ns, more, [], 0

    def spin_before_calls(self, busy_ns):
        """A CPU has no queue to hide."""

    def run(self, calls, checked, variant=""):
        return TimedRun(tuple(() for _ in calls), self.ns * len(calls), self.ns * len(calls))

    def run_in_turn(self, calls, variant="", idle=False):
        self.idle += idle
        if not idle:
            self.met.append(calls)
        return TimedRun((), (HANDING + (0 if idle else self.ns + self.more)) * len(calls), 1)


def benchmark(eager, candidate, **more):
    tokens = iter(range(10**6))
    windows = {"among": lambda calls: [(next(tokens),) for _ in range(calls)], **more}
    return PairedBenchmark(
        arms=[Arm("eager", eager), Arm("candidate", candidate)],
        fresh=lambda calls: [(0,)] * calls,
        after=lambda arm, ran: None,
        round_over=lambda: None,
        **windows,
    )


def test_blocks_are_held_once_more_by_lot_on_other_inputs_for_every_side():
    eager, candidate = Side(500_000), Side(100_000)
    samples = benchmark(eager, candidate).hold(60, 1e9)
    held = len(samples.in_turn_us["idle"])
    assert 30 < held < 60, "most of them, wherever they are"
    assert {name: len(v) for name, v in samples.in_turn_us.items()} == dict.fromkeys(
        ("idle", "eager", "candidate"), held
    )
    assert samples.in_turn_us["candidate"] == pytest.approx([160.0] * held)
    assert samples.in_turn_us["idle"] == pytest.approx([60.0] * held)
    assert samples.at_once_us["candidate"] == pytest.approx([100.0] * held)
    assert eager.met == candidate.met
    assert len(eager.met) == eager.idle == held * ROUNDS
    assert {len(calls) for calls in eager.met} == {min(samples.calls, MOST_IN_TURN)}
    assert len({call for calls in eager.met for call in calls}) == sum(map(len, eager.met))


@pytest.mark.parametrize("why", ["one call a sample", "not asked for"])
def test_it_is_left_out_where_there_is_nothing_to_see(why):
    arms = (Side(50_000_000), Side(50_000_000)) if why == "one call a sample" else (Side(100_000), Side(100_000))
    samples = benchmark(*arms, **({} if why == "one call a sample" else {"among": None})).hold(4, 1e9)
    assert samples.in_turn_us == {}
    assert batched(samples) is None


@pytest.mark.parametrize(
    ("us", "more", "caught"),
    [
        (900, MORE_SHARE * 900 - 1, False),
        (900, MORE_SHARE * 900 + 1, True),
        (20, MORE_US - 1, False),
        (20, MORE_US + 1, True),
        (200, -50, False),
    ],
)
def test_a_candidate_that_is_slower_one_by_one_computes_its_calls_together(us, more, caught):
    samples = benchmark(Side(3_000_000), Side(int(us * 1000), int(more * 1000))).hold(8, 1e9)
    found = batched(samples)
    assert (found is not None) == caught
    if found is not None:
        assert found.because == "batched"
        assert f"{more:.1f} us more" in found.evidence


def test_what_eager_loses_is_the_measure_where_doing_nothing_loses_more():
    """A process that sleeps between two calls pays for waking; one that computes is warm."""
    more = -HANDING // 2
    samples = benchmark(Side(3_000_000, more), Side(200_000, more + int(MORE_US * 1000) + 1000)).hold(8, 1e9)
    assert batched(samples) is not None
    samples = benchmark(Side(3_000_000, more), Side(200_000, more + int(MORE_US * 1000) - 1000)).hold(8, 1e9)
    assert batched(samples) is None


def test_one_disturbed_block_is_no_evidence():
    side = Side(100_000)
    turns = iter([5_000_000] * ROUNDS + [0] * 100)
    samples = benchmark(Side(1_000_000), side)
    side.run_in_turn = lambda calls, variant="", idle=False: TimedRun(
        (), (HANDING + side.ns + next(turns)) * len(calls), 1
    )
    assert batched(samples.hold(8, 1e9)) is None


class Warm(Side):
    """A side whose calls take longer where as many other inputs were written as for calls one by one."""

    def __init__(self, ns, among):
        super().__init__(ns, more=among)
        self.among = among

    def run(self, calls, checked, variant=""):
        ns = (self.ns + (self.among if calls[0] != (0,) else 0)) * len(calls)
        return TimedRun(tuple(() for _ in calls), ns, ns)


@pytest.mark.parametrize("doubted", [False, True])
def test_a_second_look_compares_among_as_many_inputs(doubted):
    """What was written for the decoys has pushed its results out of the caches, which is no batching."""
    samples = benchmark(Side(1_000_000), Warm(400_000, 100_000), doubted=doubted).hold(8, 1e9)
    assert (batched(samples) is None) == doubted
    assert samples.us["candidate"] == pytest.approx([400.0] * 8), "what is reported is the plain sample"
