"""The wire format of OpenAI's Responses API: items in, items out. Nothing is kept at the endpoint (`store` is false)."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import NESTED, Capabilities
from kernelwright.models.fault import Complaint, Fault, late
from kernelwright.models.openai_wire import ANSWER, as_text, without_thoughts
from kernelwright.models.wire import amount_in, count_in, dict_in, flattened, list_in, text_in
from kernelwright.records.chat import ChatMessage, ChatRequest, Finish, ToolCall, Usage

_REASONING, _TEXT = NESTED


def parameters_of(model: str, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
    """The JSON of a call. There is no seed in this protocol."""
    tools = request.tools if "tools" not in capabilities.dropped else ()
    messages = request.messages if tools or not request.tools else flattened(request.messages)
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    items = [item for message in messages for item in _items(message)]
    parameters: dict[str, JsonValue] = {"model": model, "input": items, "store": False}
    if system:
        parameters["instructions"] = system
    for room in capabilities.length(request.max_tokens).values():
        parameters["max_output_tokens"] = room
    if request.temperature is not None and "temperature" not in capabilities.dropped:
        parameters["temperature"] = request.temperature
    if request.effort is not None and _REASONING not in capabilities.dropped:
        parameters[_REASONING] = {"effort": request.effort}
    if request.answer is not None and _TEXT not in capabilities.dropped:
        form: JsonValue = {"type": "json_schema", "name": ANSWER, "strict": True, "schema": request.answer}
        parameters[_TEXT] = {"format": form}
    if tools:
        parameters["tools"] = [{"type": "function", **tool.model_dump(mode="json")} for tool in tools]
    return parameters


def _items(message: ChatMessage) -> Iterator[JsonValue]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call, "output": message.text}
    elif message.role != "system" and (message.text or not message.calls):
        yield {"role": message.role, "content": message.text}
    for call in message.calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def read_response(body: JsonValue) -> Answer | Fault:
    """The answer in a body of status 200."""
    if not isinstance(body, dict):
        return Fault("garbled", complaint=Complaint("the body is no JSON object"))
    if body.get("error"):
        return late(body)
    if not isinstance(body.get("output"), list):
        return Fault("garbled", complaint=Complaint("the body has no output"))
    items = [dict_in(item) for item in list_in(body["output"])]
    parts = [dict_in(part) for item in items if item.get("type") == "message" for part in list_in(item.get("content"))]
    text, thought = without_thoughts("".join(text_in(part.get("text")) for part in parts))
    refusal = "".join(text_in(part.get("refusal")) for part in parts)
    calls = tuple(_call(item, at) for at, item in enumerate(items) if item.get("type") == "function_call")
    usage = dict_in(body.get("usage"))
    return Answer(
        text=text or refusal,
        calls=calls,
        finish="refusal" if refusal else _finish(body, calls, text),
        model=text_in(body.get("model")),
        usage=_usage(usage),
        thought=thought or _thought(items),
        usd=amount_in(usage.get("cost")),
    )


def _call(item: dict[str, JsonValue], number: int) -> ToolCall:
    identifier = text_in(item.get("call_id")) or text_in(item.get("id")) or f"call_{number}"
    return ToolCall(id=identifier, name=text_in(item.get("name")), arguments=as_text(item.get("arguments") or {}))


def _thought(items: Sequence[dict[str, JsonValue]]) -> str:
    """What it tells of its reasoning: in full where the endpoint shows it, otherwise in short."""
    found = [item for item in items if item.get("type") == "reasoning"]
    parts = [dict_in(part) for item in found for part in list_in(item.get("content")) or list_in(item.get("summary"))]
    return "".join(text_in(part.get("text")) for part in parts)


def _finish(body: dict[str, JsonValue], calls: Sequence[ToolCall], text: str) -> Finish:
    if body.get("status") == "incomplete":
        reason = dict_in(body.get("incomplete_details")).get("reason")
        return "refusal" if reason == "content_filter" else "length"
    if calls:
        return "tools"
    return "stop" if text else "other"


def _usage(usage: dict[str, JsonValue]) -> Usage | None:
    prompt, completion = count_in(usage.get("input_tokens")), count_in(usage.get("output_tokens"))
    if not prompt and not completion:
        return None
    cached = count_in(dict_in(usage.get("input_tokens_details")).get("cached_tokens"))
    reasoning = count_in(dict_in(usage.get("output_tokens_details")).get("reasoning_tokens"))
    return Usage(prompt=prompt, completion=completion, cached=min(cached, prompt), reasoning=min(reasoning, completion))


LAST = ("response.completed", "response.incomplete", "response.failed")
"""Events of the Responses API that have the whole response."""


class ResponsePieces:
    """Events of the Responses API. Implements `Pieces`: the last event has all of it."""

    def __init__(self) -> None:
        self._body: dict[str, Any] | None = None

    @property
    def whole(self) -> bool:
        """See `Pieces.whole`."""
        return self._body is not None

    def take(self, event: JsonValue) -> str:
        """See `Pieces.take`."""
        body = dict_in(event)
        kind = text_in(body.get("type"))
        if kind in LAST:
            self._body = dict_in(body.get("response"))
        elif kind == "error":
            self._body = {"error": body}
        return text_in(body.get("delta")) if kind.endswith(".delta") else ""

    def body(self) -> JsonValue:
        """See `Pieces.body`."""
        return self._body
