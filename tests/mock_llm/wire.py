"""OpenAI's chat completions on the wire: JSON of a request into turns, an Answer into JSON, and how one fails to arrive."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import JsonValue

from mock_llm.answer import MODEL, Answer, Toolbox
from mock_llm.faults import STREAMED, Transport
from mock_llm.prompt import Message, Prompt

CHARACTERS = 4
"""Of a token, as everybody estimates."""
UNASKED = ("stream", "stream_options")
"""Parameters that are no part of a question: how its answer travels."""
Fields = Mapping[str, JsonValue]
Body = dict[str, JsonValue]


class Asked(NamedTuple):
    """A request that can be answered."""

    prompt: Prompt
    tools: Toolbox
    request: str
    """Hash of all that was asked."""
    chance: str
    """What chance is drawn by: the request's seed with the dialogue's step; without a seed, all that was asked."""
    model: str
    parameters: frozenset[str]
    """Names of the parameters that were given."""
    max_tokens: int
    """0: no limit."""
    prompt_tokens: int
    streams: bool = False
    """The answer shall come in pieces."""


class Unreadable(Exception):  # noqa: N818  an answer with status 400, no failure of the server
    """The request is not what the interface wants; the message says why."""


def read(raw: bytes) -> Asked:
    """The request in a body.

    Raises:
        Unreadable: it is no chat completion's request.
    """
    try:
        found: JsonValue = json.loads(raw)
    except (ValueError, RecursionError):
        raise Unreadable("the body is not JSON") from None
    messages = found.get("messages") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(messages, list) or not messages:
        raise Unreadable("`messages` must be a list with at least one message")
    turns = _turns(messages)
    tools = _tools(found.get("tools"))
    limit = next((v for k in ("max_completion_tokens", "max_tokens") if isinstance(v := found.get(k), int)), 0)
    asked = {name: value for name, value in found.items() if name not in UNASKED}
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    request = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    prompt, seed = Prompt(turns, bool(tools)), found.get("seed")
    return Asked(
        prompt=prompt,
        tools=tools,
        request=request,
        chance=request if seed is None else f"{prompt.role} {seed} {len(turns)}",
        model=str(found.get("model", "")),
        parameters=frozenset(k for k, v in found.items() if v is not None),
        max_tokens=max(0, limit),
        prompt_tokens=tokens("".join(t.text for t in turns)),
        streams=bool(found.get("stream")),
    )


def completion(answer: Answer, asked: Asked) -> Body:
    """The body of an answer, cut where the request wants no more."""
    text, finish = answer.text, answer.finish
    room = asked.max_tokens * CHARACTERS
    if room and len(text) > room:
        text, finish = text[:room], "length"
    calls: list[JsonValue] = [
        {"id": f"call_{asked.request}_{n}", "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for n, c in enumerate(answer.calls)
    ]
    message: Body = {"role": "assistant", "content": None if calls and not text else text}
    if calls:
        message["tool_calls"] = calls
    written = tokens(text + "".join(c.name + c.arguments for c in answer.calls))
    return {
        "id": f"chatcmpl-drill-{asked.request}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "system_fingerprint": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": asked.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": asked.prompt_tokens + written,
        },
    }


def models() -> Body:
    """The body of the list of models: there is one."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "drill"}]}


def error(message: str, kind: str, code: str | None = None, param: str | None = None) -> Body:
    """The body of an error."""
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // CHARACTERS)


def _turns(messages: list[JsonValue]) -> list[Message]:
    turns: list[Message] = []
    names: dict[str, str] = {}
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Unreadable("each message must be an object with a `role`")
        calls = _calls(message.get("tool_calls"), names)
        answers = names.get(str(message.get("tool_call_id", "")), "")
        turns.append(Message(str(message["role"]), _text(message.get("content")), calls, answers))
    return turns


def _text(content: JsonValue) -> str:
    """A message's words, whether they come whole or in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p["text"]) for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str))


def _calls(found: JsonValue, names: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Functions that an assistant called; `names` learns which call has which id."""
    calls: list[tuple[str, str]] = []
    for call in found if isinstance(found, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            name = str(function.get("name", ""))
            names[str(call.get("id", ""))] = name
            calls.append((name, str(function.get("arguments", ""))))
    return tuple(calls)


def _tools(found: JsonValue) -> Toolbox:
    schemas: dict[str, Fields] = {}
    for tool in found if isinstance(found, list) else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            schemas[str(function["name"])] = parameters if isinstance(parameters, dict) else {}
    return Toolbox(schemas)


JSON, HTML = "application/json", "text/html; charset=utf-8"
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"

BROKEN_STREAMS: tuple[Transport, ...] = ("cut_stream", "garbage_event", "stalled_stream")
WITH_USAGE: tuple[Transport, ...] = ("null_content", "drip")
"""Faults whose answer still tells its tokens. `wrong_type` has them too, for whoever reads its body all the same."""

LIMITED = error("Rate limit reached, in a drill", "requests", "rate_limit_exceeded")
DOWN = error("The server had an error, in a drill", "server_error")
ERRORS: dict[Transport, tuple[Body, int]] = {
    "429": (LIMITED, 429),
    "429_silent": (LIMITED, 429),
    "500": (DOWN, 500),
    "503": (DOWN, 503),
    "stall": (DOWN, 503),
    "400": (
        error("Unsupported parameter: 'temperature'", "invalid_request_error", "unsupported_parameter", "temperature"),
        400,
    ),
    "404": (error("The model does not exist", "invalid_request_error", "model_not_found"), 404),
}
"""Faults that are an error's body with its status."""


@dataclass(frozen=True)
class Sent:
    """What goes over the wire."""

    status: int
    body: bytes
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Bytes of the body after which the connection ends; None: it is whole; 0: not even the status is sent."""
    reset: bool = False
    """The connection is reset where it ends, and not closed."""
    fault: Transport | None = None
    """What is wrong with it if it goes in pieces; it is whole otherwise."""
    pieces: tuple[bytes, ...] = ()
    """The body in pieces, where it is a stream."""
    pause_s: float = 0.0
    """Seconds between two pieces."""
    stop: int | None = None
    """Pieces after which nothing comes for `silent_s`, and then the end."""
    silent_s: float = 0.0


def whole(body: Body, status: int = 200) -> Sent:
    """An answer without a fault."""
    return Sent(status, json.dumps(body).encode())


def spoiled(fault: Transport, answer: Body, retry_after_s: float) -> Sent:
    """The answer with a fault of transport. A stall is served as an error, for whoever waits long enough."""
    if fault in ERRORS:
        headers = {"Retry-After": f"{retry_after_s:g}"} if fault == "429" else {}
        return replace(whole(*ERRORS[fault]), headers=headers)
    body = json.dumps(answer).encode()
    if fault in STREAMED:
        return Sent(200, body, fault=fault)
    if fault == "html":
        return Sent(200, PAGE, HTML)
    if fault == "wrong_type":
        return Sent(200, body, "text/plain")
    if fault == "no_usage":
        return whole({k: v for k, v in answer.items() if k != "usage"})
    if fault == "null_content":
        return whole(_silent(answer))
    return Sent(200, body, cut=0 if fault == "reset" else len(body) // 2, reset=fault != "truncated_body")


def _silent(answer: Body) -> Body:
    """The answer with no content and no calls."""
    message: Body = {"role": "assistant", "content": None}
    return answer | {"choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]}
