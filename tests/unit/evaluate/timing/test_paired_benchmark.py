"""The contest between fakes whose clocks are scripted: order, freshness, the smallest of three, when it ends."""

from collections import Counter
from dataclasses import replace
from itertools import chain, count, cycle, repeat

import pytest

from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, TimedRun
from kernelwright.evaluate.timing.clock import ALONE_NS, DEVICE, ROUNDS, SAMPLE_NS, Arm, PairedBenchmark
from kernelwright.evaluate.timing.conditions import Watch

WARMING_ROUNDS = 2
NAMES = ("eager", "compile", "candidate")


class Scripted:
    """A side that takes the nanoseconds for one call that its script says, and writes down what it met."""

    def __init__(self, name, ns=lambda turn: 1_000_000, inside=0.98):
        self.name, self.ns, self.inside = name, ns, inside
        self.met, self.turns = [], 0

    def spin_before_calls(self, busy_ns):
        """A CPU has no queue to hide."""

    def run(self, calls, checked, variant=""):
        assert not checked, "timed results are not dressed in guards"
        self.met += calls
        taken = self.ns(self.turns) * len(calls)
        self.turns += 1
        return TimedRun(tuple(() for _ in calls), taken, int(taken * self.inside))


class Stage:
    """A contest with everything that it did in order."""

    def __init__(self, *arms, inside=False):
        self.arms, self.log, self.tokens = arms, [], count()
        self.benchmark = PairedBenchmark(
            arms=[Arm(s.name, s, s.name) for s in arms],
            fresh=self._fresh,
            after=lambda arm, ran: self.log.append(arm.name),
            round_over=lambda: self.log.append("round over"),
            inside=inside,
        )

    def _fresh(self, calls):
        self.log.append(f"fresh {calls}")
        return [(next(self.tokens),) for _ in range(calls)]

    def rounds(self):
        """Orders of the rounds that were timed."""
        found, order = [], []
        for told in self.log:
            if told == "round over":
                found.append(order)
                order = []
            elif not told.startswith("fresh"):
                order.append(told)
        return found[WARMING_ROUNDS:]


def stage(**ns):
    return Stage(*(Scripted(name, ns.get(name, lambda turn: 1_000_000)) for name in NAMES))


def test_every_round_meets_every_side_once_in_a_mirrored_order():
    on = stage()
    on.benchmark.hold(10, 1e9)
    rounds = on.rounds()
    assert len(rounds) == 10 * ROUNDS
    assert all(sorted(order) == sorted(NAMES) for order in rounds)
    for first, second, third in zip(*[iter(rounds)] * ROUNDS, strict=True):
        assert second == first[::-1]
        assert third == first


def test_no_side_is_favoured_by_its_place():
    on = stage()
    on.benchmark.hold(600, 1e9)
    blocks = on.rounds()[::ROUNDS]
    for place in range(len(NAMES)):
        places = Counter(order[place] for order in blocks)
        assert all(140 <= places[name] <= 260 for name in NAMES)  # 200 expected, five standard deviations


def test_nobody_meets_the_same_inputs_twice_and_all_meet_the_same():
    on = stage()
    on.benchmark.hold(9, 1e9)
    met = [side.met for side in on.arms]
    assert all(len(set(m)) == len(m) for m in met)
    assert met[0] == met[1] == met[2]


def test_results_are_looked_at_before_the_next_side_runs_and_inputs_live_for_a_round():
    seen = []
    arms = [Scripted(n) for n in ("eager", "candidate")]
    benchmark = PairedBenchmark(
        arms=[Arm(s.name, s) for s in arms],
        fresh=lambda calls: seen.append("fresh") or [(0,)] * calls,
        after=lambda arm, ran: seen.append(sum(s.turns for s in arms)),
        round_over=lambda: seen.append("over"),
    )
    benchmark.hold(4, 1e9)
    assert seen[:4] == ["fresh", 1, 2, "over"]
    turns = [s for s in seen if isinstance(s, int)]
    assert turns == list(range(1, len(turns) + 1))


