"""Strategies ask and tell as their pages say, and are a function of what they were told."""

import pytest
from pydantic import TypeAdapter

import kernelwright.search
from kernelwright.records.attempt import Expansion
from kernelwright.search.best_of_n import BestOfN, BestOfNConfig
from kernelwright.search.limits import Limits
from kernelwright.search.table import STRATEGIES, StrategyConfig, make_strategy
from kernelwright.search.tritongym import TritonGym, TritonGymConfig
from kernelwright.testing.samples import sample_attempt


def tell(strategy, number, outcome="measured", speedup=2.0):
    strategy.tell(sample_attempt(number, outcome, speedup), 0.0)


def test_best_of_n_asks_for_independent_seeds_until_all_are_out():
    strategy = BestOfN(BestOfNConfig(n=5), Limits(proposals=99))
    asked = [*strategy.ask(3), *strategy.ask(3), *strategy.ask(3)]
    assert asked == [Expansion(number=n, intent="seed") for n in range(5)]


def test_best_of_n_is_finished_when_all_were_told():
    strategy = BestOfN(BestOfNConfig(), Limits(proposals=2))
    strategy.ask(2)
    tell(strategy, 0)
    assert strategy.finished() is None
    tell(strategy, 1)
    assert strategy.finished() == "All 2 independent candidates were judged."


def gym(**limits):
    return TritonGym(TritonGymConfig(), Limits(**({"proposals": 9} | limits)))


def test_tritongym_begins_with_a_seed_and_waits_for_it():
    strategy = gym()
    assert strategy.ask(4) == [Expansion(number=0, intent="seed")]
    assert strategy.ask(4) == []


@pytest.mark.parametrize(
    ("outcome", "intent"),
    [("measured", "improve"), ("verified", "improve"), ("compiled", "improve"), ("incorrect", "repair"),
     ("build_failed", "repair"), ("suspect", "repair"), ("refused", "repair")],
)  # fmt: skip
def test_tritongym_refines_the_previous_kernel(outcome, intent):
    strategy = gym()
    strategy.ask(1)
    tell(strategy, 0, outcome)
    assert strategy.ask(1) == [Expansion(number=1, intent=intent, parents=(0,))]


def test_tritongym_shows_the_best_beside_a_worse_previous_one():
    strategy = gym()
    for number, speedup in enumerate((2.0, 4.0, 3.0)):
        strategy.ask(1)
        tell(strategy, number, "measured", speedup)
    assert strategy.ask(1)[0].parents == (2, 1)


def test_tritongym_stops_within_the_target():
    strategy = gym(target_us=25.0)
    strategy.ask(1)
    tell(strategy, 0, "measured", 3.9)
    assert strategy.finished() is None
    strategy.ask(1)
    tell(strategy, 1, "measured", 4.0)
    assert strategy.finished() == "Optimized kernel found within target."
    assert strategy.ask(1) == []


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (("measured", "incorrect"), "Best kernel after max attempts. Latency: 50.00 us."),
        (("incorrect", "crashed"), "Failed to generate a functional kernel."),
        (("verified", "refused"), "Functional kernel after max attempts"),
    ],
)
def test_tritongym_says_how_it_ended(outcomes, words):
    strategy = gym(proposals=2)
    for number, outcome in enumerate(outcomes):
        strategy.ask(1)
        tell(strategy, number, outcome)
    assert strategy.finished().startswith(words)


def test_the_table_holds_every_strategy_and_its_configuration(modules_of):
    names = modules_of(kernelwright.search) - {"limits", "strategy", "table"}
    assert names == set(STRATEGIES)
    for name in names:
        config = TypeAdapter(StrategyConfig).validate_python({"name": name})
        assert make_strategy(config, Limits(proposals=1)).ask(1)
