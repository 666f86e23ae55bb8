"""The search over a graph of techniques: its loop line by line, its formulas, its memory, and what cannot go on for ever."""

import math
import random

import pytest
from walk_player import WalkPlayer

from kernelwright.errors import UsageError
from kernelwright.feedback.describe import describe
from kernelwright.knowledge.graph.file import shipped_graph
from kernelwright.records.task import SerialSpec
from kernelwright.records.technique import START, Edge, TechniqueGraph, code_id
from kernelwright.reward.table import find_reward
from kernelwright.search.edge_weights import EdgeWeights
from kernelwright.search.navigators import Mcgs, Rollout
from kernelwright.search.regraph import ReGraphConfig
from kernelwright.search.strategy import Limits, add_learned
from kernelwright.search.technique_walk import Action, State, Walk
from kernelwright.testing.samples import sample_attempt
from technique_graphs import SERIAL, code_of, cube, example, scope

NAMES = ("alpha", "beta", "gamma")
GRAPH = cube(*NAMES)


def product(gains):
    """A verdict: each technique that is on multiplies the speedup by its gain; None: it makes the kernel wrong."""

    def verdict(source):
        on = [name for name in NAMES if f"line of {name}: new" in source]
        if any(gains.get(name, 1.0) is None for name in on):
            return "incorrect", 1.0
        return "measured", 2.0 * math.prod(gains.get(name, 1.0) for name in on)

    return verdict


GAINS = product({"alpha": 2.0, "beta": 0.3, "gamma": 1.5})


# --- the loop, line by line ---------------------------------------------------------------------------------------------


def told(outcomes, reward="regraph"):
    """The strategy after steps with these fates, in order."""
    fates = iter(outcomes)
    return WalkPlayer(scope(GRAPH), lambda source: next(fates), budget=len(outcomes), reward=reward, epsilon=0.0).play()


def test_the_loop_begins_with_the_sequential_code_at_a_speedup_of_one():
    strategy = ReGraphConfig().make(Limits(proposals=4, scope=scope(GRAPH)))
    assert (strategy.best, strategy.best_speedup) == (None, 1.0)
    (request,) = strategy.ask(1)
    assert (request.intent, request.hint, request.parents) == ("apply-technique", "base", ())
    assert request.steps[0].before == SERIAL


def test_better_becomes_the_best_and_says_so():
    player = told([("measured", 3.0)])
    assert player.strategy.said == ["SUCCESS: New best kernel found (Speedup: 3.00)"]
    assert (player.strategy.best.number, player.strategy.best_speedup) == (0, 3.0)


def test_right_and_not_better_is_minor():
    player = told([("measured", 3.0), ("measured", 3.0)])
    assert player.strategy.said[1] == "MINOR: correct but slower/same speed (Speedup: 3.00)"
    assert player.strategy.best.number == 0


def test_slower_than_the_sequential_code_is_never_the_best():
    player = told([("measured", 0.5)])
    assert player.strategy.said == ["MINOR: correct but slower/same speed (Speedup: 0.50)"]
    assert player.strategy.best is None
    assert "No kernel is faster than the code as it came" in player.strategy._words()


def test_wrong_is_a_failure_of_correctness():
    assert told([("incorrect", 1.0)]).strategy.said == ["FAILURE: Functionality correctness did not pass check."]


def test_what_does_not_compile_says_the_log():
    (said,) = told([("build_failed", 1.0)]).strategy.said
    assert said.startswith("FAILURE: Compilation failed with error: ")
    assert len(said) > len("FAILURE: Compilation failed with error: ")


def test_each_verdict_updates_the_policy_of_the_steps_that_led_there():
    player = told([("measured", 2.0), ("measured", 6.0), ("incorrect", 1.0)])
    strategy = player.strategy
    root = strategy._root
    assert root.visits == 1
    assert root.actions[0].visits == 1
    assert root.actions[0].total == 6.0  # the rollout's maximum, although its last step failed
    edges = strategy.state()["edges"]
    assert edges["start>base"]["gain"] == pytest.approx(math.log2(6.0))
    assert sum(weight["failed"] for weight in edges.values()) == 1