def test_a_challenge_comes_among_the_rounds_of_some_blocks_and_its_time_does_not_count():
    on = stage(candidate=lambda turn: 2_000_000)
    challenges = []

    def challenge(calls):
        challenges.append(len(on.rounds()))
        on.log.append("fresh challenge")
        return [(next(on.tokens),) for _ in range(calls)]

    on.benchmark.challenge = challenge
    samples = on.benchmark.hold(60, 1e9)
    assert len(challenges) >= 5
    assert len(on.rounds()) == 60 * ROUNDS + len(challenges)
    assert {at % ROUNDS for at in challenges} != {0}, "nobody can tell which round it is"
    assert samples.us["candidate"] == pytest.approx([2000.0] * 60)


def test_one_round_more_is_of_eager_and_the_candidate_on_inputs_of_its_own():
    on = stage()
    on.benchmark.once_more(3)
    assert on.log == ["fresh 3", "eager", "candidate", "round over"]
    assert [len(side.met) for side in on.arms] == [3, 0, 3]


def test_a_sample_is_the_smallest_of_its_three_rounds():
    spoiled = (30_000_000, 10_000_000, 20_000_000)

    def ns(turn):
        return spoiled[(turn - WARMING_ROUNDS) % ROUNDS] if turn >= WARMING_ROUNDS else 5_000_000

    on = stage(candidate=ns)
    samples = on.benchmark.hold(5, 1e9)
    assert samples.us["candidate"] == pytest.approx([10_000.0] * 5)
    assert samples.us["eager"] == pytest.approx([1000.0] * 5)


