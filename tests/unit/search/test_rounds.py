"""Several expansions in flight: what a round asks for depends on the rounds before it and on nothing else."""

import pytest
from play_strategy import CONFIG, Player, feedback_of

from kernelwright.search.strategy import Limits

SEPARATE = {"name": "fsr", "n": 4, "requests": "separate"}


def fsr(**limits):
    return CONFIG.validate_python(SEPARATE).make(Limits(**limits))


@pytest.mark.parametrize("room", [1, 2, 3, 9])
def test_a_round_is_out_as_far_as_there_is_room(room):
    strategy = fsr(proposals=9)
    asked = [len(strategy.ask(room)) for _ in range(5)]
    assert sum(asked) == 4
    assert asked[0] == min(room, 4)


def test_a_round_is_no_wider_than_the_budget():
    assert len(fsr(proposals=3).ask(9)) == 3


def test_the_next_round_waits_for_the_last_answer():
    player = Player(SEPARATE, proposals=12)
    first = player.strategy.ask(9)
    for place, proposal_request in enumerate(first):
        assert player.strategy.ask(9) == []
        player.asked.append(proposal_request)
        player.answer(f"measured {place + 1}")
    second = player.strategy.ask(9)
    assert [e.number for e in second] == [4, 5, 6, 7]
    assert {e.parents for e in second} == {(3,)}, "the fastest of the round, whichever request it answered"


def test_both_kinds_of_request_learn_the_same_of_a_round():
    fates = ["incorrect", "measured 2", "build_failed", "measured 3"]
    shared, separate = Player({**SEPARATE, "requests": "shared"}), Player(SEPARATE)
    shared.play(fates)
    for fate in fates:
        separate.ask()
        separate.answer(fate)
    assert separate.strategy.rounds == shared.strategy.rounds
    assert separate.ask().model_copy(update={"count": 4, "number": 1}) == shared.asked[-1]


def test_the_reward_and_the_words_are_told_together():
    player = Player({"name": "tritongym"})
    player.play("incorrect")
    told = feedback_of(player.attempts[0])
    assert told.reward == -5.0
    assert told.words.startswith("Functional Failure")


def test_the_budget_that_it_brings_ends_at_the_last_round_even_where_every_round_is_repaired_to_the_limit():
    player = Player({"name": "fsr"}, proposals=CONFIG.validate_python({"name": "fsr"}).usual_proposals())
    worst = [["build_failed"] * 5] * 3 + [["measured 2", *["incorrect"] * 4]]
    player.play(*worst * 3)
    assert player.ask() is None
    words = player.strategy.finished()
    assert "round 3: 5 made" in words
    assert "repair 3: 5 made, 5 compile, 1 pass" in words