@pytest.mark.parametrize(
    ("outcome", "speedup", "paper", "seed"),
    [("incorrect", 1.0, -1.0, 0.0), ("build_failed", 1.0, -1.0, 0.0),
     ("measured", 0.4, -0.6, 0.4), ("measured", 1.0, 1.0, 1.0),
     ("measured", 7.0, 7.0, 7.0), ("verified", 1.0, 0.0, 1.0)],
)  # fmt: skip
def test_rewards_are_the_papers_and_a_preset_follows_the_closed_loop(outcome, speedup, paper, seed):
    evaluation = sample_attempt(0, outcome, speedup).evaluation
    assert find_reward("regraph")(evaluation, None, None) == pytest.approx(paper)
    assert find_reward("regraph_seed")(evaluation, None, None) == pytest.approx(seed)


# --- the formulas -------------------------------------------------------------------------------------------------------


def state_with(*actions, visits=10):
    state = State("start", "code", None, 0.0, 1.0, visits=visits)
    state.actions = list(actions)
    return state


def action(name, visits, total, **more):
    return Action(f"start>{name}", name, None, None, visits=visits, total=total, **more)


def nobody_knows(action, state):
    return None


def test_selection_is_q_plus_the_root_of_twice_log_n_over_n():
    navigator = Mcgs(ReGraphConfig(scale="raw"), random.Random(0))
    rare, often = action("rare", 1, 1.0), action("often", 9, 9 * 1.9)
    by_hand = {"rare": 1.0 + math.sqrt(2 * math.log(10) / 1), "often": 1.9 + math.sqrt(2 * math.log(10) / 9)}
    assert max(by_hand, key=by_hand.get) == "rare"
    assert navigator.choose(Rollout(state_with(rare, often)), nobody_knows) is rare
    better = action("often", 9, 9 * 2.6)
    assert 2.6 + math.sqrt(2 * math.log(10) / 9) > by_hand["rare"]
    assert navigator.choose(Rollout(state_with(rare, better)), nobody_knows) is better


def test_what_nobody_knows_comes_first():
    navigator = Mcgs(ReGraphConfig(scale="raw"), random.Random(0))
    fresh = action("fresh", 0, 0.0)
    assert navigator.choose(Rollout(state_with(action("known", 9, 900.0), fresh)), nobody_knows) is fresh


def test_a_rollout_takes_the_largest_q_less_the_penalty_for_visits():
    navigator = Mcgs(ReGraphConfig(scale="raw", epsilon=0.0, penalty=0.1), random.Random(0))
    rollout = Rollout(state_with(action("worn", 8, 8 * 1.5), fresh := action("fresh", 2, 2 * 1.0)))
    rollout.beyond = True
    assert navigator.choose(rollout, nobody_knows) is fresh  # 1.0 - 0.2 against 1.5 - 0.8


def test_epsilon_of_one_takes_any_step():
    navigator = Mcgs(ReGraphConfig(epsilon=1.0), random.Random(0))
    rollout = Rollout(state_with(*(action(f"s{i}", 5, float(i)) for i in range(4))))
    rollout.beyond = True
    assert {navigator.choose(rollout, nobody_knows).technique for _ in range(60)} == {"s0", "s1", "s2", "s3"}


def test_rollouts_in_flight_count_as_visits_without_gain():
    navigator = Mcgs(ReGraphConfig(scale="raw"), random.Random(0))
    one, other = action("one", 2, 4.0), action("other", 2, 3.8)
    state = state_with(one, other)
    assert navigator.choose(Rollout(state), nobody_knows) is one
    one.virtual = 3
    assert navigator.choose(Rollout(state), nobody_knows) is other


def test_an_edge_that_nobody_took_is_expected_to_do_what_its_technique_did_after_others():
    weights = EdgeWeights()
    weights.add_gain("a>tiling", 4.0)
    weights.add_gain("b>tiling", 1.0)
    assert weights.prior("c>tiling") == pytest.approx(2.0)
    assert weights.prior("a>tiling") == pytest.approx(4.0)
    weights.add_failure("b>tiling")
    assert weights.prior("c>tiling") == pytest.approx(2 ** (2 / 3))
    assert weights.prior("a>vectors") is None
    assert EdgeWeights.load(weights.dump()).prior("c>tiling") == weights.prior("c>tiling")