@pytest.mark.parametrize(
    ("fastest", "wanted"),
    [
        (SAMPLE_NS * 10, 1),
        (SAMPLE_NS, 1),
        (ALONE_NS, 1),
        (SAMPLE_NS // 4, 4),
        (SAMPLE_NS // 20, 20),
        (SAMPLE_NS // 4000, MOST_CALLS),
        (1, MOST_CALLS),
    ],
)
def test_calls_are_as_many_as_the_fastest_side_needs(fastest, wanted):
    on = stage(eager=lambda turn: SAMPLE_NS * 10, compile=lambda turn: SAMPLE_NS * 10, candidate=lambda turn: fastest)
    assert on.benchmark.calls_per_sample() == wanted


def test_a_side_that_is_thousands_of_times_as_slow_has_few_calls():
    """A serial function must compute every timed call, to say what it should be."""
    on = stage(eager=lambda turn: 250_000_000, candidate=lambda turn: 50_000)
    assert on.benchmark.calls_per_sample() == 8
    on.benchmark.pace = DEVICE
    assert on.benchmark.calls_per_sample() == 1


def test_the_slow_first_call_does_not_decide_how_many():
    on = stage(candidate=lambda turn: SAMPLE_NS * 100 if turn == 0 else SAMPLE_NS // 5, eager=lambda turn: SAMPLE_NS)
    assert on.benchmark.calls_per_sample() == 5


def test_every_side_gets_the_same_number_of_calls():
    on = stage(candidate=lambda turn: SAMPLE_NS // 7)
    samples = on.benchmark.hold(4, 1e9)
    assert samples.calls == 7
    assert on.log.count("fresh 7") == 4 * ROUNDS
    assert on.log.count("fresh 1") == WARMING_ROUNDS
    assert samples.us["candidate"] == pytest.approx([SAMPLE_NS / 7 / 1000] * 4, rel=1e-6)


def test_the_limit_ends_it_but_not_before_eight_blocks():
    second = stage(**dict.fromkeys(NAMES, lambda turn: 1_000_000_000))  # nine seconds a block
    assert len(second.benchmark.hold(60, 30.0).us["candidate"]) == 8
    longer = stage(**dict.fromkeys(NAMES, lambda turn: 1_000_000_000))
    assert len(longer.benchmark.hold(60, 9.0 * 20).us["candidate"]) == 20


def test_three_blocks_are_enough_of_a_kernel_of_many_seconds():
    slow = stage(**dict.fromkeys(NAMES, lambda turn: 10_000_000_000))  # ninety seconds a block
    assert len(slow.benchmark.hold(60, 5.0).us["candidate"]) == 3


def test_fewer_blocks_than_eight_can_be_asked_for():
    assert len(stage().benchmark.hold(4, 1.0).us["eager"]) == 4


def test_blocks_are_as_many_as_asked_for_within_the_limit():
    samples = stage().benchmark.hold(13, 1e9)
    assert {len(v) for v in samples.us.values()} == {13}


@pytest.mark.parametrize("inside", [False, True])
def test_the_grader_s_clock_counts_unless_told_otherwise(inside):
    liar = Scripted("candidate", lambda turn: 10_000_000, inside=0.1)
    honest = Scripted("eager", lambda turn: 10_000_000)
    samples = Stage(honest, liar, inside=inside).benchmark.hold(4, 1e9)
    assert samples.us["candidate"] == pytest.approx([1000.0 if inside else 10_000.0] * 4)


def test_each_side_runs_its_own_variant():
    asked = []

    class Asked(Scripted):
        def run(self, calls, checked, variant=""):
            asked.append(variant)
            return super().run(calls, checked, variant)

    reference = Asked("reference")
    PairedBenchmark(
        arms=[Arm("eager", reference, "eager"), Arm("candidate", reference)],
        fresh=lambda calls: [(0,)] * calls,
        after=lambda arm, ran: None,
        round_over=lambda: None,
    ).hold(4, 1e9)
    assert set(asked) == {"eager", ""}


def test_what_being_given_parameters_takes_beyond_a_trusted_side_counts():
    on = stage()
    for side, given in zip(on.arms, (100_000, 100_000, 500_000), strict=True):
        run = side.run
        side.run = lambda *a, run=run, given=given, **k: replace(run(*a, **k), given_ns=given)
    samples = on.benchmark.hold(8, 1e9)
    assert samples.us["eager"] == pytest.approx([1000.0] * 8)
    assert samples.us["candidate"] == pytest.approx([1000.0 + 500.0 - 1.25 * 100.0] * 8)


class Neighbours:
    """A meter that calls the blocks noisy which its script says."""

    def __init__(self, noisy):
        self.noisy = iter(noisy).__next__
        self.begin = self.look = lambda: None


@pytest.mark.parametrize(
    ("noisy", "disturbed", "counted"),
    [
        (cycle([True, False]), False, 10),
        (chain([True] * 9, repeat(False)), False, 10),
        (chain([True] * 6, [False] * 2, repeat(True)), True, 10),
        (repeat(True), True, 10),
        (repeat(False), False, 10),
    ],
)
def test_blocks_beside_others_are_taken_again_within_a_bound(noisy, disturbed, counted):
    on = stage()
    on.benchmark.watch = Watch(meter=Neighbours(noisy), pause=lambda seconds: None)
    samples = on.benchmark.hold(10, 1e9)
    assert (on.benchmark.watch.disturbed, len(samples.us["eager"])) == (disturbed, counted)
    assert len(on.rounds()) <= ROUNDS * 2 * 10


def test_what_was_disturbed_does_not_count_where_a_quiet_half_is_had():
    blocks = count()
    slow = {1, 3}
    on = stage(candidate=lambda turn: 3_000_000 if (turn - WARMING_ROUNDS) // ROUNDS in slow else 1_000_000)
    on.benchmark.watch = Watch(meter=Neighbours(next(blocks) in slow for _ in repeat(None)), pause=lambda seconds: None)
    samples = on.benchmark.hold(10, 1e9)
    assert samples.us["candidate"] == pytest.approx([1000.0] * 10)
    assert on.benchmark.watch.set_aside == 2


def test_others_cost_as_many_seconds_as_a_benchmark_has_at_most():
    on = stage()
    on.benchmark.watch = Watch(meter=Neighbours(repeat(True)), pause=lambda seconds: None)
    block_s = len(NAMES) * ROUNDS * 1e-3
    samples = on.benchmark.hold(1000, 20 * block_s)
    assert 30 <= len(samples.us["eager"]) <= 45
