"""The client against a real HTTP server: what it sends, what it makes of what comes back, when it tries again."""

import json

import pytest
from chat_endpoint import Said, complaint, completion, replies

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.models.openai_compatible import open_model
from kernelwright.records.chat import ChatMessage, ChatRequest, ToolCall, ToolSpec, Usage

ASKED = ChatRequest(
    messages=(ChatMessage(role="system", text="be brief"), ChatMessage(role="user", text="hi")), temperature=0.2, seed=3
)
TOOL = ToolSpec(name="compile", description="compiles", parameters={"type": "object", "properties": {}})


def ask(model, *requests):
    found = replies(model, *requests, together=True)
    return found[0] if len(found) == 1 else found


def test_a_reply_and_what_was_sent(server, opened):
    server.script.say(completion("a kernel"))
    model = opened(max_tokens=100)
    reply = ask(model, ASKED)
    assert (reply.text, reply.finish, reply.model) == ("a kernel", "stop", "m-2026")
    assert reply.usage == Usage(prompt=7, completion=3)
    assert reply.usd == 0.0
    assert reply.seconds > 0
    heard = server.script.heard[0]
    assert heard.path == "/v1/chat/completions"
    assert heard.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_tokens": 100,
        "temperature": 0.2,
        "seed": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert model.name == "openai:m"


def test_usage_with_cache_and_reasoning(server, opened):
    server.script.say(
        completion(
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 40},
            }
        )
    )
    assert ask(opened(), ASKED).usage == Usage(prompt=100, completion=50, cached=60, reasoning=40)


def test_usage_that_is_missing_is_estimated(server, opened):
    server.script.say(completion("x" * 30, usage=None))
    usage = ask(opened(), ASKED).usage
    assert usage.estimated
    assert usage.completion == 10
    assert usage.prompt > 0


def test_tokens_that_are_counted_in_fractions(server, opened):
    server.script.say(completion(usage={"prompt_tokens": 10.0, "completion_tokens": 3.0, "cost": 0}))
    reply = ask(opened(), ASKED)
    assert (reply.usage, reply.usd) == (Usage(prompt=10, completion=3), 0.0)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many"},
        {"prompt_tokens": -4, "completion_tokens": None},
        {"x": 1},
        {"prompt_tokens": True, "completion_tokens": True},
        {"prompt_tokens": 10**400, "completion_tokens": 1e300, "cost": 10**400},
    ],
)
def test_nonsense_in_usage_is_estimated(server, opened, usage):
    server.script.say(completion(usage=usage))
    assert ask(opened(), ASKED).usage.estimated


def test_what_the_endpoint_charges_counts(server, opened):
    server.script.say(
        completion(usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}),
    )
    assert ask(opened(), ASKED).usd == 0.25