def test_rewards_are_scaled_so_that_exploration_means_something():
    navigator = Mcgs(ReGraphConfig(), random.Random(0))
    navigator.rewards = [-1.0, 1024.0]
    assert (navigator.scale(-1.0), navigator.scale(1024.0)) == (0.0, 1.0)
    assert navigator.scale(32.0) == pytest.approx((1 + 5 + 1) / (1 + 10 + 1))
    assert Mcgs(ReGraphConfig(scale="raw"), random.Random(0)).scale(1024.0) == 1024.0


# --- the walk -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("navigator", ["mcgs", "random", "enumerate"])
def test_every_navigator_finds_the_best_of_a_small_graph(navigator):
    player = WalkPlayer(scope(GRAPH), GAINS, budget=40, navigator=navigator).play()
    assert player.strategy.best_speedup == pytest.approx(6.0)
    assert "line of beta: old" in player.strategy.best.proposal.candidate.source


def test_the_same_code_reached_twice_is_judged_once():
    player = WalkPlayer(scope(GRAPH), GAINS, budget=64, navigator="enumerate").play()
    sources = [a.proposal.candidate.source for a in player.attempts]
    assert len(sources) == len(set(sources)) == 8
    assert "The graph offers no other way." in player.strategy.finished()


def test_a_graph_with_cycles_comes_to_an_end():
    there, back = code_of(("alpha",), NAMES), code_of((), NAMES)
    edges = (*GRAPH.edges, Edge(source="alpha", target="base", examples=(example(there, back, "undo"),)))
    for navigator in ("mcgs", "random", "enumerate"):
        graph = GRAPH.model_copy(update={"edges": edges})
        player = WalkPlayer(scope(graph), GAINS, budget=64, navigator=navigator).play()
        assert len(player.attempts) <= 8


@pytest.mark.parametrize(("losing", "parents"), [("ends", [(), (0,), (0,)]), ("goes on", [(), (0,), (1,)])])
def test_a_rollout_ends_where_the_kernel_becomes_slower_unless_the_papers_is_asked_for(losing, parents):
    fates = iter([("measured", 3.0), ("measured", 2.0), ("measured", 4.0)])
    player = WalkPlayer(scope(GRAPH), lambda source: next(fates), budget=3, losing=losing).play()
    assert [asked.parents for asked in player.requests] == parents


def test_no_path_is_longer_than_the_cap():
    player = WalkPlayer(scope(GRAPH), GAINS, budget=64, steps=2).play()
    assert max(code.count("new") for code in (a.proposal.candidate.source for a in player.attempts)) == 1


def test_a_failed_step_is_not_taken_again():
    player = WalkPlayer(scope(GRAPH), product({"alpha": None, "gamma": 1.5}), budget=64).play()
    wrong = [a for a in player.attempts if a.evaluation.outcome == "incorrect"]
    assert len({a.proposal.candidate.source for a in wrong}) == len(wrong)
    assert player.strategy.best_speedup == pytest.approx(3.0)


def test_a_model_repairs_what_a_step_broke_before_the_walk_goes_on_and_hears_the_loops_word():
    fates = iter([("build_failed", 1.0), ("incorrect", 1.0), ("measured", 3.0), ("measured", 4.0)])
    player = WalkPlayer(scope(cube("alpha"), writer="model"), lambda source: next(fates), budget=4)
    strategy, requests = player.strategy, []
    for _ in range(4):
        (request,) = strategy.ask(1)
        requests.append(request)
        attempt = player.attempt(request, f"code {len(requests)}\n")
        player.attempts.append(attempt)
        reward = player.reward(attempt.evaluation, None, None)
        strategy.tell(attempt, describe(attempt, None, None, reward=reward))
        strategy.closed(request)
    assert [r.intent for r in requests] == ["apply-technique", "repair", "repair", "apply-technique"]
    assert [r.parents for r in requests] == [(), (0,), (1,), (2,)]
    assert requests[1].order.startswith("FAILURE: Compilation failed with error: ")
    assert requests[2].order == "FAILURE: Functionality correctness did not pass check."
    assert requests[3].order == "SUCCESS: New best kernel found (Speedup: 3.00)"


