"""What a refusal teaches, and that it is learned once."""

import asyncio

import pytest
from chat_endpoint import Said, complaint, completion

from kernelwright.errors import ModelError
from kernelwright.records.chat import ChatMessage, ChatRequest, ToolCall, ToolSpec

TOOL = ToolSpec(name="compile", description="compiles", parameters={"type": "object"})
ASKED = ChatRequest(
    messages=(
        ChatMessage(role="system", text="be brief"),
        ChatMessage(role="user", text="hi"),
        ChatMessage(role="assistant", calls=(ToolCall(id="c0", name="compile", arguments="{}"),)),
        ChatMessage(role="tool", text="ok", call="c0"),
    ),
    temperature=0.2,
    seed=3,
    max_tokens=5000,
    tools=(TOOL,),
)
PLAIN = ASKED.model_copy(update={"messages": ASKED.messages[:2], "tools": ()})


def twice(model, request):
    async def run():
        try:
            return [await model.reply(request), await model.reply(request)]
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("refusal", "gone"),
    [
        (complaint(400, "Unsupported parameter", param="temperature", code="unsupported_parameter"), "temperature"),
        (
            complaint(
                400,
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) is supported.",
                param="temperature",
                code="unsupported_value",
            ),
            "temperature",
        ),
        (complaint(400, "temperature is deprecated for this model"), "temperature"),
        (Said({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, 422), "seed"),
        (Said({"detail": "Unknown field: seed"}, 422), "seed"),
        (Said({"error": "unrecognized argument supplied: seed"}, 400), "seed"),
        (Said(raw=b"unknown parameter `seed`", status=400, kind="text/plain"), "seed"),
        (complaint(400, "registry/tiny does not support tools"), "tools"),
        (complaint(400, "This model does not support tool calling"), "tools"),
    ],
)
def test_a_refused_parameter_is_left_out_from_then_on(server, opened, waits, refusal, gone):
    server.script.say(refusal, completion())
    replies = twice(opened(), ASKED)
    assert [reply.text for reply in replies] == ["hello", "hello"]
    heard = [set(one.body) for one in server.script.heard]
    everything = {"model", "messages", "max_tokens", "temperature", "seed", "tools", "stream", "stream_options"}
    assert heard == [everything, everything - {gone}, everything - {gone}]
    assert waits.seconds == []


