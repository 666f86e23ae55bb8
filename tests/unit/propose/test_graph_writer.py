"""Techniques that the author applies: each is a change of a schedule that there is, and of a card that there is."""

from typing import get_args

import pytest

from kernelwright.knowledge.library import technique_names
from kernelwright.propose.author.families.rows.schedule import CppSchedule, TritonSchedule
from kernelwright.propose.graph_writer import MASTERED

SCHEDULES = {"cpp": CppSchedule, "triton": TritonSchedule}
TURNS = [(language, name, turn) for language, turns in MASTERED.items() for name, turn in turns.items()]


@pytest.mark.parametrize(("language", "name", "turn"), TURNS, ids=[f"{turn[0]} {turn[1]}" for turn in TURNS])
def test_a_technique_is_a_change_that_the_author_can_make(language, name, turn):
    assert name in technique_names()
    option, _, value = turn.partition("=")
    field = SCHEDULES[language].model_fields[option]
    named = get_args(field.annotation)
    assert value in map(str, named) if named else value.isdigit()
