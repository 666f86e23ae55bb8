"""The wire format of OpenAI's Chat Completions, whole and in pieces, as OpenAI and its many imitators write it.

Imitators leave things out and put others in their place, so replies are read with care.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import Capabilities
from kernelwright.models.fault import Complaint, Fault, late
from kernelwright.models.wire import amount_in, count_in, dict_in, flattened, folded, list_in, parsed, text_in
from kernelwright.records.chat import ChatMessage, ChatRequest, Finish, ToolCall, ToolSpec, Usage

_CLOSED = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL)
_OPEN = re.compile(r"\A\s*<(?:think|thinking)>.*\Z", re.DOTALL)
_HEADLESS = re.compile(r"\A(?:(?!<think).)*?</think>\s*", re.DOTALL)
"""Some templates open the thought in the prompt, so that the reply has its end alone."""
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


class Spoken(NamedTuple):
    """A text without its thoughts."""

    text: str
    thought: str


def without_thoughts(text: str) -> Spoken:
    """The text after the thoughts at its front; none when the thought was cut off before its end."""
    for pattern in (_CLOSED, _OPEN, _HEADLESS):
        if found := pattern.match(text):
            return Spoken(text[found.end() :], found.group())
    return Spoken(text, "")


def calls_in(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text without the calls written in it as `<tool_call>{…}</tool_call>`, and those calls."""
    calls = []
    for number, found in enumerate(_CALL.finditer(text)):
        call = _thinking_call(found.group(1), number)
        if call is None:
            return text, ()
        calls.append(call)
    return (_CALL.sub("", text).strip() if calls else text), tuple(calls)


def _thinking_call(text: str, number: int) -> ToolCall | None:
    body = dict_in(parsed(text))
    name = body.get("name")
    if not isinstance(name, str):
        return None
    return ToolCall(id=f"call_{number}", name=name, arguments=as_text(body.get("arguments", {})))


