"""The gateway: what is journaled before it is acted on, played back on resume, counted and withheld."""

import asyncio
import json
from contextlib import closing

import pytest

from kernelwright.engine.budget import Budget
from kernelwright.engine.config import load_config
from kernelwright.engine.gateway import run_gateway
from kernelwright.engine.gateway.models import Meter, ModelRouter, open_router
from kernelwright.engine.journal import Journal
from kernelwright.errors import ModelError, ProposeError, StoreError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.models.stream import HEARD
from kernelwright.propose.llm.dialogue import MOST_TOKENS
from kernelwright.propose.proposer import NoRoom
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest
from kernelwright.records.run import spending
from kernelwright.store.run import RunStore
from kernelwright.testing.scripted_chat import AskingProposer, ScriptedModel

ONE = {"default": ModelConfig(name="scripted")}
SERIAL = {"strategy": {"name": "tritongym"}, "in_flight": 1}
MANY = {"name": "fsr", "n": 5, "depth": 100}
FOUR = {**SERIAL, "budget": {"proposals": 4}}


def router_of(model, configs=ONE):
    return ModelRouter(configs, lambda config: model)


def ask(play, model=None, folder=None, proposer=None, **settings):
    return play(
        proposer=proposer or AskingProposer(), router=router_of(model or ScriptedModel()), folder=folder, **settings
    )


def test_every_message_is_journaled_in_the_order_of_its_dialogue(play):
    played = ask(play, **FOUR)
    messages = played.store.messages()
    assert [message.number for message in messages] == list(range(len(messages)))
    of_second = [message for message in messages if message.proposal_request == 1]
    assert [(message.step, message.kind) for message in of_second] == [(0, "profile"), (1, "prompt"), (2, "reply")]
    asked = ChatRequest.model_validate_json(of_second[1].text)
    assert asked.messages[-1].text.startswith("0 write Success.")
    assert [a.cost.tokens for a in played.attempts] == [
        ChatReply.model_validate_json(message.text).usage.total for message in messages if message.kind == "reply"
    ]


def test_a_prompt_stands_in_the_journal_while_its_model_thinks(play, tmp_path):
    seen = []

    class Watching(ScriptedModel):
        async def reply(self, request):
            (folder,) = tmp_path.glob("0")
            with closing(RunStore.open(folder)) as store:
                seen.append([message.kind for message in store.messages()][-1])
            return await super().reply(request)

    ask(play, Watching(), **FOUR)
    assert seen == ["prompt"] * 4


@pytest.mark.parametrize("call", range(4))
def test_a_run_whose_model_fails_goes_on_with_the_very_call(play, call):
    whole = ask(play, **FOUR)
    model = ScriptedModel(fails=[call])
    broken = ask(play, model, **FOUR)
    assert not broken.outcome.complete
    assert "not to be had" in broken.outcome.stopped
    assert len(broken.attempts) == call
    again = ScriptedModel()
    mended = ask(play, again, folder=broken.folder, **FOUR)
    assert len(again.requests) == 4 - call, "no answered call is made twice"
    assert mended.outcome.complete
    assert [a.proposal for a in mended.attempts] == [a.proposal for a in whole.attempts]
    assert mended.ending.outcome.final.proposal == whole.ending.outcome.final.proposal


class Losing(ScriptedModel):
    """Some of its calls are billed and bring no answer."""

    async def reply(self, request):
        try:
            return await super().reply(request)
        except ModelError as error:
            raise ModelError(str(error), prompt=70, completion=30, usd=0.5) from None


def test_what_was_billed_without_an_answer_is_journaled_and_counted(play):
    whole = ask(play, **FOUR)
    (before,) = spending(whole.store.messages())
    broken = ask(play, Losing(fails=[1]), **FOUR)
    assert [message.kind for message in broken.store.messages()][-1] == "lost"
    again = ScriptedModel()
    mended = ask(play, again, folder=broken.folder, **FOUR)
    assert len(again.requests) == 3
    assert [a.proposal for a in mended.attempts] == [a.proposal for a in whole.attempts]
    (after,) = spending(mended.store.messages())
    assert after.prompt_tokens + after.completion_tokens == before.prompt_tokens + before.completion_tokens + 100
    assert after.usd == pytest.approx(before.usd + 0.5)
    told = [played.of("spent")[-1].spent.tokens for played in (whole, mended)]
    assert told[1] == told[0] + 100


