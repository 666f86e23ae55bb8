"""Scripted faults of the endpoint, each kind at each step of a dialogue: the run is the one that nobody disturbed.

No attempt is lost, no answered call is made again, and tokens and money are those that the server told, to the call.
"""

import functools
import itertools
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from endpoint_runs import (
    MODEL,
    SCENARIOS,
    SIDE_BY_SIDE,
    USABLE,
    SteadyServer,
    asked_as,
    config_of,
    faults_of,
    memory,
    play,
    read,
)

from kernelwright.errors import ModelError
from kernelwright.models.answer import Answer, counted
from kernelwright.models.config import ModelConfig
from lanes import sampled
from mock_llm import At
from mock_llm.faults import TRANSPORT

CALLS = {"cudaforge": 10, "fsr": 11, "agent": 11, "reflective": 6, "frontend_midend": 5, "direct": 6}
"""Of each scenario when nobody disturbs it."""
PASSING = tuple(kind for kind in TRANSPORT if kind != "404")
STEPS = {
    "cudaforge": {"seed": 0, "judge": 1, "improve": 2, "asked again": 7, "last": 9},
    "fsr": {"sibling": 1, "kept": 5, "last": 10},
    "agent": {"tool call": 0, "tool result": 1, "verdict": 3, "last": 10},
    "reflective": {"reflector": 2, "last": 5},
    "frontend_midend": {"frontend asked again": 1, "midend": 4},
    "direct": {"side by side": 1, "last": 5},
}
"""The calls that are disturbed, from 0."""
PLACES = [(name, step) for name, steps in STEPS.items() for step in steps.values()]
CASES = [(name, kind, step) for name, step in PLACES for kind in PASSING]
BREAKING = tuple(kind for kind in PASSING if kind not in (*USABLE, "null_content"))
"""Faults that end a run when they stay."""
LOST = ("stall", "reset_body", "truncated_body", "cut_stream", "stalled_stream")
"""Faults of a call that was served and not received whole: its prompt counts by its estimate, and the words that came."""
COSTING = ("null_content", "no_usage", *LOST)
"""Faults by which an attempt's tokens differ: paid twice, or estimated."""
PRICES = {"input": 3.0, "output": 11.0}
"""US dollars for a million of the drill's tokens."""
PATIENT_S, HURRIED_S = 60.0, 0.4
"""Of one try; the second where a call stalls."""
STALLS = ("stall", "stalled_stream")
STAYING = [("cudaforge", kind, step) for kind in BREAKING for step in (0, 9)]
CAPS = [(name, kind) for name in ("cudaforge", "fsr") for kind in PASSING]
EARLY, CAPPED = 1, 0.6
"""The call that is disturbed, and the share of what the undisturbed run costs, where there is a cap."""
TRIES = 4
"""Of a case with a time limit, which a busy machine can break by itself; each has twice the limit of the one before."""


def is_sample(name, kind, step):
    """So few of the cases that every kind of fault and every step is still met."""
    return (PLACES.index((name, step)) + PASSING.index(kind)) % len(PASSING) == 0