def as_text(arguments: object) -> str:
    """Arguments as the model's own text: some servers send an object where the protocol has a string."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


ANSWER = "answer"
"""What the form of an answer is called; the protocol wants a name."""
_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refusal",
}


def parameters_of(model: str, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
    """The JSON of a call."""
    tools = request.tools if "tools" not in capabilities.dropped else ()
    messages = request.messages if tools or not request.tools else flattened(request.messages)
    if capabilities.folded:
        messages = folded(messages)
    parameters: dict[str, JsonValue] = {"model": model, "messages": [message_json(message) for message in messages]}
    parameters.update(capabilities.length(request.max_tokens))
    wanted = (("temperature", request.temperature), ("seed", request.seed), ("reasoning_effort", request.effort))
    for name, value in wanted:
        if value is not None and name not in capabilities.dropped:
            parameters[name] = value
    if request.answer is not None and "response_format" not in capabilities.dropped:
        form: dict[str, JsonValue] = {"name": ANSWER, "strict": True, "schema": request.answer}
        parameters["response_format"] = {"type": "json_schema", "json_schema": form}
    if tools:
        parameters["tools"] = [tool_json(tool) for tool in tools]
    return parameters


def message_json(message: ChatMessage) -> dict[str, JsonValue]:
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
    if body.get("error") and not body.get("choices"):
        return late(body)
    if "choices" not in body:
        return Fault("garbled", complaint=Complaint("the body has no choices"))
    choice = dict_in(next(iter(list_in(body["choices"])), None))
    message = dict_in(choice.get("message"))
    text, thought = _spoken(message)
    calls = tuple(call for number, entry in enumerate(_calls(message)) if (call := _call(entry, number)))
    if not calls:
        text, calls = calls_in(text)
    refusal = text_in(message.get("refusal"))
    return Answer(
        text=text or refusal,
        calls=calls,
        finish="refusal" if refusal else _finish(choice.get("finish_reason"), calls, text),
        model=text_in(body.get("model")),
        usage=_usage(dict_in(body.get("usage"))),
        thought=thought,
        written=count_in(dict_in(dict_in(body.get("usage")).get("prompt_tokens_details")).get("cache_write_tokens")),
        usd=amount_in(dict_in(body.get("usage")).get("cost")),
    )


def _spoken(message: dict[str, JsonValue]) -> tuple[str, str]:
    content = message.get("content")
    parts = [dict_in(part) for part in list_in(content)]
    text = content if isinstance(content, str) else "".join(text_in(part.get("text")) for part in parts)
    text, thought = without_thoughts(text)
    return text, thought or text_in(message.get("reasoning_content")) or text_in(message.get("reasoning"))


def _calls(message: dict[str, JsonValue]) -> Sequence[JsonValue]:
    single = message.get("function_call")
    return list_in(message.get("tool_calls")) or ([{"function": single}] if single else [])


def _call(entry: JsonValue, number: int) -> ToolCall | None:
    function = dict_in(dict_in(entry).get("function"))
    name = text_in(function.get("name"))
    if not name:
        return None
    identifier = text_in(dict_in(entry).get("id")) or f"call_{number}"
    return ToolCall(id=identifier, name=name, arguments=as_text(function.get("arguments") or {}))


def _finish(reason: object, calls: Sequence[ToolCall], text: str) -> Finish:
    finish = _FINISHES.get(reason, "other") if isinstance(reason, str) else ("stop" if text else "other")
    if calls and finish in {"stop", "other"}:
        return "tools"
    return "stop" if finish == "tools" and not calls else finish


def _usage(usage: dict[str, JsonValue]) -> Usage | None:
    prompt, completion = count_in(usage.get("prompt_tokens")), count_in(usage.get("completion_tokens"))
    if not prompt and not completion:
        return None
    cached = dict_in(usage.get("prompt_tokens_details")).get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    reasoning = dict_in(usage.get("completion_tokens_details")).get("reasoning_tokens", usage.get("reasoning_tokens"))
    # Some leave the reasoning out of the completion and have it in the total alone.
    completion = max(completion, count_in(usage.get("total_tokens")) - prompt)
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(count_in(cached), prompt),
        reasoning=min(count_in(reasoning), completion),
    )


TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
"""Fields of a message that come in pieces."""


class ChatPieces:
    """Chunks of a chat completion. Implements `Pieces`."""

    def __init__(self) -> None:
        self._body: dict[str, JsonValue] = {}
        self._texts = dict.fromkeys(TEXTS, "")
        self._calls: list[dict[str, str]] = []
        self._finish = ""

    @property
    def whole(self) -> bool:
        """See `Pieces.whole`. The usage comes after the finish, or not at all."""
        return bool(self._finish)

    def take(self, event: JsonValue) -> str:
        """See `Pieces.take`."""
        chunk = dict_in(event)
        self._body.update({name: chunk[name] for name in ("model", "usage") if chunk.get(name)})
        choice = dict_in(next(iter(list_in(chunk.get("choices"))), None))
        self._finish = text_in(choice.get("finish_reason")) or self._finish
        delta = dict_in(choice.get("delta"))
        words = [self._text(name, delta.get(name)) for name in TEXTS]
        return "".join(words + [self._call(dict_in(call)) for call in list_in(delta.get("tool_calls"))])

    def body(self) -> JsonValue:
        """See `Pieces.body`."""
        message: dict[str, JsonValue] = {name: text for name, text in self._texts.items() if text}
        if self._calls:
            message["tool_calls"] = [
                {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
                for call in self._calls
            ]
        return {**self._body, "choices": [{"message": message, "finish_reason": self._finish or None}]}

    def _text(self, name: str, piece: JsonValue) -> str:
        words = text_in(piece) or "".join(text_in(dict_in(part).get("text")) for part in list_in(piece))
        self._texts[name] += words
        return words

    def _call(self, piece: dict[str, JsonValue]) -> str:
        """A piece of a call; one without an index, or with an id of its own, may be the next one."""
        number, identifier = piece.get("index"), text_in(piece.get("id"))
        at = number if isinstance(number, int) and 0 <= number <= len(self._calls) else max(0, len(self._calls) - 1)
        if at < len(self._calls) and identifier and self._calls[at]["id"] not in ("", identifier):
            at = len(self._calls)
        if at == len(self._calls):
            self._calls.append({"id": "", "name": "", "arguments": ""})
        function, call = dict_in(piece.get("function")), self._calls[at]
        call["id"] = call["id"] or identifier
        arguments = as_text(function["arguments"]) if function.get("arguments") else ""
        name = "" if call["name"] == function.get("name") else text_in(function.get("name"))
        call["name"] += name
        call["arguments"] += arguments
        return name + arguments
