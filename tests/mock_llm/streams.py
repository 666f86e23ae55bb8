"""Two other ways over the wire: a reply in pieces (server-sent events), and the Responses API.

The server itself answers chat completions that come whole. Here a question becomes one, and its answer what was asked for.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from mock_llm.wire import Body, Sent

EVENTS = "text/event-stream; charset=utf-8"
PIECE = 400
"""Characters of a piece."""
DRIP_S = 0.01
"""Between two pieces that drip."""
GARBAGE = b'data: {"choices": [{"delta"\n\n'


def delivered(raw: bytes, responses: bool, reply: Callable[[bytes], Sent]) -> Sent:
    """What a request's body is answered with, by the way that it came and in the form that it wants."""
    found = _object(raw)
    sent = reply(json.dumps(_as_chat(found)).encode() if responses and found else raw)
    if sent.status != 200 or not sent.kind.startswith("application/json"):
        return sent
    body = json.loads(sent.body)
    whole = _response(body) if responses else body
    if not found.get("stream"):
        return replace(sent, body=json.dumps(whole).encode())
    pieces = [_event(piece) for piece in (_response_events if responses else _chunks)(body, found)]
    if not responses:
        pieces.append(b"data: [DONE]\n\n")
    return _streamed(sent, pieces)


def _streamed(sent: Sent, pieces: list[bytes]) -> Sent:
    """The events, with the fault that the answer has."""
    half = len(pieces) // 2
    match sent.fault:
        case "cut_stream":
            pieces = pieces[:half]
        case "garbage_event":
            pieces = [*pieces[:half], GARBAGE, *pieces[half:]]
        case "stalled_stream":
            sent = replace(sent, stop=half)
        case "drip":
            sent = replace(sent, pause_s=DRIP_S)
    body = b"".join(pieces)
    cut = sent.cut and len(body) // 2
    return replace(sent, body=body, kind=EVENTS, pieces=tuple(pieces), cut=cut)


def _object(raw: bytes) -> Body:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _event(body: Body) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _cut(text: str) -> Iterator[str]:
    yield from (text[at : at + PIECE] for at in range(0, len(text), PIECE))


# Chat completions.


def _chunks(body: Body, asked: Body) -> Iterator[Body]:
    head = {name: body[name] for name in ("id", "model", "system_fingerprint")} | {"object": "chat.completion.chunk"}
    choice = body["choices"][0]
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if (asked.get("stream_options") or {}).get("include_usage") and "usage" in body:
        yield {**head, "choices": [], "usage": body["usage"]}


def _deltas(message: Body) -> Iterator[Body]:
    yield {"role": "assistant", "content": ""}
    yield from ({"content": piece} for piece in _cut(message["content"] or ""))
    for at, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        named = {"id": call["id"], "type": "function", "function": {"name": function["name"], "arguments": ""}}
        yield {"tool_calls": [{"index": at, **named}]}
        for piece in _cut(function["arguments"]):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


# The Responses API.


def _as_chat(found: Body) -> Body:
    """The question as a chat completion's."""
    said = found.get("instructions")
    messages = [{"role": "system", "content": said}] if said else []
    asked = found.get("input") or []
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    messages += [_message(item) for item in items]
    tools = [{"type": "function", "function": tool} for tool in found.get("tools") or []]
    chat = {"messages": messages, "max_tokens": found.get("max_output_tokens"), "tools": tools or None}
    kept = {name: value for name, value in found.items() if name not in ("input", "instructions", "tools", "store")}
    return kept | {name: value for name, value in chat.items() if value is not None}


def _message(item: Body) -> Body:
    match item.get("type"):
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            return {"role": "assistant", "tool_calls": [{"id": item["call_id"], "function": function}]}
    return {"role": item["role"], "content": item["content"]}


def _response(body: Body) -> Body:
    choice = body["choices"][0]
    message, cut = choice["message"], choice["finish_reason"] == "length"
    content = [{"type": "output_text", "text": message["content"], "annotations": []}] if message["content"] else []
    output: list[Body] = [{"type": "message", "role": "assistant", "content": content}] if content else []
    for call in message.get("tool_calls", ()):
        output.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    made = {"id": body["id"], "object": "response", "model": body["model"], "output": output, "error": None}
    told = body.get("usage")
    if told:
        made["usage"] = {"input_tokens": told["prompt_tokens"], "output_tokens": told["completion_tokens"]}
    details = {"reason": "max_output_tokens"} if cut else None
    return made | {"status": "incomplete" if cut else "completed", "incomplete_details": details}


def _response_events(body: Body, asked: Body) -> Iterator[Body]:
    whole = _response(body)
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for item in whole["output"]:
        if item["type"] == "message":
            pieces, kind = _cut(item["content"][0]["text"]), "response.output_text.delta"
        else:
            pieces, kind = _cut(item["arguments"]), "response.function_call_arguments.delta"
        yield from ({"type": kind, "delta": piece} for piece in pieces)
    yield {"type": f"response.{whole['status']}", "response": whole}