def test_how_much_of_a_reply_has_come_is_told_once_a_second_and_not_journaled(play, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(run_gateway, "monotonic", lambda: now[0])

    class Slow(ScriptedModel):
        """Hears a token each tenth of a second, for two and a half seconds."""

        async def reply(self, request):
            tell = HEARD.get()
            for tokens in range(1, 26):
                now[0] += run_gateway.TICK_S / 10
                tell(tokens)
            return await super().reply(request)

    played = ask(play, Slow(), **FOUR)
    told = played.of("writing")
    assert [event.proposal_request for event in told] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [event.tokens for event in told[:2]] == pytest.approx([10, 20], abs=1)
    assert {event.role for event in told} == {"coder"}
    with pytest.raises(LookupError):
        HEARD.get()


def test_what_was_lost_leaves_less_of_the_cap(play):
    capped = {**SERIAL, "budget": {"proposals": 9, "usd": 1.001}}
    priced = {"default": ModelConfig(name="gpt-5")}
    folder = None
    for model in (Losing(fails=[0]), Losing(fails=[0]), ScriptedModel()):
        played = play(proposer=AskingProposer(), router=router_of(model, priced), folder=folder, **capped)
        folder = played.folder
    assert [message.kind for message in played.store.messages()] == ["prompt", "lost", "prompt", "lost", "no_room"]
    assert model.requests == []


PAIR = {"strategy": {"name": "best_of_n"}, "in_flight": 2, "budget": {"proposals": 2, "tokens": 3000}}


def sent(played):
    """The recorded requests, of each question the last before its reply."""
    asked = {}
    for message in played.store.messages():
        if message.kind == "prompt":
            asked[message.proposal_request, message.sibling] = ChatRequest.model_validate_json(message.text)
    return list(asked.values())


def test_what_is_recorded_is_what_was_sent_after_a_resume_too(play):
    """Both prompts were recorded with the room of the whole budget; when the first is answered, less of it is left."""
    broken = ask(play, ScriptedModel(tokens=500, fails=[0, 1]), **PAIR)
    assert len({r.max_tokens for r in sent(broken)}) == 1
    again = ScriptedModel(tokens=500)
    mended = ask(play, again, folder=broken.folder, **PAIR)
    assert again.requests == sent(mended)
    assert again.requests[0].max_tokens > again.requests[1].max_tokens
    assert len(mended.attempts) == 2
    once_more = ScriptedModel()
    assert ask(play, once_more, folder=broken.folder, **PAIR).attempts == mended.attempts
    assert once_more.requests == []


def test_of_siblings_only_the_unanswered_are_asked_again(play):
    settings = {"strategy": {"name": "best_of_n"}, "in_flight": 3, "budget": {"proposals": 3}}
    broken = ask(play, ScriptedModel(fails=[1]), **settings)
    answered = sum(message.kind == "reply" for message in broken.store.messages())
    again = ScriptedModel()
    mended = ask(play, again, folder=broken.folder, **settings)
    assert len(again.requests) == 3 - answered
    assert len(mended.attempts) == 3


def test_other_prompts_than_the_recorded_ones_stop_a_resumed_run(play):
    class Changed(AskingProposer):
        async def propose(self, brief):
            if brief.proposal_request.number == 1:
                await brief.gateway.ask("coder", ChatRequest(messages=(ChatMessage(role="user", text="new words"),)))
            return await super().propose(brief)

    broken = ask(play, ScriptedModel(fails=[1]), **SERIAL, budget={"proposals": 2})
    before = broken.store.messages()
    with pytest.raises(StoreError, match=r"turn .* would differ"):
        ask(play, folder=broken.folder, proposer=Changed(), **SERIAL, budget={"proposals": 2})
    with closing(RunStore.open(broken.folder)) as store:
        assert store.messages() == before


def test_a_cap_of_tokens_is_never_passed_and_leaves_the_best(play):
    for cap in range(300, 2400, 150):
        played = ask(play, ScriptedModel(tokens=200), **SERIAL, budget={"proposals": 50, "tokens": cap})
        spent = sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.messages()))
        assert spent <= cap
        assert "budget" in played.outcome.stopped
        assert played.outcome.complete
        assert (played.outcome.final is not None) == bool(played.attempts)
    assert played.outcome.final is not None, "the largest cap has room for a kernel"


def test_calls_in_flight_count_against_the_cap(play):
    settings = {"strategy": {"name": "best_of_n"}, "in_flight": 8, "budget": {"proposals": 40, "tokens": 3000}}
    played = ask(play, ScriptedModel(tokens=500, delay_s=0.01), **settings)
    assert sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.messages())) <= 3000
    assert 1 <= len(played.attempts) < 40


WIDE = {"strategy": {"name": "fsr", "n": 5, "depth": 3}, "in_flight": 1, "budget": {"proposals": 15, "tokens": 60_000}}
LONG = "x" * 10_000
"""A prompt of so many bytes that five with the room of a whole reply are far beyond the cap."""


class LongAsking(AskingProposer):
    async def _one(self, brief, sibling):
        request = ChatRequest(messages=(ChatMessage(role="user", text=f"{LONG}{sibling}"),), max_tokens=MOST_TOKENS)
        try:
            reply = await brief.gateway.ask("coder", request, sibling)
        except NoRoom:
            return None
        candidate = Candidate(language="triton", source=f"{reply.text}{brief.proposal_request.number} {sibling}")
        return Proposal(candidate=candidate, tokens=reply.usage.total)


