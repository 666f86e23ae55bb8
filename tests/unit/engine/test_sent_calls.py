"""A call that was sent and whose answer nobody heard counts, and a search ends when its time is over."""

import asyncio

import pytest

from kernelwright.engine.gateway.models import Meter, ModelRouter
from kernelwright.errors import MachineError
from kernelwright.models.config import ModelConfig
from kernelwright.records.chat import ChatReply, ChatRequest
from kernelwright.records.run import spending
from kernelwright.testing.scripted_chat import AskingProposer, ScriptedModel

PRICED = {"default": ModelConfig(name="gpt-5")}
ONE = {"strategy": {"name": "tritongym"}, "in_flight": 1, "budget": {"proposals": 1}}


class Dying(ScriptedModel):
    """Its process ends while the answer is awaited."""

    async def reply(self, request):
        await super().reply(request)
        raise MachineError("killed")


class Thinking(ScriptedModel):
    """Never answers."""

    async def reply(self, request):
        await super().reply(request)
        await asyncio.sleep(3600)


def ask(play, model, folder=None, **settings):
    router = ModelRouter(PRICED, lambda config: model)
    return play(proposer=AskingProposer(), router=router, folder=folder, **{**ONE, **settings})


def kinds(played):
    return [message.kind for message in played.store.messages()]


def lost(played):
    return [ChatReply.model_validate_json(m.text) for m in played.store.messages() if m.kind == "lost"]


def test_a_call_in_flight_at_a_kill_counts_once_it_is_asked_again(play):
    killed = ask(play, Dying())
    assert kinds(killed) == ["prompt"]
    asked = ChatRequest.model_validate_json(killed.store.messages()[0].text)
    mended = ask(play, ScriptedModel(), folder=killed.folder)
    assert kinds(mended) == ["prompt", "lost", "prompt", "reply"]
    usage, usd = Meter.most(asked, PRICED["default"])
    assert [(one.usage, one.usd) for one in lost(mended)] == [(usage, usd)]
    assert spending(mended.store.messages())[0].usd >= usd > 0
    once_more = ask(play, again := ScriptedModel(), folder=killed.folder)
    assert kinds(once_more) == ["prompt", "lost", "prompt", "reply"]
    assert again.requests == []


def test_each_kill_counts(play):
    killed = ask(play, Dying())
    ask(play, Dying(), folder=killed.folder)
    mended = ask(play, ScriptedModel(), folder=killed.folder)
    assert kinds(mended) == ["prompt", "lost", "prompt", "lost", "prompt", "reply"]


def test_a_kill_leaves_less_of_the_cap(play):
    usd = Meter.most(ChatRequest(messages=(), max_tokens=PRICED["default"].max_tokens), PRICED["default"])[1]
    budget = {"proposals": 1, "usd": 1.5 * usd}
    killed = ask(play, Dying(), budget=budget)
    again = ScriptedModel()
    ask(play, again, folder=killed.folder, budget=budget)
    assert again.requests[0].max_tokens < PRICED["default"].max_tokens


def test_a_search_ends_with_its_time_though_a_call_is_in_flight(play):
    played = ask(play, Thinking(), budget={"proposals": 1, "wall_s": 0.2})
    assert played.outcome.stopped == "The budget of 0.2 seconds is spent."
    assert played.outcome.complete
    assert kinds(played) == ["prompt", "lost"]


def test_what_was_found_before_the_time_was_over_is_measured_again(play):
    class Second(ScriptedModel):
        async def reply(self, request):
            found = await super().reply(request)
            if len(self.requests) > 1:
                await asyncio.sleep(3600)
            return found

    played = ask(play, Second(), budget={"proposals": 5, "wall_s": 3.0})
    assert len(played.attempts) == 1
    assert played.outcome.final is not None


def test_a_timeout_of_something_else_is_not_taken_for_the_end_of_the_search(play):
    class Late(ScriptedModel):
        async def reply(self, request):
            raise TimeoutError("of the model's own")

    with pytest.raises(TimeoutError, match="own"):
        ask(play, Late(), budget={"proposals": 1, "wall_s": 60.0})
