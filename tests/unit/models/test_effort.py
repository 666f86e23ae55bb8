"""Reasoning: its effort and its room go to both protocols, and the answer's own room stays what it was."""

import pytest

from kernelwright.models import claude, openai_wire
from kernelwright.models.capability import Capabilities
from kernelwright.models.config import ModelConfig
from kernelwright.records.chat import ChatMessage, ChatRequest

ASKED = ChatRequest(messages=(ChatMessage(role="user", text="hello"),), temperature=0.7, max_tokens=1 << 20)


def parameters(wire, asked=ASKED, capabilities=None, **settings):
    config = ModelConfig(name="m", **settings)
    return wire.parameters_of("m", config.within(config.within(asked)), capabilities or Capabilities())


def test_openai_is_told_the_effort_and_has_room_for_it_beside_the_answer():
    assert "reasoning_effort" not in parameters(openai_wire, max_tokens=1000)
    told = parameters(openai_wire, max_tokens=20_000, effort="low")
    assert (told["reasoning_effort"], told["max_tokens"]) == ("low", 20_000 + 4096)


def test_anthropic_has_a_budget_of_thinking_and_no_temperature_with_it():
    told = parameters(claude, max_tokens=20_000, effort="medium")
    assert told["thinking"] == {"type": "enabled", "budget_tokens": 16384}
    assert told["max_tokens"] == 20_000 + 16384
    assert "temperature" not in told
    assert parameters(claude, max_tokens=20_000)["temperature"] == 0.7


def test_a_budget_by_number_wins_over_the_effort_s_own():
    assert parameters(openai_wire, max_tokens=9000, effort="high", thinking_tokens=1000)["max_tokens"] == 10_000


@pytest.mark.parametrize("wire", [openai_wire, claude])
def test_what_an_endpoint_refuses_is_left_out(wire):
    capabilities = Capabilities()
    capabilities.dropped |= {"reasoning_effort", "thinking"}
    told = parameters(wire, capabilities=capabilities, effort="high")
    assert not {"reasoning_effort", "thinking"} & told.keys()
    assert told["temperature"] == 0.7


def test_where_a_budget_leaves_little_room_half_of_it_is_the_answer_s():
    short = ASKED.model_copy(update={"max_tokens": 4000})
    assert parameters(claude, short, effort="high")["thinking"]["budget_tokens"] == 2000


def test_a_try_may_take_as_long_as_its_reasoning_needs():
    assert ModelConfig(name="m").patience_s == ModelConfig(name="m").timeout_s
    assert ModelConfig(name="m", effort="high").patience_s > ModelConfig(name="m", effort="low").patience_s


def test_only_a_conversation_is_marked_for_the_cache():
    assert "cache_control" not in str(parameters(claude))
    words = (("system", "s"), ("user", "u"), ("assistant", "a"), ("user", "again"))
    going_on = ASKED.model_copy(update={"messages": tuple(ChatMessage(role=r, text=t) for r, t in words)})
    marked = parameters(claude, going_on)["messages"]
    assert marked[-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in str(marked[:-1])


def test_the_question_is_the_same_whatever_effort_is_asked():
    assert ASKED.question == ModelConfig(name="m", effort="high").within(ASKED).question
