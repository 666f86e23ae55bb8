"""Answer: a reply as read from one provider's body, before it is priced.

Tokens are counted from the text where an endpoint does not say. There is no tokenizer, because every model has another
one: an estimate is for a budget's gate and not for a bill.
"""

import json
from math import ceil
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from kernelwright.models.capability import Capabilities
from kernelwright.models.fault import Fault
from kernelwright.records.chat import ChatRequest, Finish, ToolCall, Usage

BYTES_A_TOKEN = 3.0
"""UTF-8 bytes for a token: English has about 4, source code 2.5 to 3.5."""
FEWEST_BYTES_A_TOKEN = 2.0
"""For the upper bound: denser than any source code."""
MESSAGE_TOKENS = 8
"""The most tokens that a chat template adds to a message."""


def tokens_in(text: str, bytes_a_token: float = BYTES_A_TOKEN) -> int:
    """About how many tokens a text has."""
    return ceil(len(text.encode()) / bytes_a_token)


def prompt_tokens(request: ChatRequest, bytes_a_token: float = BYTES_A_TOKEN) -> int:
    """About how many tokens a request's messages and tools have."""
    parts = [message.text for message in request.messages]
    parts += [call.name + call.arguments for message in request.messages for call in message.calls]
    parts += [tool.name + tool.description + json.dumps(tool.parameters) for tool in request.tools]
    return sum(tokens_in(part, bytes_a_token) for part in parts) + MESSAGE_TOKENS * len(request.messages)


class Answer(NamedTuple):
    """One try's answer."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    usage: Usage | None = None
    """None: the endpoint did not count."""
    thought: str = ""
    """Reasoning that came with the answer and is not its text."""
    written: int = 0
    """Tokens of the prompt that went into the endpoint's cache."""
    usd: float | None = None
    """What the endpoint says it has charged."""

    @property
    def empty(self) -> bool:
        """Whether nothing came, for no reason that the endpoint gives."""
        return not self.text.strip() and not self.calls and self.finish not in {"length", "refusal"}


class Dialect(Protocol):
    """A provider's protocol: from a request to its parameters, and from its body to an answer."""

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """The parameters of a call, without those that the endpoint is known to refuse."""
        ...

    async def send(self, parameters: dict[str, JsonValue]) -> str | Fault:
        """One try: the body of the answer, or what went wrong. Raises nothing that holds the request."""
        ...

    def read(self, body: JsonValue) -> Answer | Fault:
        """The answer in a body."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


def counted(answer: Answer, request: ChatRequest) -> Usage:
    """The tokens of an answer; counted from the characters where the endpoint did not."""
    thought = tokens_in(answer.thought) if answer.thought else 0
    if answer.usage is None:
        said = tokens_in(answer.text) + sum(tokens_in(call.name + call.arguments) for call in answer.calls)
        return Usage(prompt=prompt_tokens(request), completion=said + thought, reasoning=thought, estimated=True)
    if answer.usage.reasoning or not thought:
        return answer.usage
    return answer.usage.model_copy(update={"reasoning": min(thought, answer.usage.completion)})


def added(one: Usage, other: Usage) -> Usage:
    """The tokens of two tries together."""
    return Usage(
        prompt=one.prompt + other.prompt,
        completion=one.completion + other.completion,
        cached=one.cached + other.cached,
        reasoning=one.reasoning + other.reasoning,
        estimated=one.estimated or other.estimated,
    )
