"""Replies in pieces: what is made of them, what may go wrong, and the Responses API."""

import pytest
from chat_endpoint import Said, chunk, complaint, completion, replies, stream

from kernelwright.errors import ModelError
from kernelwright.models import stream as pace
from kernelwright.models.stream import HEARD, Meanwhile, Pace
from kernelwright.records.chat import ChatMessage, ChatRequest, ToolCall, ToolSpec, Usage

ASKED = ChatRequest(messages=(ChatMessage(role="system", text="be brief"), ChatMessage(role="user", text="hi")), seed=3)
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
TOOL = ToolSpec(name="compile", description="compiles", parameters={"type": "object", "properties": {}})
HELLO = (chunk(role="assistant", content=""), chunk(content="he"), chunk(content="llo"))
KEY = "sk-0123456789abcdef"


def ask(model, request=ASKED):
    return replies(model, request)[0]


def test_pieces_become_the_reply_that_would_have_come_whole(server, opened):
    server.script.say(
        stream(
            b": keep-alive\n\n", chunk(reasoning_content="hm "), *HELLO, chunk("stop"), {"choices": [], "usage": USAGE}
        )
    )
    reply = ask(opened())
    assert (reply.text, reply.finish, reply.model) == ("hello", "stop", "m-2026")
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (7, 3, False)
    assert reply.usage.reasoning == 1
    heard = server.script.heard[0].body
    assert (heard["stream"], heard["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize("index", [True, False])
def test_calls_in_pieces(server, opened, index):
    def piece(at, **call):
        return chunk(tool_calls=[{**({"index": at} if index else {}), **call}])

    server.script.say(
        stream(
            piece(0, id="a", function={"name": "compile", "arguments": ""}),
            piece(0, function={"arguments": '{"code"'}),
            piece(0, function={"arguments": ": 1}"}),
            piece(1, id="b", function={"name": "search", "arguments": "{}"}),
            chunk("tool_calls"),
        )
    )
    reply = ask(opened(), ASKED.model_copy(update={"tools": (TOOL,)}))
    assert reply.finish == "tools"
    assert reply.calls == (
        ToolCall(id="a", name="compile", arguments='{"code": 1}'),
        ToolCall(id="b", name="search", arguments="{}"),
    )


def test_a_stream_without_usage_is_estimated(server, opened):
    server.script.say(stream(*HELLO, chunk("stop")))
    reply = ask(opened())
    assert (reply.text, reply.usage.estimated, reply.usage.completion) == ("hello", True, 2)


def test_a_stream_that_breaks_after_its_finish_is_whole(server, opened):
    server.script.say(
        stream(*HELLO, chunk("stop"), done=False, headers={"content-length": "9999", "connection": "close"})
    )
    assert ask(opened(timeout_s=1.0)).text == "hello"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (stream(*HELLO, done=False), "broke off in the middle of a reply. It says: 1 tokens came"),
        (stream(*HELLO, headers={"content-length": "9999", "connection": "close"}, done=False), "broke off in the middle"),
        (stream(*HELLO, b'data: {"choices": [\n\n'), "sends what is no reply. It says: an event of its stream is no JSON"),
        (stream(*HELLO, {"error": {"message": f"overloaded, {KEY}", "code": 503}}), r"HTTP 503. It says: overloaded, \[key\]"),
    ],
)  # fmt: skip
def test_what_breaks_is_tried_again_and_told(server, opened, monkeypatch, broken, words):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script.say(broken, broken, completion("fine"))
    with pytest.raises(ModelError, match=words) as told:
        ask(opened(retries=1))
    assert KEY not in str(told.value)
    assert len(server.script.heard) == 2


FOR_EVER_S = 60.0
"""Until the test is over, which ends it."""


def test_a_stream_that_falls_silent_is_stalled(server, opened):
    server.script.say(stream(chunk(content="hello"), chunk("stop"), pause_s=FOR_EVER_S))
    with pytest.raises(ModelError, match=r"stalled in the middle of a reply\. It says: 1 tokens, then nothing for"):
        ask(opened(retries=0, timeout_s=0.2, thinking_tokens=4000))


def test_comments_and_empty_chunks_are_no_words(server, opened):
    server.script.say(stream(b": keep-alive\n\n" + b"data: {}\n\n", chunk("stop"), pause_s=FOR_EVER_S))
    with pytest.raises(ModelError, match="did not answer in time"):
        ask(opened(retries=0, timeout_s=0.2))


class Hand:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_slow_reply_goes_on_and_one_that_drips_does_not():
    for tokens_s, ends in ((2.0, None), (0.25, "27 tokens in 108 s")):
        hand = Hand()
        clock = Meanwhile(Pace(first_s=80.0, idle_s=10.0, max_tokens=1000), hand)
        while hand.now < 1000 and hand.now < clock.deadline:
            hand.now += 1 / tokens_s
            clock.heard("one")
        assert (clock.late().complaint.words if hand.now < 1000 else None) == ends


def test_silence_is_told_from_a_drip():
    hand = Hand()
    clock = Meanwhile(Pace(first_s=80.0, idle_s=10.0, max_tokens=1000), hand)
    assert (clock.deadline, clock.late().kind) == (80.0, "timeout")
    hand.now = 70.0
    clock.heard("words")
    assert clock.deadline == 80.0
    hand.now = 80.0
    assert clock.late().complaint.words == "1 tokens, then nothing for 10 s"


