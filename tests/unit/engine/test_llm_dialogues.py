"""The LLM proposer over the engine's own desk: dialogues survive a kill, and are kept across expansions."""

import dataclasses
import json

import pytest

from kernelwright.engine.gateway.models import ModelRouter
from kernelwright.engine.suppliers import Suppliers
from kernelwright.models.config import ModelConfig
from kernelwright.propose.llm.writer import LLM
from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall
from kernelwright.testing.scripted_chat import ScriptedModel

SETTINGS = {"strategy": {"name": "tritongym"}, "in_flight": 1, "budget": {"proposals": 3}}
KERNEL = '```cpp\n// quality {}\nextern "C" void kernel(const float* x, float* out) {{ out[0] = x[0]; }}\n```'
METRICS = ["Latency", "dram_share", "waves"]
STEP = json.dumps({"metrics": METRICS, "bottleneck": "memory", "method": "vector loads", "plan": "float4"})


def answer(request):
    """A judge's JSON; a writer hesitates first and then writes another kernel each time."""
    system, last = request.messages[0].text, request.messages[-1].text
    if "write no code" in system:
        return STEP
    return KERNEL.format(len(last) % 40) if "could not be used" in last else "I would use SIMD."


class Advised(LLM):
    """As a strategy with a judge and kept dialogues would ask."""

    async def propose(self, brief):
        adviser = "judge" if brief.parents else ""
        proposal_request = brief.proposal_request.model_copy(update={"adviser": adviser, "dialogue": "kept"})
        return await super().propose(dataclasses.replace(brief, proposal_request=proposal_request))


def ask(play, model, folder=None, proposer=None, **more):
    router = ModelRouter({"default": ModelConfig(name="scripted")}, lambda config: model)
    return play(proposer=proposer or Advised(), router=router, folder=folder, **SETTINGS, **more)


def test_a_kept_dialogue_grows_by_each_expansion(play):
    model = ScriptedModel(answer)
    played = ask(play, model)
    assert len(played.attempts) == 3
    written = [len(r.messages) for r in model.requests if "write no code" not in r.messages[0].text]
    assert written == [2, 4, 6, 8, 10, 12]
    assert all(a.proposal.candidate.source.startswith("// quality") for a in played.attempts)
    kinds = [message.kind for message in played.store.messages() if message.proposal_request == 1]
    assert kinds == ["profile", "prompt", "reply", "diagnosis", "prompt", "reply", "diagnosis", "prompt", "reply"]


@pytest.mark.parametrize("call", range(8))
def test_a_dialogue_that_was_cut_off_goes_on_with_the_very_call(play, call):
    whole = ask(play, ScriptedModel(answer))
    broken = ask(play, ScriptedModel(answer, fails=[call]))
    assert not broken.outcome.complete
    again = ScriptedModel(answer)
    mended = ask(play, again, folder=broken.folder)
    assert len(again.requests) == 8 - call
    assert [a.proposal for a in mended.attempts] == [a.proposal for a in whole.attempts]


def test_a_runs_journal_is_replayed_whatever_room_its_replies_had(play):
    short = ModelConfig(name="scripted", max_tokens=4096, temperature=0.3)
    recorded = ModelRouter({"default": short}, lambda config: ScriptedModel(answer))
    whole = play(proposer=Advised(), router=recorded, **{**SETTINGS, "budget": {"proposals": 3, "tokens": 60_000}})
    replay = ModelRouter({"default": ModelConfig(provider="replay", name=str(whole.folder))}, Suppliers().model)
    again = play(proposer=Advised(), router=replay, **SETTINGS)
    assert again.outcome.complete, again.outcome.stopped
    assert len(whole.attempts) == 3
    assert [a.proposal.candidate for a in again.attempts] == [a.proposal.candidate for a in whole.attempts]


class Calling(ScriptedModel):
    """An agent that looks something up and then has its kernel evaluated."""

    async def reply(self, request):
        said = await super().reply(request)
        number = len(request.messages)
        kernel = KERNEL.format(number).removeprefix("```cpp\n").removesuffix("```")
        calls = (
            ToolCall(id=f"s{number}", name="search", arguments='{"query": "abs"}'),
            ToolCall(id=f"e{number}", name="evaluate", arguments=json.dumps({"code": kernel})),
        )
        return ChatReply(text="", calls=calls, finish="tools", model="m", usage=said.usage)


class Agent(LLM):
    """As a strategy of an agent would ask."""

    async def propose(self, brief):
        proposal_request = brief.proposal_request.model_copy(update={"role": "agent", "dialogue": "kept"})
        return await super().propose(dataclasses.replace(brief, proposal_request=proposal_request))


def test_an_agents_conversation_has_every_call_answered(play):
    model = Calling()
    played = ask(play, model, proposer=Agent())
    assert len(played.attempts) == 3
    last = model.requests[-1].messages
    assert [m.role for m in last] == ["system", "user", *["assistant", "tool", "tool"] * 2]
    assert [m.call for m in last if m.role == "tool"] == [c.id for m in last for c in m.calls]
    verdicts = [json.loads(m.text) for m in last if m.role == "tool" and m.call.startswith("e")]
    assert [v["attempt"] for v in verdicts] == [0, 1]
    assert len({a.proposal.prompt for a in played.attempts}) == 1
    asked = [ChatRequest.model_validate_json(t.text) for t in played.store.messages() if t.kind == "prompt"]
    assert all(request.tools for request in asked)