def test_without_tools_the_dialogue_is_plain_text(server, opened):
    server.script.say(complaint(400, "tools are not supported"), completion())
    twice(opened(), ASKED)
    assert [message["role"] for message in server.script.heard[1].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert server.script.heard[1].body["messages"][2]["content"] == "Call c0: compile({})"


def test_the_length_is_renamed_and_then_left_out(server, opened):
    renamed = complaint(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    )
    server.script.say(renamed, completion(), complaint(400, "unknown field max_completion_tokens"), completion())
    twice(opened(), PLAIN)
    bodies = [one.body for one in server.script.heard]
    assert [body.get("max_tokens") for body in bodies] == [5000, None, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 5000, 5000, None]


LIMIT = 4096
GROQ = (
    "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the "
    "`context_window` for this model"
)


def bound(words, *place):
    """A refusal as FastAPI writes it."""
    return Said({"detail": [{"type": "less_than_equal", "loc": ["body", *place], "msg": words}]}, 422)


@pytest.mark.parametrize(
    "refusal",
    [
        complaint(400, f"max_tokens is too large: 5000. This model supports at most {LIMIT} completion tokens."),
        complaint(400, f"max_tokens: 5000 > {LIMIT}, which is the maximum allowed number of output tokens"),
        complaint(400, f"Invalid max_tokens value, the valid range of max_tokens is [1, {LIMIT}]", param="max_tokens"),
        complaint(400, GROQ),
        complaint(400, GROQ, param="max_tokens"),
        complaint(400, "max_tokens must be less than or equal to 4,096."),
        bound(f"Input should be less than or equal to {LIMIT}", "max_tokens"),
        Said({"detail": f"max_tokens: Input should be less than or equal to {LIMIT}"}, 422),
        complaint(400, f"max_tokens (5000) must be <= {LIMIT}"),
        complaint(400, f"max_tokens cannot exceed {LIMIT}, got 5000"),
        complaint(400, f"max_tokens should not be greater than {LIMIT}"),
        complaint(400, f"The maximum value of max_tokens is {LIMIT}", param="max_tokens"),
        complaint(400, f"max_tokens must be between 1 and {LIMIT}"),
        complaint(400, f"max_tokens must be less than {LIMIT + 1}"),
    ],
    ids=lambda refusal: str(refusal.body)[:90],
)
def test_the_length_is_lowered_for_good(server, opened, refusal):
    server.script.say(refusal, completion())
    twice(opened(), PLAIN)
    assert [one.body["max_tokens"] for one in server.script.heard] == [5000, LIMIT, LIMIT]


def test_the_length_is_lowered_by_its_newer_name_too(server, opened):
    renamed = complaint(400, "max_tokens is not supported. Use max_completion_tokens", param="max_tokens")
    told = complaint(400, GROQ.replace("max_tokens", "max_completion_tokens"))
    server.script.say(renamed, told, completion())
    twice(opened(), PLAIN)
    assert [one.body.get("max_completion_tokens") for one in server.script.heard] == [None, 5000, LIMIT, LIMIT]


def test_a_bound_of_another_parameter_is_none_of_the_length(server, opened):
    told = bound("Input should be less than or equal to 2", "temperature")
    server.script.say(told, complaint(400, "seed must be less than or equal to 4096", param="seed"), completion())
    twice(opened(), PLAIN)
    assert [one.body["max_tokens"] for one in server.script.heard] == [5000] * 4
    assert "seed" not in server.script.heard[-1].body


def test_a_cap_does_not_hold_where_no_length_is_taken(server, opened):
    server.script.say(complaint(400, "unknown field max_tokens"), complaint(400, "unknown field max_completion_tokens"))
    with pytest.raises(ModelError, match=r"unknown field max_completion_tokens.*--max-tokens and --max-usd"):
        twice(opened(capped=True), PLAIN)
    assert len(server.script.heard) == 2


def test_a_long_prompt_leaves_less_room_for_this_reply(server, opened):
    words = (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
        "(4000 in the messages, 5000 in the completion)."
    )
    server.script.say(complaint(400, words, code="context_length_exceeded"), completion(), completion())
    twice(opened(), PLAIN)
    assert [one.body["max_tokens"] for one in server.script.heard] == [5000, 4192, 5000]


def test_a_prompt_without_room_for_a_reply_is_a_cut_reply(server, opened):
    words = "This model's maximum context length is 8192 tokens, your messages resulted in 9000 tokens"
    server.script.say(complaint(400, words, code="context_length_exceeded"))
    reply = twice(opened(), PLAIN)[0]
    assert (reply.text, reply.finish, reply.usage.total) == ("", "length", 0)


@pytest.mark.parametrize(
    "refusal",
    [
        complaint(400, "System role not supported"),
        complaint(500, "jinja2: System role not supported"),
        complaint(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    ],
)
def test_a_system_message_goes_into_the_users(server, opened, refusal):
    server.script.say(refusal, completion())
    twice(opened(), PLAIN)
    assert server.script.heard[1].body["messages"] == [{"role": "user", "content": "be brief\n\nhi"}]
    assert len(server.script.heard) == 3


def test_several_lessons_in_a_row(server, opened):
    server.script.say(
        complaint(400, "Unsupported parameter", param="seed", code="unsupported_parameter"),
        complaint(400, "Unsupported parameter", param="temperature", code="unsupported_parameter"),
        complaint(400, "System role not supported"),
        completion(),
    )
    twice(opened(), PLAIN)
    assert set(server.script.heard[-1].body) == {"model", "messages", "max_tokens", "stream", "stream_options"}


def test_requests_side_by_side_learn_the_same(server, opened):
    def answer(heard):
        return complaint(400, "seed is not supported") if "seed" in heard.body else completion()

    server.script.say(answer)

    async def run():
        model = opened(concurrency=8)
        try:
            return await asyncio.gather(*(model.reply(PLAIN) for _ in range(8)))
        finally:
            await model.close()

    assert [reply.text for reply in asyncio.run(run())] == ["hello"] * 8


@pytest.mark.parametrize(
    "refusal",
    [
        complaint(400, "messages: field required"),
        complaint(400, "your prompt mentions the temperature of the sun"),
        complaint(400, "Invalid schema for function 'compile'", param="tools[0].function.parameters"),
        complaint(422, ""),
    ],
)
def test_another_complaint_teaches_nothing(server, opened, refusal):
    server.script.say(refusal)
    with pytest.raises(ModelError, match="answered HTTP 4"):
        twice(opened(), ASKED)
    assert len(server.script.heard) == 1


def test_an_endpoint_that_never_has_enough_is_left(server, opened):
    server.script.say(complaint(400, "System role not supported, nor seed, nor temperature"))
    with pytest.raises(ModelError):
        twice(opened(), PLAIN)
    assert len(server.script.heard) <= 10