def test_known_model_is_priced(server, opened):
    server.script.say(completion(usage={"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}))
    assert ask(opened(name="gpt-5-2025-08-07"), ASKED).usd == pytest.approx(1000 * 1.25e-6 + 100 * 10e-6)


def test_tool_calls_there_and_back(server, opened):
    call = {"id": "c1", "type": "function", "function": {"name": "compile", "arguments": '{"code": 1'}}
    server.script.say(completion(None, "tool_calls", message={"content": None, "tool_calls": [call]}))
    dialogue = (
        ChatMessage(role="user", text="go"),
        ChatMessage(role="assistant", calls=(ToolCall(id="c0", name="compile", arguments="{}"),)),
        ChatMessage(role="tool", text="ok", call="c0"),
    )
    reply = ask(opened(), ChatRequest(messages=dialogue, tools=(TOOL,)))
    assert reply.finish == "tools"
    assert reply.calls == (ToolCall(id="c1", name="compile", arguments='{"code": 1'),)
    sent = server.script.heard[0].body
    assert sent["messages"][1]["tool_calls"][0]["function"] == {"name": "compile", "arguments": "{}"}
    assert sent["messages"][2] == {"role": "tool", "content": "ok", "tool_call_id": "c0"}
    assert sent["tools"][0]["function"]["name"] == "compile"


def test_tool_calls_as_imitators_send_them(server, opened):
    calls = [{"function": {"name": "compile", "arguments": {"a": 1}}}, {"nonsense": True}, None]
    server.script.say(completion(None, "stop", message={"content": "", "tool_calls": calls}))
    reply = ask(opened(), ASKED)
    assert reply.calls == (ToolCall(id="call_0", name="compile", arguments='{"a": 1}'),)
    assert reply.finish == "tools"


def test_tool_calls_in_the_text(server, opened):
    server.script.say(completion('Let me.\n<tool_call>\n{"name": "compile", "arguments": {"a": 1}}\n</tool_call>'))
    reply = ask(opened(), ASKED)
    assert (reply.text, reply.finish) == ("Let me.", "tools")
    assert reply.calls[0].arguments == '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "kept", "finish", "ends"),
    [
        ("<think>let me see</think>\n\nanswer", "answer", "stop", "stop"),
        ("<thinking>a</thinking>b", "b", "stop", "stop"),
        ("let me see\n</think>\nanswer", "answer", "stop", "stop"),
        ("<think>and so on", "", "length", "length"),
        ("no <think>tags</think> at the front", "no <think>tags</think> at the front", "stop", "stop"),
    ],
)
def test_reasoning_stays_out_of_the_text(server, opened, text, kept, finish, ends):
    server.script.say(completion(text, finish))
    reply = ask(opened(), ASKED)
    assert (reply.text, reply.finish) == (kept, ends)


def test_reasoning_beside_the_text_is_counted(server, opened):
    server.script.say(completion("answer", message={"reasoning_content": "r" * 6}))
    reply = ask(opened(), ASKED)
    assert reply.text == "answer"
    assert reply.usage.reasoning == 2


def test_content_in_parts(server, opened):
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    server.script.say(completion(None, message={"content": parts}))
    assert ask(opened(), ASKED).text == "ab"


def test_truncated_and_refused_are_replies(server, opened):
    server.script.say(
        completion("half a ker", "length"),
        completion("", "content_filter"),
        completion(None, "stop", message={"content": None, "refusal": "I cannot"}),
        complaint(400, "filtered", code="content_filter"),
    )
    replies = [ask(opened(), ASKED) for _ in range(4)]
    assert [(reply.text, reply.finish) for reply in replies] == [
        ("half a ker", "length"),
        ("", "refusal"),
        ("I cannot", "refusal"),
        ("", "refusal"),
    ]


@pytest.mark.parametrize("empty", [completion(None), completion("  \n"), completion(choices=[])])
def test_an_empty_reply_is_asked_again_and_then_passed_on(server, opened, empty):
    server.script.say(empty)
    reply = ask(opened(), ASKED)
    assert (reply.text.strip(), reply.finish) == ("", "other")
    assert len(server.script.heard) == 3
    assert reply.usage.total == 30


def test_an_empty_reply_may_be_followed_by_a_full_one(server, opened):
    server.script.say(completion(None), completion("there"))
    reply = ask(opened(), ASKED)
    assert (reply.text, reply.usage.total) == ("there", 20)


@pytest.mark.parametrize(
    "fault",
    [
        complaint(429, "slow down"),
        complaint(500, "oh"),
        complaint(503, "busy"),
        complaint(529, "overloaded"),
        complaint(408, "late"),
        complaint(409, "conflict"),
        Said(raw=b'{"choices": [{"mess'),
        Said(raw=b"<html>sign in</html>", kind="text/html"),
        Said(raw=b""),
        Said([1, 2]),
        Said({"id": "no choices"}),
        Said({"error": {"code": 502, "message": "upstream"}}),
        Said(hang_up=True),
        Said(raw=b"{", headers={"content-length": "100", "connection": "close"}),
    ],
    ids=lambda fault: f"{fault.status}-{fault.raw or fault.body or 'hang up'}"[:40],
)
def test_passing_faults_are_tried_again(server, opened, waits, fault):
    server.script.say(fault, fault, completion("at last"))
    reply = ask(opened(), ASKED)
    assert reply.text == "at last"
    assert waits.seconds == [0.375, 0.75]
    assert len(server.script.heard) == 3


def test_an_answer_that_cannot_be_read_is_counted(server, opened):
    server.script.say(Said(raw=b"{" + b"x" * 299), completion("there"))
    usage = ask(opened(), ASKED).usage
    assert usage.estimated
    assert usage.completion == 103


def test_retry_after_is_honoured_within_bounds(server, opened, waits):
    server.script.say(
        complaint(429, "wait", headers={"retry-after": "7"}),
        complaint(429, "wait", headers={"retry-after": "86400"}),
        complaint(429, "wait", headers={"retry-after": "soon"}),
        completion(),
    )
    ask(opened(), ASKED)
    assert waits.seconds == pytest.approx([7 * 1.05, 120 * 1.05, 2 * 0.75])


def test_faults_that_stay_end_in_an_error(server, opened):
    server.script.say(complaint(500, "the model <b>fell over</b>"))
    with pytest.raises(ModelError, match=r"openai:m \(tried 3 times\) answered HTTP 500\. It says: the model"):
        ask(opened(retries=2), ASKED)
    assert len(server.script.heard) == 3


def test_a_stall_is_cut_off(server, opened, waits):
    server.script.say(Said(wait_s=60), completion("quick"))
    assert ask(opened(timeout_s=0.3), ASKED).text == "quick"
    server.script.say(Said(wait_s=60))
    with pytest.raises(ModelError, match="timeout_s"):
        ask(opened(timeout_s=0.2, retries=1), ASKED)


def test_nobody_there(waits, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = ModelConfig(name="m", base_url="http://127.0.0.1:9/v1", retries=2)
    with pytest.raises(ModelError, match=r"cannot be reached.*base URL"):
        ask(open_model(config, waits.retries), ASKED)
    assert len(waits.seconds) == 2


@pytest.mark.parametrize(
    ("status", "message", "fix"),
    [(401, "bad key", "OPENAI_API_KEY"), (403, "no", "OPENAI_API_KEY"), (404, "no such model", "model's name")],
)
def test_no_retry_where_it_cannot_help(server, opened, status, message, fix):
    server.script.say(complaint(status, message))
    with pytest.raises(ModelError, match=fix):
        ask(opened(), ASKED)
    assert len(server.script.heard) == 1


@pytest.mark.parametrize("code", [401, "401"])
def test_an_error_that_a_relay_tells_late_is_what_its_code_says(server, opened, code):
    server.script.say(Said({"error": {"code": code, "message": "bad key"}}))
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        ask(opened(), ASKED)
    assert len(server.script.heard) == 1


def test_a_relays_patience_is_asked_for_late(server, opened, waits):
    server.script.say(Said({"error": {"code": "429", "message": "slow down"}}), completion("there"))
    assert ask(opened(), ASKED).text == "there"
    late = {"code": "400", "message": "is not supported here", "param": "seed", "type": "invalid_request_error"}
    server.script.say(Said({"error": late}), completion("there"))
    assert ask(opened(), ASKED).text == "there"
    assert len(waits.seconds) == 1
    assert "seed" not in server.script.heard[-1].body


@pytest.mark.parametrize("error", [{"code": 429, "type": "insufficient_quota", "message": "no"}, "no"])
def test_what_a_relay_says_of_credit_is_heard(server, opened, error):
    server.script.say(Said({"error": error, "code": "insufficient_quota"}, 429))
    with pytest.raises(ModelError, match="no credit"):
        ask(opened(), ASKED)


def test_no_credit_is_no_reason_to_wait(server, opened):
    server.script.say(complaint(429, "You exceeded your quota", code="insufficient_quota"))
    with pytest.raises(ModelError, match="no credit"):
        ask(opened(), ASKED)
    assert len(server.script.heard) == 1


def test_a_redirect_is_not_followed(server, other_server, opened, monkeypatch):
    server.script.say(Said(status=307, headers={"location": f"{other_server.url}/v1/chat/completions?a=b"}))
    other_server.script.say(completion("stolen"))
    with pytest.raises(ModelError, match=rf"redirects to {other_server.url}/v1/chat/completions:"):
        ask(opened(), ASKED)
    assert not other_server.script.heard


def test_at_most_so_many_at_once(server, opened):
    server.script.say(Said(completion().body, wait_s=0.05))
    requests = [ASKED.model_copy(update={"seed": seed}) for seed in range(9)]
    replies = ask(opened(concurrency=3), *requests)
    assert len(replies) == 9
    assert 2 <= server.script.most_busy <= 3


def test_half_characters_do_not_break_the_reply(server, opened):
    server.script.say(Said(raw=json.dumps(completion("a\ud800b").body).encode()))
    assert ask(opened(), ASKED).text == "a?b"


def test_half_characters_do_not_break_a_call(server, opened):
    call = {"id": "a\ud800", "function": {"name": "compile\udc00", "arguments": '{"code": "\ud800"}'}}
    body = completion(None, "tool_calls", message={"tool_calls": [call]}).body
    server.script.say(Said(raw=json.dumps(body).encode()))
    (found,) = ask(opened(), ASKED).calls
    assert (found.id, found.name, found.arguments) == ("a?", "compile?", '{"code": "?"}')


@pytest.mark.parametrize("kind", ["invalid_request_error", "unsupported_parameter"])
def test_a_late_error_may_have_its_kind_alone(server, opened, waits, kind):
    late = {"code": kind, "message": "seed is not supported here", "param": "seed"}
    server.script.say(Said({"error": late}), completion("there"))
    assert ask(opened(), ASKED).text == "there"
    assert waits.seconds == []
    server.script.say(Said({"error": {"code": "content_filter", "message": "filtered"}}))
    assert ask(opened(), ASKED).finish == "refusal"


def test_a_key_is_needed_away_from_home(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError, match="set the environment variable OPENAI_API_KEY"):
        open_model(ModelConfig(name="gpt-5"))
    with pytest.raises(UsageError, match="set the environment variable MINE"):
        open_model(ModelConfig(name="x", base_url="https://relay.example/v1", key_variable="MINE"))


def test_the_address_comes_from_the_environment(server, waits, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v2")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test-0123")
    server.script.say(completion())
    ask(open_model(ModelConfig(name="m"), waits.retries), ASKED)
    heard = server.script.heard[0]
    assert heard.path == "/v2/chat/completions"
    assert {name.lower(): value for name, value in heard.headers.items()}[
        "authorization"
    ] == "Bearer sk-of-the-test-0123"


def test_all_tries_together_stay_within_what_one_can_cost(server, opened):
    wasted = {"prompt_tokens": 100, "completion_tokens": 200, "total_tokens": 300}
    server.script.say(completion(None, usage=wasted))
    reply = ask(opened(), ASKED.model_copy(update={"max_tokens": 1000}))
    assert [heard.body["max_tokens"] for heard in server.script.heard] == [1000, 700]
    assert (reply.finish, reply.usage.total) == ("other", 600)


def test_answers_that_cannot_be_read_end_before_they_cost_too_much(server, opened):
    server.script.say(Said(raw=b"{" * 1200))
    reply = ask(opened(), ASKED.model_copy(update={"max_tokens": 1000}))
    assert (reply.text, reply.finish) == ("", "other")
    assert len(server.script.heard) == 2


DEEP = "[" * 200_000
NESTED = "[" * 60_000 + "]" * 60_000


def test_a_complaint_without_end_is_a_complaint(server, opened):
    server.script.say(Said(raw=DEEP.encode(), status=400))
    with pytest.raises(ModelError, match="answered HTTP 400"):
        ask(opened(), ASKED)


def test_a_call_without_end_stays_text(server, opened):
    text = f'<tool_call>{{"name": "compile", "arguments": {NESTED}}}</tool_call>'
    server.script.say(completion(text))
    reply = ask(opened(), ASKED)
    assert (reply.text, reply.calls) == (text, ())


def test_arguments_nested_as_deep_as_can_be_read_are_an_answer(server, opened):
    for depth in range(100, 1000, 50):
        raw = json.dumps(completion(None, message={"tool_calls": [{"function": {"name": "f", "arguments": "?"}}]}).body)
        nested = '{"a":' + "[" * depth + "]" * depth + "}"
        server.script.say(Said(raw=raw.replace('"?"', nested).encode()), completion("there"))
        reply = ask(opened(), ASKED)
        assert reply.calls or reply.text == "there"


def test_an_error_says_what_was_billed_before_it(server, opened):
    server.script.say(Said(raw=b"{" + b"x" * 299), complaint(500, "oh"))
    with pytest.raises(ModelError) as caught:
        ask(opened(name="gpt-5", retries=2), ASKED)
    assert caught.value.completion == 100
    assert caught.value.prompt > 0
    assert caught.value.usd == pytest.approx(caught.value.prompt * 1.25e-6 + 100 * 10e-6)


def test_a_web_page_is_not_paid_for(server, opened):
    server.script.say(Said(raw=b"<html>" + b"x" * 9000, kind="text/html"))
    with pytest.raises(ModelError, match=r"tried 7 times\).*a web page"):
        ask(opened(), ASKED)


@pytest.mark.parametrize(
    "words",
    [
        "This response_format type is unavailable now",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
    ],
)
def test_an_answer_is_held_to_its_form_until_that_is_refused(server, opened, words):
    form = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    server.script.say(complaint(400, words), completion("{}"))
    assert ask(opened(), ASKED.model_copy(update={"answer": form})).text == "{}"
    first, second = (heard.body for heard in server.script.heard)
    assert first["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": form}
    assert "response_format" not in second


@pytest.mark.parametrize("raw", [b"\x93\x1f\xfa\x00" * 900, b"", b"upstream is busy", b"<html>"])
def test_a_body_that_is_no_json_costs_nothing_and_is_asked_for_again(server, opened, raw):
    server.script.say(Said(raw=raw), completion("there"))
    reply = ask(opened(), ASKED)
    assert reply.text == "there"
    assert not reply.usage.estimated
    server.script.say(Said(raw=raw))
    with pytest.raises(ModelError) as caught:
        ask(opened(name="gpt-5", retries=3), ASKED)
    assert (caught.value.prompt, caught.value.completion, caught.value.usd) == (0, 0, 0.0)
    assert len(server.script.heard) == 2 + 4


def test_a_request_whose_answer_did_not_come_counts_its_prompt(server, opened):
    server.script.say(Said(wait_s=60))
    with pytest.raises(ModelError) as caught:
        ask(opened(name="gpt-5", timeout_s=0.2, retries=1), ASKED)
    assert caught.value.prompt > 0
    assert caught.value.usd == pytest.approx(caught.value.prompt * 1.25e-6)
