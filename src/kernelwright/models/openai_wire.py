"""The wire format of OpenAI's Chat Completions, as OpenAI and its many imitators write it.

Decides how a request becomes JSON and what may be believed of the JSON that comes back: imitators leave things out, and
put others in their place. Refuses to know connections.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import Known
from kernelwright.models.fault import Complaint, Fault
from kernelwright.models.messages import flattened, folded
from kernelwright.models.thinking import as_text, calls_in, without_thoughts
from kernelwright.records.chat import ChatRequest, Finish, Message, ToolCall, ToolSpec, Usage

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refusal",
}


def parameters_of(model: str, request: ChatRequest, known: Known) -> dict[str, JsonValue]:
    """The JSON of a call."""
    tools = request.tools if "tools" not in known.dropped else ()
    messages = request.messages if tools or not request.tools else flattened(request.messages)
    if known.folded:
        messages = folded(messages)
    parameters: dict[str, JsonValue] = {"model": model, "messages": [message_json(message) for message in messages]}
    parameters.update(known.length(request.max_tokens))
    for name, value in (("temperature", request.temperature), ("seed", request.seed)):
        if value is not None and name not in known.dropped:
            parameters[name] = value
    if tools:
        parameters["tools"] = [tool_json(tool) for tool in tools]
    return parameters


def message_json(message: Message) -> dict[str, JsonValue]:
    """A message as the wire has it; a local checkpoint's template reads the same."""
    body: dict[str, JsonValue] = {"role": message.role, "content": message.text}
    if message.calls:
        body["content"] = message.text or None
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        body["tool_call_id"] = message.call
    return body


def tool_json(tool: ToolSpec) -> dict[str, JsonValue]:
    """A tool as it is offered."""
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def read_completion(body: JsonValue) -> Answer | Fault:
    """The answer in a body of status 200."""
    if not isinstance(body, dict):
        return Fault("garbled", complaint=Complaint("the body is no JSON object"))
    error = body.get("error")
    if error and not body.get("choices"):
        return _late(error)
    if "choices" not in body:
        return Fault("garbled", complaint=Complaint("the body has no choices"))
    choice = _dict(next(iter(_list(body["choices"])), None))
    message = _dict(choice.get("message"))
    text, thought = _spoken(message)
    calls = tuple(call for number, entry in enumerate(_calls(message)) if (call := _call(entry, number)))
    if not calls:
        text, calls = calls_in(text)
    refusal = _text(message.get("refusal"))
    return Answer(
        text=text or refusal,
        calls=calls,
        finish="refusal" if refusal else _finish(choice.get("finish_reason"), calls, text),
        model=_text(body.get("model")),
        usage=_usage(_dict(body.get("usage"))),
        thought=thought,
        written=_count(_dict(_dict(body.get("usage")).get("prompt_tokens_details")).get("cache_write_tokens")),
        usd=_money(_dict(body.get("usage")).get("cost")),
    )


def _late(error: JsonValue) -> Fault:
    """An error under status 200, as relays send it when what they relay has failed."""
    told = _dict(error)
    code = told.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return Fault(
        "status", status, Complaint(_text(told.get("message")) or str(error), code=str(told.get("type") or ""))
    )


def _spoken(message: dict[str, Any]) -> tuple[str, str]:
    content = message.get("content")
    parts = [_dict(part) for part in _list(content)]
    text = content if isinstance(content, str) else "".join(_text(part.get("text")) for part in parts)
    text, thought = without_thoughts(text)
    return text, thought or _text(message.get("reasoning_content")) or _text(message.get("reasoning"))


def _calls(message: dict[str, Any]) -> Sequence[Any]:
    single = message.get("function_call")
    return _list(message.get("tool_calls")) or ([{"function": single}] if single else [])


def _call(entry: Any, number: int) -> ToolCall | None:  # noqa: ANN401  JSON as it came
    function = _dict(_dict(entry).get("function"))
    name = _text(function.get("name"))
    if not name:
        return None
    identifier = _text(_dict(entry).get("id")) or f"call_{number}"
    return ToolCall(id=identifier, name=name, arguments=as_text(function.get("arguments") or {}))


def _finish(reason: object, calls: Sequence[ToolCall], text: str) -> Finish:
    finish = _FINISHES.get(reason, "other") if isinstance(reason, str) else ("stop" if text else "other")
    if calls and finish in {"stop", "other"}:
        return "tools"
    return "stop" if finish == "tools" and not calls else finish


def _usage(usage: dict[str, Any]) -> Usage | None:
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if not prompt and not completion:
        return None
    cached = _dict(usage.get("prompt_tokens_details")).get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    reasoning = _dict(usage.get("completion_tokens_details")).get("reasoning_tokens", usage.get("reasoning_tokens"))
    # Some leave the reasoning out of the completion and have it in the total alone.
    completion = max(completion, _count(usage.get("total_tokens")) - prompt)
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(_count(cached), prompt),
        reasoning=min(_count(reasoning), completion),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _money(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
