"""Strategies ask and tell as their pages say, and are a function of what they were told."""

import pytest
from play_strategy import CONFIG, SCOPE, Player, feedback_of

from kernelwright.records.attempt import ProposalRequest
from kernelwright.search.strategy import Limits
from kernelwright.search.table import STRATEGIES, listed, spellings


def make(config, **limits):
    return CONFIG.validate_python(config).make(Limits(**limits))


@pytest.mark.parametrize("name", ["best_of_n", "direct"])
def test_independent_seeds_are_asked_for_until_all_are_out(name):
    strategy = make({"name": name, "n": 5}, proposals=99)
    asked = [*strategy.ask(3), *strategy.ask(3), *strategy.ask(3)]
    assert asked == [ProposalRequest(number=n, intent="seed") for n in range(5)]


def test_independent_seeds_are_never_more_than_the_budget_has():
    assert len(make({"name": "direct"}, proposals=2).ask(9)) == 2
    assert {seed.role for seed in make({"name": "direct", "role": "frontend"}, proposals=2).ask(9)} == {"frontend"}


def test_pass_at_k_is_failed_when_none_works():
    player = Player({"name": "direct", "n": 2})
    player.play("incorrect", ["empty"])
    assert player.strategy.finished() == "pass@2: failed. 0 of 2 direct answers work; none saw feedback."


def test_shots_in_flight_when_the_target_is_met_are_the_last():
    strategy = make({"name": "tritongym", "workflow": "one_shot"}, proposals=9, target_us=50.0)
    assert len(strategy.ask(2)) == 2
    attempt = Player({"name": "direct"})._attempt(ProposalRequest(number=0, intent="seed"), "measured 2")
    strategy.tell(attempt, feedback_of(attempt))
    assert strategy.ask(2) == []


SERIAL = [
    {"name": "cudaforge"}, {"name": "fsr"}, {"name": "frontend_midend"}, {"name": "tritongym"},
    *({"name": "tritongym", "workflow": workflow} for workflow in ("reflective", "evolutionary", "agent")),
]  # fmt: skip


@pytest.mark.parametrize("config", SERIAL, ids=lambda c: c.get("workflow", c["name"]))
def test_one_expansion_is_out_at_a_time(config):
    strategy = make(config, proposals=9)
    assert len(strategy.ask(4)) == 1
    assert strategy.ask(4) == []


@pytest.mark.parametrize(
    ("outcome", "intent"),
    [("measured", "improve"), ("verified", "improve"), ("compiled", "improve"), ("incorrect", "repair"),
     ("build_failed", "repair"), ("suspect", "repair"), ("refused", "repair"), ("crashed", "repair")],
)  # fmt: skip
@pytest.mark.parametrize("config", SERIAL, ids=lambda c: c.get("workflow", c["name"]))
def test_what_works_is_improved_and_what_fails_is_repaired(config, outcome, intent):
    proposal_request = Player(config).play(outcome)
    assert (proposal_request.intent, proposal_request.parents) == (intent, (0,))


@pytest.mark.parametrize("config", [c for c in SERIAL if c.get("workflow") != "agent"], ids=str)
def test_an_answer_without_a_kernel_is_never_a_parent(config):
    player = Player(config)
    assert player.play("empty", []).intent == "seed"


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (("measured", "incorrect"), "Best kernel after max attempts. Latency: 50.00 us."),
        (("incorrect", "crashed"), "Failed to generate a functional kernel."),
        (("verified", "refused"), "Functional kernel after max attempts; nothing was timed on this machine."),
        ([[], []], "Failed to generate a functional kernel."),
    ],
)
def test_tritongym_says_how_it_ended(outcomes, words):
    player = Player({"name": "tritongym"}, proposals=2)
    player.play(*outcomes)
    assert player.strategy.finished() == words


def test_a_goal_of_its_own_wins_over_the_target():
    player = Player({"name": "cudaforge", "goal_us": 20.0}, target_us=60.0)
    assert player.play("measured 2") is not None
    player = Player({"name": "cudaforge"}, target_us=60.0)
    assert player.play("measured 2") is None
    assert player.strategy.finished() == "Performance goal of 60.00 us met in round 1: 50.00 us."