@pytest.fixture(autouse=True, scope="module")
def prices(tmp_path_factory):
    """The drill has a price, and nobody's key is used."""
    file = tmp_path_factory.mktemp("prices") / "prices.toml"
    file.write_text(f'["{MODEL}"]\ninput = {PRICES["input"]}\noutput = {PRICES["output"]}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_PRICES", str(file))
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield


@functools.cache
def undisturbed(name, folder):
    """A scenario's run, its result, and what the server served."""
    with SteadyServer(SCENARIOS[name][0], faults_of()) as server:
        result = play(folder, config_of(name, server.base_url))
        return read(folder), result, server.served, server.answers


@pytest.fixture(scope="module")
def calm():
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        yield lambda name: undisturbed(name, Path(folder) / name)


@pytest.fixture
def folders():
    """Folders for runs, one after the other."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        numbers = itertools.count()
        yield lambda: Path(folder) / str(next(numbers))


@contextmanager
def serving(name, *script, **settings):
    with SteadyServer(SCENARIOS[name][0], faults_of(script=script, **settings)) as server:
        yield server


def usd(prompt, completion):
    return (prompt * PRICES["input"] + completion * PRICES["output"]) / 1e6


def assert_exact(found, result, server, calm_served):
    """The journal, the summary and the ledger have what the server told, and every reply has an answer of the server's."""
    by_request = {s.request: (s.prompt_tokens, s.completion_tokens) for s in calm_served}
    prompt = completion = 0
    for served in server.served:
        told = (
            by_request[served.request]
            if served.kind == "wrong_type"
            else (served.prompt_tokens, served.completion_tokens)
        )
        prompt, completion = prompt + told[0], completion + told[1]
    untold = {s.request for s in server.served if s.kind == "no_usage"}
    lost = Counter(s.request for s in server.served if s.kind in LOST)
    words = 0
    for said in found.said:
        asked, estimate = asked_as(said.request), counted(Answer(said.reply.text, said.reply.calls), said.request)
        if asked in untold:
            prompt, completion = prompt + estimate.prompt, completion + estimate.completion
        prompt += lost[asked] * estimate.prompt
        words += lost[asked] * estimate.completion
    models = result.summary.models
    came = sum(m.completion_tokens for m in models) - completion
    assert 0 <= came <= words, "of a lost answer, no more words count than it has"
    completion += came
    assert sum(m.prompt_tokens for m in models) == prompt
    assert sum(m.usd for m in models) == pytest.approx(usd(prompt, completion), rel=1e-9)
    assert len(found.said) == server.answers.total()
    assert sum(m.calls for m in models) == len(found.said) + len(found.lost)
    assert {asked_as(s.request) for s in found.said if s.reply.usage.estimated} <= untold | set(lost)
    assert untold <= {asked_as(s.request) for s in found.said if s.reply.usage.estimated}
    assert Counter(asked_as(said.request) for said in found.said) == server.answers
    # The ledger's last event may come before the request ends, when what its tries lost is charged.
    assert prompt + completion - found.charged <= found.spent["tokens"] <= prompt + completion
    assert sum(a.cost.tokens for a in found.attempts) == prompt + completion - found.charged
    assert bool(found.charged) or found.spent["usd"] == pytest.approx(usd(prompt, completion), rel=1e-9)


def assert_same(found, calm_found, costing):
    """The very same dialogues, attempts and end."""
    assert found.dialogues == calm_found.dialogues
    assert found.results == calm_found.results
    assert costing or found.attempts == calm_found.attempts


def in_time(attempt, kind):
    """The case with a time limit where it needs one; again where the machine was so slow that a whole answer broke it."""
    limit_s = HURRIED_S if kind in STALLS else PATIENT_S
    for number in range(TRIES):
        if attempt(limit_s * 2**number):
            return
    pytest.fail("the machine is too slow for any time limit")


def test_there_are_more_than_two_hundred_cases():
    assert len(CASES) > 200
    chosen = [case for case in CASES if is_sample(*case)]
    assert {kind for _, kind, _ in chosen} == set(PASSING)
    assert {(name, step) for name, _, step in chosen} == set(PLACES)
    assert {kind for _, kind, _ in CASES} | {"404"} == set(TRANSPORT)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_scenarios_have_every_step_of_a_dialogue(calm, name):
    found, result, served, answers = calm(name)
    assert result.summary.complete
    assert len(served) == CALLS[name]
    assert set(answers.values()) == {1}
    roles, kinds = {s.role for s in served}, {t.kind for t in found.turns}
    again = [s for s in found.said if any("could not be used" in m.text for m in s.request.messages)]
    match name:
        case "cudaforge":
            assert roles == {"coder", "judge-repair", "judge-improve"}
            assert again
        case "fsr":
            assert {turn.sibling for turn in found.turns} == {0, 1, 2}
            assert {a.proposal_request.dialogue for a in found.attempts} == {"fresh", "kept"}
            assert again
        case "agent":
            assert roles == {"agent"}
            assert {"call", "result"} <= kinds
        case "reflective":
            assert roles == {"coder", "reflector"}
        case "frontend_midend":
            assert {turn.role for turn in found.turns} >= {"frontend", "midend"}


@pytest.mark.parametrize(("name", "kind", "step"), sampled(CASES, is_sample))
def test_a_fault_at_any_step_leaves_no_trace(calm, folders, name, kind, step):
    calm_found, calm_result, calm_served, calm_answers = calm(name)

    def case(limit_s):
        folder = folders()
        with serving(name, At(call=step, fault=kind)) as server:
            result = play(folder, config_of(name, server.base_url, timeout_s=limit_s))
        calls = len(calm_served) + (kind not in USABLE)
        if kind in STALLS and len(server.served) > calls:
            return False
        assert server.counts[kind] == 1
        assert len(server.served) == calls
        assert server.answers == calm_answers
        assert (result.error, result.exit_code, result.summary.complete) == (None, calm_result.exit_code, True)
        found = read(folder)
        assert_same(found, calm_found, kind in COSTING)
        assert_exact(found, result, server, calm_served)
        return True

    in_time(case, kind)


def assert_broken(found, result, calm_found):
    """The run ended early with the model's error; every attempt before it stands."""
    assert isinstance(result.error, ModelError)
    assert (result.exit_code, result.summary.complete) == (10, False)
    assert found.outcome.stopped == str(result.error)
    assert found.attempts == calm_found.attempts[: len(found.attempts)]


def assert_resumed(name, kind, script, calm, folders, limit_s=PATIENT_S, **model):
    """Broken by the script's faults, then gone on with: no answered call is made again. False where a limit was broken."""
    calm_found, calm_result, calm_served, calm_answers = calm(name)
    folder = folders()
    with serving(name, *script) as server:
        config = config_of(name, server.base_url, timeout_s=limit_s, **model)
        result = play(folder, config)
        broken = read(folder)
        answered = Counter(asked_as(said.request) for said in broken.said)
        unheard = server.answers - answered
        if kind in STALLS and unheard:
            return False
        assert_broken(broken, result, calm_found)
        result = play(folder, config.model_copy(update={"models": patient(config)}))
    found = read(folder)
    assert (result.error, result.exit_code, result.summary.complete) == (None, calm_result.exit_code, True)
    assert_same(found, calm_found, costing=False)
    assert server.counts[kind] == len(script)
    again = server.answers - calm_answers
    assert not again & answered, "what was answered is not asked again"
    assert again == unheard, "what nobody heard is asked again"
    assert not again or name in SIDE_BY_SIDE, "only calls that were in flight beside the broken one were never heard"
    assert len(server.served) == len(calm_served) + len(script) + again.total()
    if not again:
        assert_exact(found, result, server, calm_served)
    return True


def patient(config):
    return {role: model.model_copy(update={"timeout_s": PATIENT_S}) for role, model in config.models.items()}


@pytest.mark.parametrize(("name", "step"), PLACES)
def test_a_final_fault_ends_the_run_and_a_resumed_one_is_the_same(calm, folders, name, step):
    assert_resumed(name, "404", [At(call=step, fault="404")], calm, folders)


@pytest.mark.parametrize(
    ("name", "kind", "step"), sampled(STAYING, lambda _, kind, step: BREAKING.index(kind) % 2 == bool(step))
)
def test_a_fault_that_stays_ends_the_run_after_all_retries(calm, folders, name, kind, step):
    script = [At(call=step, fault=kind), At(call=step + 1, fault=kind)]
    in_time(lambda limit_s: assert_resumed(name, kind, script, calm, folders, limit_s, retries=1), kind)


@pytest.mark.parametrize(("name", "kind"), sampled(CAPS, lambda name, kind: CAPS.index((name, kind)) % 5 == 0))
def test_no_fault_makes_a_run_pass_its_caps(calm, folders, name, kind):
    _, _, calm_served, _ = calm(name)
    whole = sum(s.prompt_tokens + s.completion_tokens for s in calm_served)
    money = sum(usd(s.prompt_tokens, s.completion_tokens) for s in calm_served)
    for cap in ({"tokens": int(whole * CAPPED)}, {"usd": money * CAPPED}):

        def case(limit_s, cap=cap):
            folder = folders()
            with serving(name, At(call=EARLY, fault=kind)) as server:
                result = play(folder, config_of(name, server.base_url, cap=cap, max_tokens=1500, timeout_s=limit_s))
            found = read(folder)
            prompt = sum(s.prompt_tokens for s in server.served)
            completion = sum(s.completion_tokens for s in server.served)
            if kind in STALLS and server.answers.total() > len(found.said):
                return False
            assert (result.error, result.summary.complete) == (None, True)
            # An empty answer is passed on where little room is left for another try.
            passed_on = len(found.said) - server.answers.total()
            assert 0 <= passed_on <= sum(server.counts[kind] for kind in ("null_content", *LOST))
            assert EARLY < len(found.said) < len(calm_served)
            models = result.summary.models
            spent = sum(m.prompt_tokens + m.completion_tokens for m in models)
            assert max(spent, prompt + completion) <= cap.get("tokens", whole)
            assert max(sum(m.usd for m in models), usd(prompt, completion)) <= cap.get("usd", money)
            return True

        in_time(case, kind)


@pytest.mark.parametrize("unit", ["tokens", "usd"])
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_siblings_under_a_cap_wait_for_each_other(calm, folders, name, unit):
    calm_found, _, calm_served, calm_answers = calm(name)
    whole = sum(s.prompt_tokens + s.completion_tokens for s in calm_served)
    room = ModelConfig(name=MODEL).max_tokens
    longest = 2 * max(s.prompt_tokens for s in calm_served)
    caps = {
        "tokens": whole + longest + room,
        "usd": sum(usd(s.prompt_tokens, s.completion_tokens) for s in calm_served) + usd(longest, room),
    }
    with serving(name) as server:
        result = play(folder := folders(), config_of(name, server.base_url, cap={unit: caps[unit]}))
    found = read(folder)
    assert server.answers == calm_answers
    assert_same(found, calm_found, costing=False)
    assert_exact(found, result, server, calm_served)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_at_the_first_try_of_nearly_every_call(calm, folders, name):
    calm_found, _, calm_served, calm_answers = calm(name)
    kinds = tuple(kind for kind in PASSING if kind not in (*STALLS, "400"))
    folder = folders()
    with serving(name, transport_rate=0.9, transport_kinds=kinds) as server:
        result = play(folder, config_of(name, server.base_url))
    found = read(folder)
    assert result.summary.complete
    assert sum(server.counts[kind] for kind in kinds) > len(calm_served) / 2
    assert server.answers == calm_answers
    assert_same(found, calm_found, costing=True)
    assert_exact(found, result, server, calm_served)