def test_an_endless_reply_is_left(server, opened, monkeypatch):
    monkeypatch.setattr(pace, "ROOM_BYTES", 100)
    server.script.say(stream(*[chunk(content="drop" * 100)] * 40, chunk("stop")))
    with pytest.raises(ModelError, match="the reply is endless"):
        ask(opened(retries=0, max_tokens=10))


def test_whoever_listens_hears_how_much_has_come(server, opened):
    heard = []
    server.script.say(stream(chunk(content="abc"), chunk(content="abcdef"), chunk("stop")))
    token = HEARD.set(heard.append)
    try:
        ask(opened())
    finally:
        HEARD.reset(token)
    assert heard == [1, 3]


def test_an_endpoint_without_streams_is_asked_without(server, opened):
    server.script.say(
        complaint(400, "Unknown parameter: 'stream_options'.", param="stream_options"),
        complaint(400, "Unsupported parameter: 'stream'", param="stream"),
        completion("whole"),
    )
    model = opened()
    assert ask(model).text == "whole"
    assert ["stream_options" in heard.body for heard in server.script.heard] == [True, False, False]
    assert ["stream" in heard.body for heard in server.script.heard] == [True, True, False]


def test_streams_can_be_switched_off(server, opened):
    server.script.say(completion("whole"))
    assert ask(opened(stream=False)).text == "whole"
    assert "stream" not in server.script.heard[0].body


# The Responses API.


def response(*output, status="completed", **fields):
    usage = {
        "input_tokens": 9,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    return {"object": "response", "model": "m-2026", "status": status, "output": list(output), "usage": usage, **fields}


def said(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize("streams", [True, False])
def test_the_responses_api(server, opened, streams):
    whole = response({"type": "reasoning", "summary": []}, said("hello"))
    events = ({"type": "response.created"}, {"type": "response.output_text.delta", "delta": "hello"})
    last = {"type": "response.completed", "response": whole}
    server.script.say(stream(*events, last, done=False) if streams else Said(whole))
    reply = ask(opened(api="responses", stream=streams, max_tokens=100, effort="low", thinking_tokens=0))
    assert (reply.text, reply.finish, reply.model) == ("hello", "stop", "m-2026")
    assert reply.usage == Usage(prompt=9, completion=5, cached=4, reasoning=2)
    heard = server.script.heard[0]
    assert heard.path == "/v1/responses"
    assert heard.body == {
        "model": "m",
        "input": [{"role": "user", "content": "hi"}],
        "instructions": "be brief",
        "store": False,
        "max_output_tokens": 100,
        "reasoning": {"effort": "low"},
        **({"stream": True} if streams else {}),
    }


def test_calls_over_the_responses_api(server, opened):
    call = {"type": "function_call", "id": "f", "call_id": "c1", "name": "compile", "arguments": "{}"}
    server.script.say(Said(response(call)))
    dialogue = (
        ChatMessage(role="user", text="go"),
        ChatMessage(role="assistant", calls=(ToolCall(id="c0", name="compile", arguments="{}"),)),
        ChatMessage(role="tool", text="ok", call="c0"),
    )
    form = {"type": "object", "properties": {}}
    reply = ask(opened(api="responses"), ChatRequest(messages=dialogue, tools=(TOOL,), answer=form))
    assert (reply.finish, reply.calls) == ("tools", (ToolCall(id="c1", name="compile", arguments="{}"),))
    sent = server.script.heard[0].body
    assert sent["input"] == [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c0", "name": "compile", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c0", "output": "ok"},
    ]
    assert sent["tools"] == [{"type": "function", "name": "compile", "description": "compiles", "parameters": form}]
    assert sent["text"] == {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": form}}


@pytest.mark.parametrize(
    ("fields", "finish"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ({}, "stop"),
    ],
)
def test_how_a_response_ends(server, opened, fields, finish):
    whole = response(said("hel"), **fields)
    kind = f"response.{whole['status']}"
    server.script.say(stream({"type": kind, "response": whole}, done=False))
    assert ask(opened(api="responses")).finish == finish


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (stream({"type": "response.output_text.delta", "delta": "hello"}, done=False), "broke off in the middle"),
        (stream({"type": "error", "code": "server_error", "message": "boom"}, done=False), "HTTP 502. It says: boom"),
        (
            stream({"type": "response.failed", "response": response(status="failed", error={"message": "no luck"})}),
            "HTTP 502. It says: no luck",
        ),
        (Said({"object": "response"}), "the body has no output"),
        (complaint(404, "Not Found"), "HTTP 404"),
    ],
)
def test_a_broken_response_is_told(server, opened, broken, words):
    server.script.say(broken)
    with pytest.raises(ModelError, match=words):
        ask(opened(api="responses", retries=0, timeout_s=2.0))


def test_a_refused_object_of_the_responses_api_is_left_out(server, opened):
    server.script.say(
        complaint(400, "Unsupported parameter: 'reasoning.effort' with this model.", param="reasoning.effort"),
        Said(response(said("hello"))),
    )
    assert ask(opened(api="responses", effort="low")).text == "hello"
    assert ["reasoning" in heard.body for heard in server.script.heard] == [True, False]
