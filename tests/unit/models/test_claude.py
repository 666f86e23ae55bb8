"""Anthropic's protocol against a real HTTP server."""

import json
import sys

import pytest
from chat_endpoint import Said, complaint, replies, stream

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.claude import open_model
from kernelwright.models.config import ModelConfig
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatMessage, ChatRequest, ToolCall, ToolSpec, Usage

TOOL = ToolSpec(name="compile", description="compiles", parameters={"type": "object", "properties": {}})
ASKED = ChatRequest(
    messages=(
        ChatMessage(role="system", text="be brief"),
        ChatMessage(role="user", text="hi "),
        ChatMessage(
            role="assistant",
            text="I compile.",
            calls=(
                ToolCall(id="c0", name="compile", arguments='{"a": 1}'),
                ToolCall(id="c1", name="compile", arguments="not JSON"),
            ),
        ),
        ChatMessage(role="tool", text="ok", call="c0"),
        ChatMessage(role="tool", text="", call="c1"),
        ChatMessage(role="user", text="go on"),
    ),
    tools=(TOOL,),
    temperature=0.3,
    seed=5,
    max_tokens=900,
)


def message(*blocks, stop="end_turn", **usage):
    return Said(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": list(blocks),
            "stop_reason": stop,
            "usage": {"input_tokens": 10, "output_tokens": 4, **usage},
        }
    )


def text(words):
    return {"type": "text", "text": words}


@pytest.fixture
def model(server, waits, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return open_model(ModelConfig(provider="anthropic", name="claude-x", base_url=server.url), waits.retries)


def test_what_is_sent(server, model):
    server.script.say(message(text("done")))
    assert replies(model, ASKED)[0].text == "done"
    heard = server.script.heard[0]
    assert heard.path == "/v1/messages"
    assert heard.body == {
        "model": "claude-x",
        "system": "be brief",
        "max_tokens": 900,
        "temperature": 0.3,
        "stream": True,
        "tools": [{"name": "compile", "description": "compiles", "input_schema": TOOL.parameters}],
        "messages": [
            {"role": "user", "content": [text("hi")]},
            {
                "role": "assistant",
                "content": [
                    text("I compile."),
                    {"type": "tool_use", "id": "c0", "name": "compile", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c1", "name": "compile", "input": {"text": "not JSON"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c0", "content": "ok"},
                    {"type": "tool_result", "tool_use_id": "c1", "content": "(nothing)"},
                    {**text("go on"), "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
    }


def test_what_comes_back(server, model):
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "c9", "name": "compile", "input": {"code": "x"}}
    server.script.say(
        message(
            thought,
            text("a"),
            text("b"),
            call,
            stop="tool_use",
            cache_read_input_tokens=30,
            cache_creation_input_tokens=20,
            output_tokens_details={"thinking_tokens": 3},
        )
    )
    reply = replies(model, ASKED)[0]
    assert (reply.text, reply.finish, reply.model) == ("ab", "tools", "claude-x")
    assert reply.calls == (ToolCall(id="c9", name="compile", arguments='{"code": "x"}'),)
    assert reply.usage == Usage(prompt=60, completion=4, cached=30, reasoning=3)


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def piece(at, **delta):
    return event("content_block_delta", index=at, delta=delta)


def block(at, **content):
    return event("content_block_start", index=at, content_block=content)


BEGUN = event(
    "message_start", message={"model": "claude-x", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
)
ENDED = (
    event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 9}),
    event("message_stop"),
)
WORDS = (
    block(0, type="text", text=""),
    piece(0, type="text_delta", text="he"),
    piece(0, type="text_delta", text="llo"),
)


def test_pieces_become_the_reply_that_would_have_come_whole(server, model):
    server.script.say(
        stream(
            BEGUN,
            event("ping"),
            block(0, type="thinking", thinking="", signature=""),
            piece(0, type="thinking_delta", thinking="hm"),
            piece(0, type="signature_delta", signature="s"),
            event("content_block_stop", index=0),
            block(1, type="text", text=""),
            piece(1, type="text_delta", text="he"),
            piece(1, type="text_delta", text="llo"),
            block(2, type="tool_use", id="c9", name="compile", input={}),
            piece(2, type="input_json_delta", partial_json=""),
            piece(2, type="input_json_delta", partial_json='{"code": '),
            piece(2, type="input_json_delta", partial_json='"x"}'),
            block(3, type="tool_use", id="c10", name="compile", input={}),
            *ENDED,
            done=False,
        )
    )
    reply = replies(model, ASKED)[0]
    assert (reply.text, reply.finish, reply.model) == ("hello", "tools", "claude-x")
    assert reply.calls == (
        ToolCall(id="c9", name="compile", arguments='{"code": "x"}'),
        ToolCall(id="c10", name="compile", arguments="{}"),
    )
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (10, 9, False)


def test_a_call_that_was_cut_keeps_what_came(server, model):
    cut = stream(
        BEGUN, block(0, type="tool_use", id="c9", name="compile", input={}),
        piece(0, type="input_json_delta", partial_json='{"code": "x'), *ENDED, done=False,
    )  # fmt: skip
    server.script.say(cut)
    assert json.loads(replies(model, ASKED)[0].calls[0].arguments) == '{"code": "x'


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (stream(BEGUN, *WORDS, done=False), "broke off in the middle of a reply. It says: 1 tokens came"),
        (stream(BEGUN, b"event: content_block_delta\ndata: {nothing\n\n"), "an event of its stream is no JSON"),
        (
            stream(BEGUN, *WORDS, event("error", error={"type": "overloaded_error", "message": "Overloaded"})),
            "HTTP 502. It says: Overloaded",
        ),
        (complaint(529, "Overloaded"), "HTTP 529. It says: Overloaded"),
    ],
)
def test_a_stream_that_breaks_is_tried_again_and_told(server, model, broken, words):
    server.script.say(broken)
    with pytest.raises(ModelError, match=words):
        replies(model, ASKED)
    assert len(server.script.heard) == 7


def test_a_stream_that_falls_silent_is_stalled(server, waits):
    config = ModelConfig(provider="anthropic", name="claude-x", base_url=server.url, timeout_s=0.2, retries=0)
    server.script.say(stream(b"".join((BEGUN, *WORDS)), pause_s=60.0))
    with pytest.raises(ModelError, match=r"stalled in the middle of a reply\. It says: 1 tokens, then nothing for"):
        replies(open_model(config, waits.retries), ASKED)


def test_an_endpoint_without_streams_is_asked_again_without(server, model):
    server.script.say(complaint(400, "stream: Extra inputs are not permitted"), message(text("whole")))
    assert replies(model, ASKED)[0].text == "whole"
    assert ["stream" in heard.body for heard in server.script.heard] == [True, False]


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
        ("something new", "other"),
    ],
)
def test_why_it_stopped(server, model, stop, finish):
    server.script.say(message(text("words"), stop=stop))
    assert replies(model, ASKED)[0].finish == finish