def test_siblings_wait_for_what_others_have_set_aside(play):
    model = ScriptedModel(tokens=500, delay_s=0.001)
    played = ask(play, model, proposer=LongAsking(), **WIDE)
    assert len(played.attempts) == 15
    assert "no_room" not in {message.kind for message in played.store.messages()}
    assert {request.max_tokens for request in model.requests[:3]} == {ModelConfig(name="x").max_tokens}
    spent = sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.messages()))
    assert 15 * 3000 <= spent <= 60_000


def test_a_cap_ends_the_search_only_when_nothing_comes_back(play):
    budget = {"proposals": 500, "tokens": 60_000}
    model = ScriptedModel(tokens=500, delay_s=0.001)
    played = ask(play, model, proposer=LongAsking(), **WIDE | {"budget": budget, "strategy": MANY})
    spent = sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.messages()))
    assert 60_000 - 10_000 <= spent <= 60_000
    assert "has no room for another call" in played.outcome.stopped


def test_a_run_whose_calls_wait_can_be_given_up():
    async def given_up():
        meter = Meter(Budget(tokens=1000))
        request = ChatRequest(messages=(), max_tokens=1000)
        _, hold = await meter.fit(request, ONE["default"])
        waiting = [asyncio.create_task(meter.fit(request, ONE["default"])) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        meter.release(hold)
        _, second = await waiting[1]
        assert not waiting[2].done()
        meter.release(second)
        return await waiting[2]

    assert asyncio.run(given_up())[0].max_tokens == 1000


def test_a_run_that_its_cap_ended_is_the_same_after_a_resume(play):
    capped = ask(play, ScriptedModel(tokens=200), **SERIAL, budget={"proposals": 50, "tokens": 1500})
    with closing(RunStore.open(capped.folder)) as store:
        journal = Journal(store, lambda event: None)
    model = ScriptedModel(tokens=200)
    again = ask(play, model, folder=capped.folder, **SERIAL, budget={"proposals": 50, "tokens": 1500})
    assert model.requests == []
    assert again.outcome.stopped == capped.outcome.stopped
    assert len(again.store.messages()) == journal.messages


def test_the_ledger_books_what_no_attempt_carries(play):
    class Forgetful(AskingProposer):
        async def propose(self, brief):
            made = await super().propose(brief)
            return [p.model_copy(update={"tokens": 0, "usd": 0.0}) for p in made]

    played = ask(play, proposer=Forgetful(), **FOUR)
    last = played.of("spent")[-1].spent
    assert last.tokens < sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.messages()))
    assert last.tokens > 0, "all but the last expansion, which settles after its attempt"


def test_the_control_arm_has_no_profile_and_no_adviser(play):
    played = ask(play, withhold_feedback=True, **FOUR)
    assert {message.kind for message in played.store.messages()} == {"prompt", "reply"}
    texts = [
        json.loads(message.text)["messages"][-1]["text"]
        for message in played.store.messages()
        if message.kind == "prompt"
    ]
    assert set(texts) == {"0 write "}


def test_roles_may_have_models_of_their_own(play):
    coder, judge = ScriptedModel(name="big"), ScriptedModel(name="small")
    configs = {"default": ModelConfig(name="big"), "judge": ModelConfig(name="small")}
    router = ModelRouter(configs, lambda config: judge if config.name == "small" else coder)
    assert router.model("judge") is judge
    assert router.model("coder") is coder is router.model("frontend")
    asyncio.run(router.close())
    assert coder.closed
    assert judge.closed


def test_a_role_without_a_model_says_which_flag_names_one():
    with pytest.raises(ProposeError, match="--model judge=openai:NAME"):
        ModelRouter({"coder": ModelConfig(name="x")}, lambda config: ScriptedModel()).model("judge")


def test_a_model_that_cannot_be_had_is_said_before_anything_begins():
    def make(config):
        raise UsageError(f"{config.name} needs a key")

    models = {"default": {"name": "a"}, "judge": {"name": "b"}}
    with pytest.raises(UsageError, match="a needs a key"):
        open_router(load_config(None, {"proposer": "llm", "models": models}), make)
    open_router(load_config(None, {"proposer": "author", "models": models}), make)


@pytest.mark.parametrize(("budget", "capped"), [({}, False), ({"tokens": 9}, True), ({"usd": 1.0}, True)])
def test_models_know_that_a_cap_depends_on_them(budget, capped):
    models = {"default": {"name": "gpt-5"}}
    router = open_router(load_config(None, {"proposer": "llm", "models": models, "budget": budget}), ScriptedModel)
    assert router.config("coder").capped == capped


def test_what_the_configuration_says_of_a_model_wins(play):
    model = ScriptedModel()
    configs = {"default": ModelConfig(name="x", temperature=0.2, max_tokens=77)}
    play(proposer=AskingProposer(), router=ModelRouter(configs, lambda config: model), **FOUR)
    assert {(r.temperature, r.max_tokens) for r in model.requests} == {(0.2, 77)}


def test_a_reply_may_be_as_long_as_the_configuration_says():
    writer = ChatRequest(messages=(), max_tokens=MOST_TOKENS)
    assert ModelConfig(name="x", max_tokens=40_000).within(writer).max_tokens == 40_000