def test_what_cannot_be_repaired_in_time_is_given_up():
    player = WalkPlayer(scope(cube("alpha"), writer="model"), lambda source: ("incorrect", 1.0), budget=4)
    for number in range(4):
        (request,) = player.strategy.ask(1)
        attempt = player.attempt(request, f"code {number}\n")
        player.attempts.append(attempt)
        player.strategy.tell(attempt, describe(attempt, None, None, reward=-1.0))
        player.strategy.closed(request)
        player.requests.append(request)
    assert [r.intent for r in player.requests] == ["apply-technique", "repair", "repair", "apply-technique"]


SUM = "void f(const float *x, float *out, int n) { for (int i = 0; i < n; i++) out[i] = 2 * x[i]; }"
TOLD = [
    {"name": "x", "dtype": "float32", "pointer": True, "shape": ["n"]},
    {"name": "out", "dtype": "float32", "pointer": True, "out": True, "shape": ["n"]},
    {"name": "n", "dtype": "int32", "pointer": False, "value": "n"},
]
HOW = {"function": "f", "dialect": "c", "family": "pointwise", "arguments": TOLD, "sizes": {"n": 64}}


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("code", [SUM, SUM.replace("2 * x[i]", "rand()")])
def test_from_serial_code_a_model_gets_porting_steps_alone(kind, code):
    spec = SerialSpec.model_validate(HOW)
    written = {"cpu": "cpp", "cuda": "cuda"}[kind]
    given = {"root": code, "kind": kind, "language": written, "spec": spec, "sizes": {"n": 64}, "family": "pointwise"}
    walk = Walk(scope(shipped_graph(), writer="model", **given))
    start = walk.enter(START, State(START, code, None, 0.0, 1.0))
    techniques = {action.technique for action in start.actions}
    assert techniques
    ports = {"function-with-constants", "threads-over-rows", "thread-per-element", "thread-per-row", "chunked-scan"}
    assert techniques <= ports
    for one in start.actions:
        assert one.step.before in ("", code) or "__global__" not in one.step.before


@pytest.mark.parametrize(("writer", "asked"), [("model", 3), ("examples", 1)])
def test_a_model_that_errs_may_try_again_what_an_example_fits(writer, asked):
    player = WalkPlayer(
        scope(cube("alpha"), writer=writer), lambda source: ("incorrect", 1.0), budget=9, repairs=0
    ).play()
    assert [request.hint for request in player.requests] == ["base"] * asked


def test_several_rollouts_in_flight_never_ask_for_the_same_step():
    player = WalkPlayer(scope(GRAPH), GAINS, budget=64, in_flight=4).play()
    assert len({a.proposal.candidate.source for a in player.attempts}) == len(player.attempts)
    assert player.strategy.best_speedup == pytest.approx(6.0)


def test_the_same_verdicts_lead_to_the_same_questions():
    runs = [WalkPlayer(scope(GRAPH), GAINS, budget=20, in_flight=2).play() for _ in range(2)]
    assert runs[0].requests == runs[1].requests


def test_without_examples_only_a_model_has_somewhere_to_go():
    assert WalkPlayer(scope(GRAPH), GAINS, budget=8, examples=False).play().requests == []
    (asked,) = ReGraphConfig(examples=False).make(Limits(proposals=4, scope=scope(GRAPH, writer="model"))).ask(1)
    assert (asked.hint, asked.steps) == ("base", ())


def test_a_module_is_written_first_and_the_author_then_takes_what_it_masters():
    given = scope(GRAPH, root="", writer="author", authored=("base",))
    strategy = ReGraphConfig().make(Limits(proposals=4, scope=given))
    (first,) = strategy.ask(1)
    assert first.intent == "seed"
    assert strategy.ask(1) == []
    player = WalkPlayer(given, GAINS)
    attempt = player.attempt(first, "a first kernel\n")
    from kernelwright.feedback.describe import describe  # noqa: PLC0415

    strategy.tell(attempt, describe(attempt, None, None, reward=2.0))
    strategy.closed(first)
    (second,) = strategy.ask(1)
    assert (second.hint, second.parents, second.steps) == ("base", (0,), ())


