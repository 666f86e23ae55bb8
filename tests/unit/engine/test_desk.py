"""The desk: what is journaled before it is acted on, played back on resume, counted and withheld."""

import asyncio
import json
from contextlib import closing

import pytest

from kernelwright.engine.config import load_config
from kernelwright.engine.crew import Crew, open_crew
from kernelwright.engine.journal import Journal
from kernelwright.errors import ProposeError, StoreError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.propose.llm.dialogue import MOST_TOKENS
from kernelwright.records.chat import ChatReply, ChatRequest, Message
from kernelwright.records.spending import spending
from kernelwright.store.run import RunStore
from kernelwright.testing.scripted_chat import AskingProposer, ScriptedModel

ONE = {"default": ModelConfig(name="scripted")}
SERIAL = {"strategy": {"name": "tritongym"}, "in_flight": 1}
FOUR = {**SERIAL, "budget": {"proposals": 4}}


def crew_of(model, configs=ONE):
    return Crew(configs, lambda config: model)


def ask(play, model=None, folder=None, proposer=None, **settings):
    return play(
        proposer=proposer or AskingProposer(), crew=crew_of(model or ScriptedModel()), folder=folder, **settings
    )


def test_every_message_is_journaled_in_the_order_of_its_dialogue(play):
    played = ask(play, **FOUR)
    turns = played.store.turns()
    assert [turn.number for turn in turns] == list(range(len(turns)))
    of_second = [turn for turn in turns if turn.expansion == 1]
    assert [(turn.step, turn.kind) for turn in of_second] == [(0, "profile"), (1, "prompt"), (2, "reply")]
    asked = ChatRequest.model_validate_json(of_second[1].text)
    assert asked.messages[-1].text.startswith("0 write Success.")
    assert [a.cost.tokens for a in played.attempts] == [
        ChatReply.model_validate_json(turn.text).usage.total for turn in turns if turn.kind == "reply"
    ]


def test_a_prompt_stands_in_the_journal_while_its_model_thinks(play, tmp_path):
    seen = []

    class Watching(ScriptedModel):
        async def reply(self, request):
            (folder,) = tmp_path.glob("0")
            with closing(RunStore.open(folder)) as store:
                seen.append([turn.kind for turn in store.turns()][-1])
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


def test_of_siblings_only_the_unanswered_are_asked_again(play):
    settings = {"strategy": {"name": "best_of_n"}, "in_flight": 3, "budget": {"proposals": 3}}
    broken = ask(play, ScriptedModel(fails=[1]), **settings)
    answered = sum(turn.kind == "reply" for turn in broken.store.turns())
    again = ScriptedModel()
    mended = ask(play, again, folder=broken.folder, **settings)
    assert len(again.requests) == 3 - answered
    assert len(mended.attempts) == 3


def test_other_prompts_than_the_recorded_ones_stop_a_resumed_run(play):
    class Changed(AskingProposer):
        async def propose(self, brief):
            if brief.expansion.number == 1:
                await brief.desk.ask("coder", ChatRequest(messages=(Message(role="user", text="new words"),)))
            return await super().propose(brief)

    broken = ask(play, ScriptedModel(fails=[1]), **SERIAL, budget={"proposals": 2})
    before = broken.store.turns()
    with pytest.raises(StoreError, match=r"turn .* would differ"):
        ask(play, folder=broken.folder, proposer=Changed(), **SERIAL, budget={"proposals": 2})
    with closing(RunStore.open(broken.folder)) as store:
        assert store.turns() == before


def test_a_cap_of_tokens_is_never_passed_and_leaves_the_best(play):
    for cap in range(300, 2400, 150):
        played = ask(play, ScriptedModel(tokens=200), **SERIAL, budget={"proposals": 50, "tokens": cap})
        spent = sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.turns()))
        assert spent <= cap
        assert "budget" in played.outcome.stopped
        assert played.outcome.complete
        assert (played.outcome.final is not None) == bool(played.attempts)
    assert played.outcome.final is not None, "the largest cap has room for a kernel"


