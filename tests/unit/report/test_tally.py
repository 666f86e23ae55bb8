"""Sums over a run."""

import itertools

import fake_runs as fake
from kernelwright.records.answer import worth
from kernelwright.records.attempt import fastest
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.records.measure import Load, Ratio
from kernelwright.report import tally


def timed(low, median, high):
    found = fake.measured(median)
    eager = found.timing.versus[0].model_copy(
        update={"speedup": Ratio(median=median, low=low, high=high, confidence=0.99)}
    )
    return found.model_copy(update={"timing": found.timing.model_copy(update={"versus": (eager,)})})


def test_counts_are_complete_and_best_first():
    found = tally.counts(fake.one_of_each())
    assert tuple(found) == OUTCOMES
    assert set(found.values()) == {1}
    assert tally.counts([]) == {}


def test_staircase_goes_on_with_the_attempts():
    steps = tally.staircase(fake.long_run())
    assert len(steps) > 3
    assert all(a.attempt < b.attempt for a, b in itertools.pairwise(steps))


def test_staircase_takes_the_step_that_the_search_takes():
    vague, sure = fake.attempt(0, timed(1.8, 2.6, 2.65)), fake.attempt(1, timed(1.9, 2.0, 2.1))
    assert fastest([vague, sure]) == sure
    assert tally.staircase([vague, sure]) == (tally.Step(0, 2.6), tally.Step(1, 2.0))
    assert tally.staircase([sure, vague]) == (tally.Step(1, 2.0),)


def test_an_interval_wider_than_a_factor_of_one_and_a_half_is_no_plotted_best():
    blurred, sure = fake.attempt(0, timed(5.0, 9.0, 17.6)), fake.attempt(1, timed(1.9, 2.0, 2.1))
    assert fastest([blurred, sure]) == sure
    assert tally.staircase([blurred, sure]) == (tally.Step(1, 2.0),)
    assert tally.staircase([blurred]) == ()


def test_a_kernel_is_kept_by_the_lower_end_however_wide_the_interval_is():
    surely = fake.attempt(0, timed(3.54, 4.5, 6.11))
    assert worth(surely.evaluation, 1.0)
    assert not worth(surely.evaluation, 3.6)
    perhaps = fake.attempt(0, timed(0.36, 4.0, 11.1))
    assert not worth(perhaps.evaluation, 1.0)
    assert worth(perhaps.evaluation, 0.0)


def test_other_work_is_told_of_the_attempts_that_it_makes_doubtful():
    quiet = fake.attempt(0, fake.measured())
    busy = fake.attempt(1, fake.beside(fake.measured(), Load(cores=2, before=0.4, during=1.2, waiting=3)))
    assert tally.other_work([quiet]) == ""
    assert tally.other_work([quiet, busy]) == (
        "This machine was busy while 1 of 2 attempts were timed, and their figures are doubtful; at worst, other work kept "
        "1.2 of 2 cores busy, 0.4 just before, and 3 of its threads ran or waited."
    )


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