def test_a_refused_temperature_is_left_out_from_then_on(server, model):
    refusal = Said(
        {"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: deprecated"}}, 400
    )
    server.script.say(refusal, message(text("done")))
    replies(model, ASKED, ASKED)
    assert ["temperature" in heard.body for heard in server.script.heard] == [True, False, False]


def test_the_length_is_lowered(server, model):
    words = "max_tokens: 900 > 512, which is the maximum allowed number of output tokens for claude-x"
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    server.script.say(Said(error, 400), message(text("done")))
    replies(model, ASKED)
    assert [heard.body["max_tokens"] for heard in server.script.heard] == [900, 512]


def test_the_length_is_never_left_out(server, model):
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: not supported"}}
    server.script.say(Said(error, 400))
    with pytest.raises(ModelError, match="max_tokens: not supported"):
        replies(model, ASKED)


@pytest.mark.parametrize("depth", [*range(50, 1000, 75), 50_000])
def test_a_call_of_any_depth_can_be_said_back(server, model, depth):
    nested = '{"a":' + "[" * depth + "]" * depth + "}"
    said = ChatMessage(role="assistant", calls=(ToolCall(id="c0", name="compile", arguments=nested),))
    told = ChatMessage(role="tool", text="too deep", call="c0")
    server.script.say(message(text("done")))
    dialogue = (ChatMessage(role="user", text="go"), said, told)
    assert replies(model, ASKED.model_copy(update={"messages": dialogue}))[0].text == "done"


def test_overload_is_waited_for(server, model, waits):
    overload = Said({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    server.script.say(overload, message(text("done")))
    assert replies(model, ASKED)[0].text == "done"
    assert len(waits.seconds) == 1


def test_an_empty_message_is_asked_again(server, model):
    server.script.say(message(), message(text("done")))
    reply = replies(model, ASKED)[0]
    assert (reply.text, reply.usage.total) == ("done", 28)


def test_without_the_package_the_cure_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    monkeypatch.delitem(sys.modules, "kernelwright.models.claude", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'kernelwright\[anthropic\]'"):
        make_model(ModelConfig(provider="anthropic", name="claude-x"))


def test_marks_of_prompt_caching_that_are_refused_are_left_out_from_then_on(server, model):
    refused = {"type": "error", "error": {"type": "invalid_request_error",
               "message": "messages.2.content.0.text.cache_control: Extra inputs are not permitted"}}  # fmt: skip
    server.script.say(Said(refused, 400), message(text("done")), message(text("again")))
    assert [reply.text for reply in replies(model, ASKED, ASKED)] == ["done", "again"]
    assert ["cache_control" in str(heard.body) for heard in server.script.heard] == [True, False, False]


FORM = {
    "type": "object",
    "properties": {"plan": {"type": "string"}},
    "required": ["plan"],
    "additionalProperties": False,
}


def test_an_answer_is_held_to_its_form_until_that_is_refused(server, model):
    refused = {"type": "error", "error": {"type": "invalid_request_error",
               "message": "output_config.format: Extra inputs are not permitted"}}  # fmt: skip
    server.script.say(message(text("{}")), Said(refused, 400), message(text("{}")), message(text("{}")))
    formed = ASKED.model_copy(update={"answer": FORM})
    replies(model, formed, formed, formed)
    sent = [heard.body.get("output_config") for heard in server.script.heard]
    assert sent == [{"format": {"type": "json_schema", "schema": FORM}}] * 2 + [None, None]