def test_the_best_met_again_is_shown_once():
    assert Player({"name": "cudaforge"}).play("measured 2", "measured 2 as 0").parents == (0,)


def test_no_correct_kernel_is_said_so():
    player = Player({"name": "cudaforge", "rounds": 2})
    player.play("incorrect", "build_failed")
    assert player.strategy.finished() == "No correct kernel in 2 rounds."


def test_a_log_as_long_as_a_book_is_a_line_in_the_hint():
    player = Player({"name": "cudaforge"})
    player.ask()
    attempt = player._attempt(player.asked[0], "build_failed")
    log = "note: nothing\n" + "x.cu(3): error: " + "y" * 9999
    evaluation = attempt.evaluation.model_copy(update={"log": log})
    player.strategy.tell(attempt.model_copy(update={"evaluation": evaluation}), feedback_of(attempt))
    player.strategy.closed(player.asked[0])
    asked = player.ask()
    assert asked.order == "Fix compilation error:"
    assert asked.hint.startswith("x.cu(3): error: yyy")
    assert len(asked.hint) < 400


def test_fsr_keeps_what_each_verifier_said():
    player = Player({"name": "fsr", "n": 4})
    player.play(["measured 2", "build_failed", "incorrect", "verified"])
    (found,) = player.strategy.rounds
    assert (found.made, found.compiled, found.passed) == ((0, 1, 2, 3), (0, 2, 3), (0, 3))
    assert found.latencies_us == (50.0, None)


def test_fsr_stops_within_the_target():
    player = Player({"name": "fsr", "n": 1}, target_us=60.0)
    player.play("measured 2")
    assert player.strategy.finished().startswith("Fastest verified kernel over all rounds: 50.00 us")


def test_fsr_without_a_kernel_says_so():
    player = Player({"name": "fsr", "n": 1, "depth": 1, "repair_limit": 0})
    player.play("incorrect")
    assert player.strategy.finished() == "No candidate passed (round 1: 1 made, 1 compile, 0 pass)."


def test_the_frontend_has_half_of_the_budget_and_the_mid_end_the_rest():
    player = Player({"name": "frontend_midend"}, proposals=5)
    player.play(*["incorrect"] * 3)
    assert [e.role for e in player.asked] == ["frontend"] * 3
    player = Player({"name": "frontend_midend"}, proposals=5)
    player.play(*["measured"] * 5)
    assert [e.role for e in player.asked] == ["frontend"] + ["midend"] * 4
    assert player.strategy.finished().endswith("(frontend attempts: 1, mid-end edits: 4).")


def test_the_mid_end_stops_within_the_target():
    player = Player({"name": "frontend_midend"}, target_us=50.0)
    player.play("measured 1", "measured 2")
    assert player.strategy.finished().startswith("Verified kernel within target. Runtime: 50.00 us")


def test_parents_are_drawn_by_the_seed_of_the_configuration():
    def drawn(seed):
        player = Player({"name": "tritongym", "workflow": "evolutionary", "seed": seed}, proposals=40)
        player.play(*[f"measured {n}" for n in range(1, 30)])
        return [e.parents for e in player.asked]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    firsts = [parents[0] for parents in drawn(1)[9:]]
    assert len(set(firsts)) > 5


def test_every_strategy_in_the_table_makes_itself_and_says_what_it_needs():
    for name, config in STRATEGIES.items():
        made = config()
        assert made.name == name
        assert made.make(Limits(proposals=1, scope=SCOPE)).ask(1)
        assert 1 <= made.trials(7) <= 7
        assert bool(made.expected_calls(7)) == config.listed


def test_people_choose_all_but_what_belongs_to_one_door():
    assert set(STRATEGIES) - set(listed()) == {"outside"}
    assert {text.partition(":")[0] for text in spellings()} == set(STRATEGIES)
    assert {"cudaforge:best", "cudaforge:current", "tritongym:agent", "fsr"} <= set(spellings())