@pytest.mark.parametrize("withheld", [False, True])
def test_every_call_of_an_agent_is_journaled_in_its_order(play, withheld):
    class Wild(Calling):
        """Calls a tool that is not there, hands over what is no kernel, and calls on after it has handed over."""

        async def reply(self, request):
            said = await super().reply(request)
            search, evaluate = said.calls
            wild = [("x", "browse", "{}"), ("n", "evaluate", '{"code": "print()"}'), ("y", "submit", "{code:")]
            early = [ToolCall(id=f"{i}{search.id}", name=n, arguments=a) for i, n, a in wild]
            late = search.model_copy(update={"id": f"late{search.id}"})
            return said.model_copy(update={"calls": (*early, search, evaluate, late)})

    model = Wild()
    played = ask(play, model, proposer=Agent(), withhold_feedback=withheld)
    messages = played.store.messages()
    called = [c for t in messages if t.kind == "reply" for c in ChatReply.model_validate_json(t.text).calls]
    assert [ToolCall.model_validate_json(t.text) for t in messages if t.kind == "call"] == called
    assert len(called) == 3 * 6
    kinds = [message.kind for message in messages if message.proposal_request == 1]
    assert kinds == ["prompt", "reply", *["call", "result"] * 4, "call", "call", "result"]
    told = {m.call: m.text for m in model.requests[-1].messages if m.role == "tool"}
    journaled = {}
    for message in messages:
        if message.kind == "call":
            call = ToolCall.model_validate_json(message.text).id
        elif message.kind == "result":
            journaled[call] = message.text
    assert {c: text for c, text in told.items() if not c.startswith("e")} == {
        c: journaled[c] for c in told if c in journaled
    }


def test_an_agent_is_told_its_reward_the_best_and_the_trials_that_are_left(play):
    model = Calling()
    played = ask(play, model, proposer=Agent())
    verdicts = [json.loads(m.text) for m in model.requests[-1].messages if m.call.startswith("e")]
    assert [v["trials_left"] for v in verdicts] == [2, 1]
    assert [(v["attempt"], v["reward"]) for v in verdicts] == [tuple(tell) for tell in played.store.tells()[:2]]
    assert verdicts[0]["best"] == 0
    assert "3 of 3 trials" in model.requests[0].messages[1].text


def test_a_workflows_own_number_of_trials_is_what_its_agent_is_told(play):
    model = Calling()
    router = ModelRouter({"default": ModelConfig(name="scripted")}, lambda config: model)
    strategy = {"name": "tritongym", "workflow": "agent", "attempts": 2}
    play(proposer=LLM(), router=router, strategy=strategy, in_flight=1, budget={"proposals": 5})
    assert "2 of 2 trials" in model.requests[0].messages[1].text
    (verdict,) = [json.loads(m.text) for m in model.requests[-1].messages if m.call.startswith("e")]
    assert verdict["trials_left"] == 1


@pytest.mark.parametrize("call", range(3))
def test_an_agent_that_was_cut_off_is_told_the_same(play, call):
    whole = Calling()
    ask(play, whole, proposer=Agent())
    first, again = Calling(fails=[call]), Calling()
    broken = ask(play, first, proposer=Agent())
    mended = ask(play, again, folder=broken.folder, proposer=Agent())
    assert mended.outcome.complete
    told = [*first.requests[:call], *again.requests]
    assert [r.messages for r in told] == [r.messages for r in whole.requests]


def test_the_control_arm_is_told_how_many_trials_there_are_and_nothing_else(play):
    model = Calling()
    ask(play, model, proposer=Agent(), withhold_feedback=True)
    assert not any(
        "reward" in m.text or "best" in m.text for r in model.requests for m in r.messages if m.role == "tool"
    )


@pytest.mark.parametrize("workflow", ["reflective", "evolutionary"])
@pytest.mark.parametrize("withheld", [False, True])
def test_a_workflow_looks_techniques_up_with_the_same_tool_as_an_agent(play, workflow, withheld):
    model = ScriptedModel(lambda request: KERNEL.format(len(model.requests)))
    router = ModelRouter({"default": ModelConfig(name="scripted")}, lambda config: model)
    strategy = {"name": "tritongym", "workflow": workflow}
    played = play(proposer=LLM(), router=router, withhold_feedback=withheld, **{**SETTINGS, "strategy": strategy})
    messages = [message for message in played.store.messages() if message.proposal_request == 1]
    told = [] if withheld else ["profile", "call", "result"]
    assert [message.kind for message in messages] == [*told, "prompt", "reply"]
    if not withheld:
        (card,) = json.loads(messages[2].text)["cards"]
        assert f"(`{card['name']}`)" in model.requests[1].messages[1].text