def test_a_navigator_is_offered_the_steps_and_its_choice_is_taken():
    strategy = ReGraphConfig(navigator="llm").make(Limits(proposals=8, scope=scope(GRAPH)))
    player = WalkPlayer(scope(GRAPH), GAINS)
    player.strategy = strategy
    (first,) = strategy.ask(1)
    player.answer(first)
    (second,) = strategy.ask(1)
    assert second.adviser == "navigator"
    assert {step.technique for step in second.steps} == set(NAMES)
    chosen = second.steps[-1]
    attempt = player.attempt(second.model_copy(update={"hint": chosen.technique}), code_of((chosen.technique,), NAMES))
    from kernelwright.feedback.describe import describe  # noqa: PLC0415

    strategy.tell(attempt, describe(attempt, None, None, reward=2.0))
    strategy.closed(second)
    assert f"base>{chosen.technique}" in strategy.state()["edges"] or any(
        rollout.path[-1][1].technique == chosen.technique for rollout in strategy._waiting
    )


def test_without_a_graph_it_says_how_to_run_it():
    with pytest.raises(UsageError, match="kernelwright optimize"):
        ReGraphConfig().make(Limits(proposals=4))


# --- memory -------------------------------------------------------------------------------------------------------------


def evaluations_until_best(player):
    return next(i for i, a in enumerate(player.attempts, 1) if a is player.strategy.best)


def test_a_second_run_with_what_the_first_learned_goes_straight_to_the_best():
    first = WalkPlayer(scope(GRAPH), GAINS, budget=40, seed=3).play()
    later = []
    for seed in range(6):
        player = WalkPlayer(scope(GRAPH), lambda s: (GAINS(s)[0], GAINS(s)[1] * 1.7), budget=40, seed=seed)
        player.strategy.restore(first.strategy.state())
        later.append(evaluations_until_best(player.play()))
    assert sum(later) / len(later) <= 4


def test_the_next_run_begins_with_the_way_that_led_most_runs_to_their_best():
    first = WalkPlayer(scope(GRAPH), GAINS, budget=40, seed=3).play()
    state = first.strategy.state()
    led = {edge for edge, weight in state["edges"].items() if weight["best"]}
    assert "start>base" in led
    assert {edge.rpartition(">")[2] for edge in led} == {"base", "alpha", "gamma"}
    for seed in range(4):
        later = WalkPlayer(scope(GRAPH), GAINS, budget=3, seed=seed)
        later.strategy.restore(state)
        assert later.play().strategy.best_speedup == pytest.approx(6.0)
        counted = later.strategy.state()["edges"]
        assert {edge for edge, weight in counted.items() if weight["best"] == 2} == led
    for other in ({"weights": False}, {"navigator": "random"}):
        player = WalkPlayer(scope(GRAPH), GAINS, budget=3, **other)
        player.strategy.restore(state)
        assert not player.strategy._follow_best


def test_the_way_to_an_earlier_best_is_one_evaluation_where_examples_write_and_a_step_each_where_a_model_does():
    state = WalkPlayer(scope(GRAPH), GAINS, budget=40, seed=3).play().strategy.state()
    player = WalkPlayer(scope(GRAPH), GAINS, budget=1)
    player.strategy.restore(state)
    assert player.play().strategy.best_speedup == pytest.approx(6.0)
    assert player.requests[0].steps[0].before == SERIAL
    assert player.strategy._best_way[0] == "start>base"
    assert len(player.strategy._best_way) == 3
    model = WalkPlayer(scope(GRAPH, writer="model"), GAINS, budget=1)
    model.strategy.restore(state)
    assert model.play().strategy.best_speedup == pytest.approx(2.0)


