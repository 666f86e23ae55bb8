"""The LLM proposer over the engine's own desk: dialogues survive a kill, and are kept across expansions."""

import dataclasses
import json

import pytest

from kernelwright.engine.crew import Crew
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
        expansion = brief.expansion.model_copy(update={"adviser": adviser, "dialogue": "kept"})
        return await super().propose(dataclasses.replace(brief, expansion=expansion))


def ask(play, model, folder=None, proposer=None):
    crew = Crew({"default": ModelConfig(name="scripted")}, lambda config: model)
    return play(proposer=proposer or Advised(), crew=crew, folder=folder, **SETTINGS)


def test_a_kept_dialogue_grows_by_each_expansion(play):
    model = ScriptedModel(answer)
    played = ask(play, model)
    assert len(played.attempts) == 3
    written = [len(r.messages) for r in model.requests if "write no code" not in r.messages[0].text]
    assert written == [2, 4, 6, 8, 10, 12]
    assert all(a.proposal.candidate.source.startswith("// quality") for a in played.attempts)
    kinds = [turn.kind for turn in played.store.turns() if turn.expansion == 1]
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
        expansion = brief.expansion.model_copy(update={"role": "agent", "dialogue": "kept"})
        return await super().propose(dataclasses.replace(brief, expansion=expansion))


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
    asked = [ChatRequest.model_validate_json(t.text) for t in played.store.turns() if t.kind == "prompt"]
    assert all(request.tools for request in asked)
