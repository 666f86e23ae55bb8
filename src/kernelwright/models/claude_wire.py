"""The wire format of Anthropic's Messages: the system's words apart, tools as blocks."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import Capabilities
from kernelwright.models.fault import Complaint, Fault
from kernelwright.models.lenient import count_in, dict_in, list_in, parsed
from kernelwright.models.messages import flattened
from kernelwright.records.chat import ChatRequest, Finish, Message, ToolCall, ToolSpec, Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "refusal",
}
SILENCE = "(nothing)"
"""Stands for a message without words: the protocol refuses empty ones."""


def parameters_of(model: str, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
    """The JSON of a call. There is no seed in this protocol."""
    tools = request.tools if "tools" not in capabilities.dropped else ()
    messages = request.messages if tools or not request.tools else flattened(request.messages)
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    parameters: dict[str, JsonValue] = {"model": model, "messages": _turns(messages)}
    parameters.update(capabilities.length(request.max_tokens))
    if system:
        parameters["system"] = system
    if request.temperature is not None and "temperature" not in capabilities.dropped:
        parameters["temperature"] = min(request.temperature, 1.0)
    if tools:
        parameters["tools"] = [_tool(tool) for tool in tools]
    return parameters


def _turns(messages: Sequence[Message]) -> JsonValue:
    """Messages of one role in a row become one: the results of parallel calls must stand together."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message))
    return [{"role": role, "content": blocks or [{"type": "text", "text": SILENCE}]} for role, blocks in turns]


def _blocks(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call, "content": message.text or SILENCE}]
    blocks: list[JsonValue] = [{"type": "text", "text": message.text.rstrip()}] if message.text.strip() else []
    for call in message.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)})
    return blocks


def _input(arguments: str) -> JsonValue:
    """What the model wrote as arguments; as a text in an object where that was no object."""
    found = parsed(arguments)
    return found if isinstance(found, dict) else {"text": arguments}


def _tool(tool: ToolSpec) -> JsonValue:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def read_message(body: JsonValue) -> Answer | Fault:
    """The answer in a body of status 200."""
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        return Fault("garbled", complaint=Complaint("the body is no message"))
    blocks = [block for block in list_in(body["content"]) if isinstance(block, dict)]
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use" and block.get("name"))
    usage = dict_in(body.get("usage"))
    return Answer(
        text=text,
        calls=calls,
        finish=_FINISHES.get(str(body.get("stop_reason")), "other"),
        model=str(body.get("model") or ""),
        usage=_usage(usage),
        thought="".join(str(block.get("thinking", "")) for block in blocks if block.get("type") == "thinking"),
        written=count_in(usage.get("cache_creation_input_tokens")),
    )


def _call(block: dict[str, JsonValue]) -> ToolCall:
    return ToolCall(id=str(block.get("id", "")), name=str(block["name"]), arguments=json.dumps(block.get("input", {})))


def _usage(usage: dict[str, JsonValue]) -> Usage | None:
    if not count_in(usage.get("input_tokens")) and not count_in(usage.get("output_tokens")):
        return None
    cached, written = count_in(usage.get("cache_read_input_tokens")), count_in(usage.get("cache_creation_input_tokens"))
    return Usage(
        prompt=count_in(usage.get("input_tokens")) + cached + written,
        completion=count_in(usage.get("output_tokens")),
        cached=cached,
        reasoning=count_in(dict_in(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
