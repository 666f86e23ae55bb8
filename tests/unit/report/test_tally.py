"""Sums over a run."""

import itertools

import fake_runs as fake
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.report import tally


def test_counts_are_complete_and_best_first():
    found = tally.counts(fake.one_of_each())
    assert tuple(found) == OUTCOMES
    assert set(found.values()) == {1}
    assert tally.counts([]) == {}


def test_staircase_only_rises():
    steps = tally.staircase(fake.long_run())
    assert len(steps) > 3
    assert all(a.speedup < b.speedup and a.attempt < b.attempt for a, b in itertools.pairwise(steps))


def test_staircase_of_nothing_timed():
    assert tally.staircase([fake.attempt(0, fake.every_outcome()[7])]) == ()


def test_a_known_evaluation_is_not_paid_twice():
    once = fake.attempt(0, fake.measured())
    again = fake.attempt(1, fake.measured(), known=0)
    assert tally.stage_seconds([once, again]) == {"compile": 0.61, "verify": 1.32, "measure": 2.4}


def test_cost_and_disabled():
    run = [fake.attempt(0, fake.measured(disabled=("poison", "guard"))), fake.attempt(1, fake.measured())]
    assert tally.cost(run).tokens == 2400
    assert tally.disabled(run) == ("guard", "poison")


def test_what_was_taken_from_the_cache_is_counted_and_not_paid():
    taken = fake.attempt(0, fake.measured().model_copy(update={"cached_from": "earlier"}))
    assert tally.stage_seconds([taken]) == {}
    assert tally.counts([taken]) == {"measured": 1}