def test_a_leap_that_fails_ends_there_and_the_search_goes_on():
    state = WalkPlayer(scope(GRAPH), GAINS, budget=40, seed=3).play().strategy.state()
    player = WalkPlayer(scope(GRAPH), product({"alpha": 2.0, "gamma": None}), budget=20)
    player.strategy.restore(state)
    player.play()
    assert player.attempts[0].evaluation.outcome == "incorrect"
    assert player.strategy.best_speedup == pytest.approx(4.0)


def test_where_no_run_knows_anything_what_the_graphs_examples_gained_leads():
    promised = {"base>gamma": 3.0, "base>alpha": 0.5, "base>beta": 0.5}
    for seed in range(4):
        player = WalkPlayer(scope(GRAPH, gains=promised), GAINS, budget=2, seed=seed, epsilon=0.0).play()
        assert player.requests[1].hint == "gamma"


def test_what_two_runs_learned_adds_up_whichever_ends_first():
    begun = WalkPlayer(scope(GRAPH), GAINS, budget=5).play().strategy.state()
    ends = []
    for seed in (1, 2):
        player = WalkPlayer(scope(GRAPH), GAINS, budget=10, seed=seed)
        player.strategy.restore(begun)
        ends.append(player.play().strategy.state())
    one = add_learned(add_learned(begun, begun, ends[0]), begun, ends[1])
    other = add_learned(add_learned(begun, begun, ends[1]), begun, ends[0])
    assert one["version"] == "1"
    for key, weight in one["edges"].items():
        assert weight["runs"] == other["edges"][key]["runs"]
        assert weight["gain"] == pytest.approx(other["edges"][key]["gain"])
    runs = [sum(w["runs"] for w in state["edges"].values()) for state in (begun, *ends, one)]
    assert runs[3] == runs[1] + runs[2] - runs[0]


def test_weights_of_another_version_are_refused_with_the_cure():
    with pytest.raises(UsageError, match="weights = false"):
        EdgeWeights.load({"version": "2", "edges": {}})


def test_weights_can_be_left_out():
    player = WalkPlayer(scope(GRAPH), GAINS, budget=8, weights=False).play()
    assert player.strategy.state() is None


def test_a_code_is_known_by_its_hash():
    assert TechniqueGraph(codes={code_id(SERIAL): SERIAL}).codes


# --- the whole loop beside its pseudocode -------------------------------------------------------------------------------


def closed_loop(fates):
    """The seed's loop, literally: what it says of each kernel, its speedups, and the best."""
    best_kernel, best_speedup = None, 1.0
    feedback, current = [], []
    for number, (outcome, speedup) in enumerate(fates):
        if outcome == "build_failed":
            feedback.append("FAILURE: Compilation failed with error: ")
            current.append(0.0)
        elif outcome != "measured":
            feedback.append("FAILURE: Functionality correctness did not pass check.")
            current.append(0.0)
        elif speedup > best_speedup:
            best_kernel, best_speedup = number, speedup
            feedback.append(f"SUCCESS: New best kernel found (Speedup: {speedup:.2f})")
            current.append(speedup)
        else:
            feedback.append(f"MINOR: correct but slower/same speed (Speedup: {speedup:.2f})")
            current.append(speedup)
    return feedback, current, best_kernel, best_speedup


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("navigator", ["mcgs", "random", "enumerate"])
def test_the_loop_says_and_keeps_what_its_pseudocode_does(seed, navigator):
    draw = random.Random(seed)
    given = [
        (draw.choice(["measured"] * 4 + ["incorrect", "build_failed"]), draw.choice([0.5, 1.0, 2.0, 3.0]))
        for _ in range(8)
    ]
    fates = iter(given)
    player = WalkPlayer(
        scope(GRAPH), lambda source: next(fates), budget=8, reward="regraph_seed", navigator=navigator, seed=seed
    ).play()
    said, current, best, best_speedup = closed_loop(given[: len(player.attempts)])
    strategy = player.strategy
    assert [words.startswith(wanted) for words, wanted in zip(strategy.said, said, strict=True)] == [True] * len(said)
    assert [player.reward(a.evaluation, None, None) for a in player.attempts] == pytest.approx(current)
    assert (strategy.best.number if strategy.best else None, strategy.best_speedup) == (
        best,
        pytest.approx(best_speedup),
    )
