"""What each strategy asks for after a written sequence of outcomes: the control flow of its pseudocode, step by step.

A file of `golden/` is read by hand first: `asks` has the fields of an expansion that are not the default ones, `gets` the
outcomes in `play_strategy`'s words, `ends` the last words (null: the budget ends it, not the strategy).
"""

import json
from pathlib import Path

import pytest
from play_strategy import Player

from kernelwright.records.attempt import Expansion
from kernelwright.search.table import STRATEGIES
from kernelwright.search.tritongym.table import WORKFLOWS

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_a_strategy_asks_as_its_pseudocode_does(path):
    trace = json.loads(path.read_text())
    player = Player(trace["config"], **trace["limits"])
    for number, turn in enumerate(trace["turns"]):
        assert player.ask() == Expansion(number=number, **turn["asks"]), f"turn {number}"
        player.answer(*turn["gets"])
    assert player.ask() is None
    assert player.strategy.finished() == trace["ends"]


def test_every_strategy_and_every_workflow_has_a_trace():
    configs = [json.loads(path.read_text())["config"] for path in GOLDEN]
    assert {config["name"] for config in configs} == set(STRATEGIES)
    assert {c.get("workflow", "refine") for c in configs if c["name"] == "tritongym"} == set(WORKFLOWS)
