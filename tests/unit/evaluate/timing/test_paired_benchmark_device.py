"""A contest on a device between fakes: calls timed one by one, blocks that do not count, and when it ends."""

from dataclasses import replace

import pytest

from kernelwright.evaluate.sandbox.compute_process import TimedRun
from kernelwright.evaluate.timing.clock import DEVICE, LEAST_BUSY_NS, MOST_BUSY_NS, Arm, PairedBenchmark
from kernelwright.evaluate.timing.conditions import MOST_REPEATS, Reading, Watch
from kernelwright.evaluate.timing.statistics import ratio

WARMING = 2


class OnDevice:
    """A side whose calls take the nanoseconds of its script on the device."""

    def __init__(self, ns=lambda turn, call: 1_000_000, queued_ns=10_000, waiting=(1_200_000, 1_250_000)):
        self.ns, self.queued_ns, self.waiting = ns, queued_ns, waiting
        self.turns, self.busy_ns, self.counts = 0, 0, []

    def spin_before_calls(self, busy_ns):
        self.busy_ns = busy_ns

    def run(self, calls, checked, variant=""):
        each = tuple(self.ns(self.turns, i) for i in range(len(calls)))
        self.turns += 1
        self.counts.append(len(calls))
        return TimedRun(tuple(() for _ in calls), sum(each) + 200_000 * len(each), sum(each), 0, each, self.queued_ns)

    def run_waiting(self, calls, variant=""):
        inside, outside = (ns * len(calls) for ns in self.waiting)
        return TimedRun(tuple(() for _ in calls), outside + 500_000, inside)


def benchmark(*arms, **more):
    names = ("eager", "candidate") if len(arms) == 2 else ("eager", "graph", "candidate")
    return PairedBenchmark(
        arms=[Arm(n, s) for n, s in zip(names, arms, strict=True)],
        fresh=lambda calls: [(0,)] * calls,
        after=lambda arm, ran: None,
        round_over=lambda: None,
        inside=True,
        pace=DEVICE,
        **more,
    )


def test_a_sample_is_the_median_of_its_calls():
    spoiled = OnDevice(lambda turn, call: 90_000_000 if call == 1 else 1_000_000)
    samples = benchmark(OnDevice(), spoiled).hold(6, 1e9)
    assert samples.calls == 3
    assert samples.us["candidate"] == pytest.approx([1000.0] * 6)


@pytest.mark.parametrize(("ns", "calls"), [(30_000_000, 1), (1_000_000, 3), (10_000, 16)])
def test_long_calls_are_few_and_short_ones_many(ns, calls):
    assert benchmark(OnDevice(lambda turn, call: ns), OnDevice(lambda turn, call: ns)).hold(4, 1e9).calls == calls


@pytest.mark.parametrize("slow", [1, 3])
def test_a_block_is_one_round_and_the_first_ones_are_rehearsals_until_two_agree(slow):
    slow_at_first = OnDevice(
        lambda turn, call: (5 + turn) * 10**7 if turn < WARMING + slow and turn >= WARMING else 10**6
    )
    samples = benchmark(OnDevice(), slow_at_first).hold(5, 1e9)
    assert slow_at_first.turns == WARMING + slow + 2 + 5
    assert samples.us["candidate"] == pytest.approx([1000.0] * 5)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("ms", "slow"), [(1, 1), (1, 2), (30, 1), (30, 2)])
def test_first_blocks_of_five_times_the_time_leave_the_interval_narrow(side, ms, slow):
    """Seen on an idle device: (0.18, 1.01, 1.02), after two seconds of search."""
    ns = ms * 1_000_000

    def idle_at_first(turn, call):
        return ns * (5 if WARMING <= turn < WARMING + slow else 1) + 1000 * (turn % 7)

    arms = [OnDevice(lambda turn, call: ns + 1000 * (turn % 5)), OnDevice(lambda turn, call: ns)]
    arms[side] = OnDevice(idle_at_first)
    us = benchmark(*arms).hold(10, 1e9).us
    found = ratio(us["eager"], us["candidate"], 0.99, looks=3)
    assert found.high - found.low < 0.05 * found.median


def test_it_ends_when_it_is_settled():
    seen = []
    held = benchmark(OnDevice(), OnDevice(), settled=lambda us: seen.append(len(us["eager"])) or len(us["eager"]) == 7)
    assert len(held.hold(60, 1e9).us["candidate"]) == 7
    assert seen == list(range(1, 8))


def test_spoiled_blocks_are_measured_again_for_both_sides():
    readings = iter(
        [Reading(1980, 3201, 40, 300.0)] * 2 + [Reading(1500, 3201, 40, 300.0)] + [Reading(1980, 3201, 40, 300.0)] * 9
    )
    arms = (OnDevice(lambda turn, call: 9_000_000 if turn == WARMING + 3 else 1_000_000), OnDevice())
    watch = Watch(read=lambda: next(readings))
    samples = benchmark(*arms, watch=watch).hold(6, 1e9)
    assert samples.us["eager"] == pytest.approx([1000.0] * 6), "the spoiled one is gone"
    assert [s.turns for s in arms] == [WARMING + 2 + 7] * 2
    assert watch.conditions().repeated == 1


def test_a_device_that_is_always_throttled_does_not_go_on_for_ever():
    watch = Watch(read=lambda: Reading(1980, 3201, 90, 700.0, 0x4))
    arms = OnDevice(), OnDevice()
    assert len(benchmark(*arms, watch=watch).hold(6, 1e9).us["eager"]) == 6
    assert arms[0].turns == WARMING + 2 + 6 + MOST_REPEATS
    assert watch.effect_times > 1


@pytest.mark.parametrize(
    ("queued", "busy"), [((10_000, 100_000), 200_000), ((1, 2), LEAST_BUSY_NS), ((10, 1 << 40), MOST_BUSY_NS)]
)
def test_every_side_s_device_is_kept_busy_as_long_as_the_slowest_needs(queued, busy):
    arms = [OnDevice(queued_ns=q) for q in queued]
    benchmark(*arms).hold(4, 1e9)
    assert [s.busy_ns for s in arms] == [busy] * 2


def test_what_serial_code_queues_on_the_host_keeps_no_device_busy():
    serial, candidate = OnDevice(queued_ns=1 << 40), OnDevice(queued_ns=100_000)
    paired = benchmark(serial, candidate)
    paired.arms = [replace(paired.arms[0], on_host=True), paired.arms[1]]
    paired.hold(4, 1e9)
    assert [side.busy_ns for side in (serial, candidate)] == [200_000] * 2


def test_call_time_is_told_for_every_side():
    arms = OnDevice(), OnDevice(waiting=(500_000, 500_000)), OnDevice(waiting=(800_000, 800_000))
    assert benchmark(*arms).waiting_us(4) == pytest.approx({"eager": 1200.0, "graph": 500.0, "candidate": 800.0})


def test_a_candidate_that_lies_about_its_call_time_is_told_by_the_clock_outside():
    liar = OnDevice(waiting=(1_000, 1_500_000))
    assert benchmark(OnDevice(), liar).waiting_us(4)["candidate"] == pytest.approx(1500.0)
