"""With feedback the author finds better schedules than without, on the same budget; memos survive JSON."""

import math
import statistics

import pytest

from kernelwright.propose.author.ir.space import Option, Space
from kernelwright.propose.author.search.learn import Base, Learner, Memo, Past, Step, read_memo
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.feedback import Feedback


class Options(Record):
    a: int = 1
    b: int = 1
    c: int = 1
    d: str = "slow"
    e: str = "off"
    f: int = 1


SIZES = (1, 2, 4, 8, 16)
SPACE = Space(
    Options,
    (
        Option("a", SIZES, "memory"), Option("b", SIZES, "memory"), Option("c", SIZES, "compute"),
        Option("d", ("slow", "middle", "fast"), "compute"), Option("e", ("off", "on"), "latency"),
        Option("f", SIZES, "latency"),
    ),
)  # fmt: skip


def cost(s):
    """A synthetic speedup with one optimum and a trap on the way."""
    gain = -abs(math.log2(s.a) - 3) - abs(math.log2(s.b) - 2) - 0.5 * abs(math.log2(s.c) - 4)
    gain += {"slow": 0, "middle": -0.5, "fast": 1.5}[s.d] + (1.0 if s.e == "on" else 0)
    return 2.0 ** (gain - 0.3 * abs(math.log2(s.f)))


ORIGIN = Options()
SENSIBLE = Options(a=4, b=2, c=8)


def attempt(number, step, defines=()):
    candidate = Candidate(language="cpp", source=str(step.schedule), defines=defines)
    return Attempt(
        number=number, proposal_request=ProposalRequest(number=number, intent="improve"),
        proposal=Proposal(candidate=candidate, memo=step.memo.model_dump_json()),
        evaluation=BuildFailed(log=""), cost=Cost(),
    )  # fmt: skip


def words(number, speedup, works=True, bottleneck="unknown"):
    return Feedback(attempt=number, words="SUCCESS", works=works, speedup_eager=speedup, bottleneck=bottleneck)


def rough(s):
    """An estimate of what a schedule takes, which knows of two options nothing."""
    return 1 / cost(s.model_copy(update={"d": "slow", "f": 1}))


def learner(seed=0, home=ORIGIN, estimate=None):
    return Learner(SPACE, "cpp", home, seed, estimate=estimate)


def search(seed, budget, withheld, latest=False, home=SENSIBLE, estimate=None):
    """Best speedup of a greedy strategy, which expands the best attempt or, with `latest`, the last one."""
    step = learner(seed, home, estimate).start()
    history = []
    for number in range(budget):
        history.append((cost(step.schedule), attempt(number, step)))
        score, parent = history[-1] if latest else max(history, key=lambda pair: pair[0])
        feedback = () if withheld else (words(parent.number, score),)
        past = Past((parent,), feedback, number + 1)
        step = learner(1000 * seed + number, home, estimate).improve(past)
    return max(score for score, _ in history)


@pytest.mark.parametrize("latest", [False, True])
def test_feedback_beats_blindness_on_equal_budget(latest):
    gains = [search(s, 20, False, latest) / search(s, 20, True, latest) for s in range(40)]
    assert statistics.geometric_mean(gains) > 1.2
    assert sum(g > 1 for g in gains) > 1.5 * sum(g < 1 for g in gains)


def test_a_rough_estimate_beats_none_on_equal_budget():
    gains = [search(s, 10, False, estimate=rough) / search(s, 10, False) for s in range(40)]
    assert statistics.geometric_mean(gains) > 1.1
    assert sum(g > 1 for g in gains) > 1.5 * sum(g < 1 for g in gains)


@pytest.mark.parametrize("intent", ["start", "improve"])
def test_what_is_estimated_to_be_hopeless_is_not_tried(intent):
    parent = made(SENSIBLE, "a=4", ORIGIN, 1.0)
    for number in range(2, 40):
        asked = learner(number, SENSIBLE, rough)
        step = asked.start() if intent == "start" else asked.improve(Past((parent,), (words(1, 2.0),), number))
        assert rough(step.schedule) < 4 * rough(SENSIBLE), step.note


def test_starting_points_differ_with_the_seed_and_repeat_with_it():
    starts = [learner(s).start().schedule for s in range(12)]
    assert len(set(starts)) >= 10
    assert starts[3] == learner(3).start().schedule


@pytest.mark.parametrize("latest", [False, True])
def test_no_turn_is_tried_twice_from_the_same_best(latest):
    first = attempt(0, learner().start())
    seen, parent, score = [], first, 5.0
    for number in range(1, 18):
        step = learner(number).improve(Past((parent,), (words(0, score),), number))
        seen.append(step.memo.turned)
        assert step.memo.base.schedule == read_memo(first.proposal.memo).schedule
        if latest:
            parent, score = attempt(number, step), 1.0
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("estimate", [None, rough])
def test_pairs_make_kernels_of_their_own(estimate):
    """With 25 single turns, most of these are pairs; `e` means nothing beside `d=fast`, so some make the same kernel."""

    def kernel(s):
        return str(s.model_copy(update={"e": "off"}) if s.d == "fast" else s)

    asked = Learner(SPACE, "cpp", SENSIBLE, 0, kernel, estimate)
    parent = attempt(0, asked.default())
    made = [asked.improve(Past((parent,), (words(0, 1.0),), n)).schedule for n in range(1, 60)]
    assert len({kernel(s) for s in made} - {kernel(SENSIBLE)}) == len(made)
    assert sum(sum(x != y for x, y in zip(s, SENSIBLE, strict=True)) == 2 for s in made) > 20


