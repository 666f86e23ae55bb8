"""Anthropic's models, through the official SDK; an extra.

Sampling parameters go in the body as they are: newer SDKs have no name for them, and newer models refuse them, which is
found out by asking.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anthropic
from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import CACHE, LENGTH, Capabilities
from kernelwright.models.config import ModelConfig, checked, is_local
from kernelwright.models.endpoint import Endpoint, Secret, find_secret
from kernelwright.models.fault import Complaint, Fault, RetryPolicy
from kernelwright.models.prices import address_of
from kernelwright.models.stream import Pace, Sdk
from kernelwright.models.wire import count_in, dict_in, flattened, list_in, parsed, text_in
from kernelwright.records.chat import ChatMessage, ChatRequest, Finish, ToolCall, ToolSpec, Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "refusal",
}
LEAST_THINKING, LEAST_ANSWER = 1024, 1024
"""The smallest budget that the protocol takes, and what is left for the answer beside it."""
OPENING = 2
"""Messages of a question without a conversation behind it: nothing of it will be asked again."""
UNNAMED = ("temperature", "output_config")
"""Parameters that some versions of the SDK have no name for: they go into the body as they are."""
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
    thinking = _thinking(request) if "thinking" not in capabilities.dropped else None
    if thinking:
        parameters["thinking"] = thinking
    elif request.temperature is not None and "temperature" not in capabilities.dropped:
        parameters["temperature"] = min(request.temperature, 1.0)
    if len(messages) > OPENING and CACHE not in capabilities.dropped:
        _cache(parameters["messages"])
    if request.answer is not None and "output_config" not in capabilities.dropped:
        parameters["output_config"] = {"format": {"type": "json_schema", "schema": request.answer}}
    if tools:
        parameters["tools"] = [_tool(tool) for tool in tools]
    return parameters


def _thinking(request: ChatRequest) -> dict[str, JsonValue] | None:
    """The budget of extended thinking, with which no temperature may be named; None where there is too little room."""
    budget = min(request.thinking_tokens, request.max_tokens - LEAST_ANSWER)
    return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_THINKING else None


def _cache(turns: JsonValue) -> None:
    """Mark the last block, so that the next question of this conversation reads all before it from the cache."""
    last = list_in(turns)[-1]
    blocks = list_in(last["content"]) if isinstance(last, dict) else []
    if blocks and isinstance(blocks[-1], dict):
        blocks[-1][CACHE] = {"type": "ephemeral"}


def _turns(messages: Sequence[ChatMessage]) -> JsonValue:
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


def _blocks(message: ChatMessage) -> list[JsonValue]:
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


SDK = Sdk(anthropic, anthropic.AnthropicError)
HOME = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"


class _Dialect:
    """Implements `Dialect`."""

    def __init__(self, config: ModelConfig, address: str, secret: Secret) -> None:
        self._config = config
        self._client = SDK.client("AsyncAnthropic", secret.reveal(), address, config.patience_s)

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """See `Dialect.compose`."""
        parameters = parameters_of(self._config.name, request, capabilities)
        streamed = self._config.stream and "stream" not in capabilities.dropped
        return {**parameters, "stream": True} if streamed else parameters

    async def send(self, parameters: Mapping[str, Any]) -> str | Fault:
        """See `Dialect.send`."""
        if parameters.get("stream"):
            pace = Pace(self._config.patience_s, self._config.timeout_s, int(parameters[LENGTH]))
            return await SDK.pieced(SDK.opened(self._client, "/v1/messages", parameters), MessagePieces(), pace)
        named = {name: value for name, value in parameters.items() if name not in UNNAMED}
        rest = {name: value for name, value in parameters.items() if name in UNNAMED}
        create = self._client.messages.with_raw_response.create
        request = create(**named, extra_body=rest or None, timeout=self._config.patience_s)
        return await SDK.whole(request, self._config.patience_s)

    def read(self, body: JsonValue) -> Answer | Fault:
        """See `Dialect.read`."""
        return read_message(body)

    async def close(self) -> None:
        """See `Dialect.close`."""
        await self._client.close()


def open_model(config: ModelConfig, retries: RetryPolicy | None = None) -> Endpoint:
    """The model; no request is made yet.

    Raises:
        UsageError: the address or the key cannot be used.
    """
    address = checked(address_of(config) or HOME)
    secret = find_secret(config.key_variable or KEY, f"anthropic:{config.name}", is_local(address))
    capabilities = Capabilities(fixed={LENGTH})
    return Endpoint(config, _Dialect(config, address, secret), secret, capabilities, retries or RetryPolicy())


DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The field of a piece by its type; a signature is no words."""


class MessagePieces:
    """Events of a message. Implements `Pieces`."""

    def __init__(self) -> None:
        self._message: dict[str, JsonValue] = {}
        self._usage: dict[str, JsonValue] = {}
        self._blocks: dict[int, dict[str, JsonValue]] = {}
        self._words: dict[int, str] = {}

    @property
    def whole(self) -> bool:
        """See `Pieces.whole`. The event that says why it stopped has the usage too."""
        return bool(self._message.get("stop_reason"))

    def take(self, event: JsonValue) -> str:
        """See `Pieces.take`."""
        body = dict_in(event)
        number = body.get("index")
        at = number if isinstance(number, int) else len(self._blocks)
        match text_in(body.get("type")):
            case "message_start":
                self._head(dict_in(body.get("message")))
            case "content_block_start":
                return self._begin(at, dict_in(body.get("content_block")))
            case "content_block_delta":
                return self._add(at, dict_in(body.get("delta")))
            case "message_delta":
                self._head({**dict_in(body.get("delta")), "usage": body.get("usage")})
        return ""

    def body(self) -> JsonValue:
        """See `Pieces.body`."""
        return {**self._message, "usage": self._usage, "content": [self._block(at) for at in sorted(self._blocks)]}

    def _head(self, message: dict[str, JsonValue]) -> None:
        """What is said of the whole, in the beginning or at the end; later figures replace earlier ones."""
        self._usage |= {name: value for name, value in dict_in(message.get("usage")).items() if value is not None}
        self._message |= {name: message[name] for name in ("model", "stop_reason") if message.get(name)}

    def _begin(self, at: int, block: dict[str, JsonValue]) -> str:
        self._blocks[at] = block
        self._words[at] = text_in(block.get("text")) or text_in(block.get("thinking"))
        return self._words[at] or text_in(block.get("name"))

    def _add(self, at: int, delta: dict[str, JsonValue]) -> str:
        words = text_in(delta.get(DELTAS.get(text_in(delta.get("type")), "")))
        self._blocks.setdefault(at, {"type": "text"})
        self._words[at] = self._words.get(at, "") + words
        return words

    def _block(self, at: int) -> JsonValue:
        block, words = self._blocks[at], self._words[at]
        if block.get("type") == "tool_use":
            found = parsed(words) if words else block.get("input")
            return {**block, "input": words if found is None else found}
        return {**block, ("thinking" if block.get("type") == "thinking" else "text"): words}