def test_calls_in_flight_count_against_the_cap(play):
    settings = {"strategy": {"name": "best_of_n"}, "in_flight": 8, "budget": {"proposals": 40, "tokens": 3000}}
    played = ask(play, ScriptedModel(tokens=500, delay_s=0.01), **settings)
    assert sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.turns())) <= 3000
    assert 1 <= len(played.attempts) < 40


def test_a_run_that_its_cap_ended_is_the_same_after_a_resume(play):
    capped = ask(play, ScriptedModel(tokens=200), **SERIAL, budget={"proposals": 50, "tokens": 1500})
    with closing(RunStore.open(capped.folder)) as store:
        journal = Journal(store, lambda event: None)
    model = ScriptedModel(tokens=200)
    again = ask(play, model, folder=capped.folder, **SERIAL, budget={"proposals": 50, "tokens": 1500})
    assert model.requests == []
    assert again.outcome.stopped == capped.outcome.stopped
    assert len(again.store.turns()) == journal.turns


def test_the_ledger_books_what_no_attempt_carries(play):
    class Forgetful(AskingProposer):
        async def propose(self, brief):
            made = await super().propose(brief)
            return [p.model_copy(update={"tokens": 0, "usd": 0.0}) for p in made]

    played = ask(play, proposer=Forgetful(), **FOUR)
    last = played.of("spent")[-1].spent
    assert last.tokens < sum(r.prompt_tokens + r.completion_tokens for r in spending(played.store.turns()))
    assert last.tokens > 0, "all but the last expansion, which settles after its attempt"


def test_the_control_arm_has_no_profile_and_no_adviser(play):
    played = ask(play, withhold_feedback=True, **FOUR)
    assert {turn.kind for turn in played.store.turns()} == {"prompt", "reply"}
    texts = [json.loads(turn.text)["messages"][-1]["text"] for turn in played.store.turns() if turn.kind == "prompt"]
    assert set(texts) == {"0 write "}


def test_roles_may_have_models_of_their_own(play):
    coder, judge = ScriptedModel(name="big"), ScriptedModel(name="small")
    configs = {"default": ModelConfig(name="big"), "judge": ModelConfig(name="small")}
    crew = Crew(configs, lambda config: judge if config.name == "small" else coder)
    assert crew.model("judge") is judge
    assert crew.model("coder") is coder is crew.model("frontend")
    asyncio.run(crew.close())
    assert coder.closed
    assert judge.closed


def test_a_role_without_a_model_says_which_flag_names_one():
    with pytest.raises(ProposeError, match="--model judge=openai:NAME"):
        Crew({"coder": ModelConfig(name="x")}, lambda config: ScriptedModel()).model("judge")


def test_a_model_that_cannot_be_had_is_said_before_anything_begins():
    def make(config):
        raise UsageError(f"{config.name} needs a key")

    models = {"default": {"name": "a"}, "judge": {"name": "b"}}
    with pytest.raises(UsageError, match="a needs a key"):
        open_crew(load_config(None, {"proposer": "llm", "models": models}), make)
    open_crew(load_config(None, {"proposer": "author", "models": models}), make)


def test_what_the_configuration_says_of_a_model_wins(play):
    model = ScriptedModel()
    configs = {"default": ModelConfig(name="x", temperature=0.2, max_tokens=77)}
    play(proposer=AskingProposer(), crew=Crew(configs, lambda config: model), **FOUR)
    assert {(r.temperature, r.max_tokens) for r in model.requests} == {(0.2, 77)}


def test_a_reply_may_be_as_long_as_the_configuration_says():
    writer = ChatRequest(messages=(), max_tokens=MOST_TOKENS)
    assert ModelConfig(name="x", max_tokens=40_000).within(writer).max_tokens == 40_000