def test_where_the_turn_is_known_each_request_draws_another_of_its_own():
    parent = attempt(0, learner().start())
    past = Past((parent,), (words(0, 1.0),), 1)
    drawn = {str(learner(seed).another(past).schedule) for seed in range(20)}
    assert len(drawn) > 12


def test_an_estimate_that_calls_everything_hopeless_is_not_believed():
    asked = learner(estimate=lambda s: 0.0 if s == Options() else 1.0)
    parent = attempt(0, asked.default())
    made = {str(asked.improve(Past((parent,), (words(0, 1.0),), n)).schedule) for n in range(1, 10)}
    assert len(made) == 9


@pytest.mark.parametrize("feedback", [(), (words(0, 1.0),)], ids=["withheld", "told"])
def test_a_space_without_options_has_one_schedule(feedback):
    only = Learner(Space(Options, ()), "cpp", Options(), 0)
    past = Past((attempt(0, only.default()),), feedback, 1)
    for step in (only.start(), only.improve(past), only.another(past), only.repair(past)):
        assert step.schedule == Options()


def test_siblings_of_one_expansion_differ():
    parent = attempt(0, learner().start())
    pasts = [Past((parent,), (words(0, 1.0),), number, k, 4) for number in (1, 2) for k in range(4)]
    assert len({learner().improve(past).memo.turned for past in pasts}) == 8


def made(schedule, turned, base, score):
    found = Base(schedule=base.model_dump(), score=score, at=0)
    memo = Memo(language="cpp", schedule=schedule.model_dump(), turned=(turned,), base=found)
    return attempt(1, Step(schedule, "", memo))


def test_a_direction_that_paid_is_continued():
    parent = made(Options(a=2), "a=2", Options(), 1.0)
    assert learner().improve(Past((parent,), (words(1, 1.5),), 2)).schedule == Options(a=4)


def test_from_a_fresh_start_the_first_turn_is_home():
    parent = attempt(0, learner(3).start())
    assert learner(3).improve(Past((parent,), (words(0, 1.0),), 1)).schedule == Options()


def test_a_turn_that_did_not_pay_is_taken_back():
    parent = made(Options(a=2), "a=2", Options(b=4), 1.0)
    step = learner().improve(Past((parent,), (words(1, 0.5),), 2))
    assert sum(x != y for x, y in zip(step.schedule, Options(b=4), strict=True)) == 1


def test_the_bottleneck_decides_what_is_turned():
    chosen = []
    for seed in range(100):
        parent = attempt(0, learner(seed).start())
        past = Past((parent,), (words(0, 1.0, bottleneck="latency"),), 2)
        chosen.append(learner().improve(past).memo.turned[0])
    assert sum(name[0] in "ef" for name in chosen) > 45


def test_a_dial_that_changes_nothing_is_left_alone():
    deaf = Learner(SPACE, "cpp", Options(), 0, lambda s: str((s.a, s.b)))
    parent = attempt(0, learner().start())
    turned = {deaf.improve(Past((parent,), (words(0, 1.0),), n)).memo.turned[0][0] for n in range(1, 9)}
    assert turned == {"a", "b"}


def test_repair_goes_back_to_what_worked_or_to_the_safe_default():
    lost = attempt(0, learner().start())
    assert learner().repair(Past((lost,), (words(0, None, works=False),), 1)).schedule == Options()
    broken = made(Options(a=16), "a=16", Options(b=4), 2.0)
    again = learner().repair(Past((broken,), (words(1, None, works=False),), 2))
    assert sum(x != y for x, y in zip(again.schedule, Options(b=4), strict=True)) == 1


@pytest.mark.parametrize("hint", ["fast", "d=fast", "go-fast"])
def test_a_technique_is_applied_by_name(hint):
    parent = attempt(0, learner(1).start())
    assert learner().apply(Past((parent,), (words(0, 1.0),), 1), hint).schedule.d == "fast"


def test_what_the_sweep_chose_is_learnt():
    parent = attempt(0, learner(1).start(), (Define(name="A", value=8),))
    assert learner().apply(Past((parent,), (words(0, 1.0),), 1), "e=on").schedule.a == 8


def test_foreign_memos_are_ignored():
    assert read_memo("") is None
    assert read_memo("{}") is None
    assert read_memo(Memo(language="cpp", schedule={}, version=2).model_dump_json()) is None
