"""What each strategy asks for after a written sequence of outcomes: the control flow of its pseudocode, step by step.

A file of `golden/` is read by hand first: `asks` has the fields of an expansion that are not the default ones, `gets` the
outcomes in `play_strategy`'s words, `ends` the last words (null: the budget ends it, not the strategy).
"""

import pytest
from play_strategy import TRACES, Player

from kernelwright.records.attempt import ProposalRequest
from kernelwright.search.table import STRATEGIES, spellings


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
def test_a_strategy_asks_as_its_pseudocode_does(trace):
    player = Player(trace["config"], **trace["limits"])
    for number, turn in enumerate(trace["turns"]):
        assert player.ask() == ProposalRequest(number=number, **turn["asks"]), f"turn {number}"
        player.answer(*turn["gets"])
    assert player.ask() is None
    assert player.strategy.finished() == trace["ends"]


def test_every_strategy_and_every_variant_has_a_trace():
    assert {spelling(trace["config"]) for trace in TRACES.values()} == set(spellings())


def spelling(settings):
    config = STRATEGIES[settings["name"]](**settings)
    return f"{config.name}:{getattr(config, config.variant)}" if config.variant else config.name
