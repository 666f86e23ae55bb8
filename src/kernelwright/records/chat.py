"""Chat: what goes to a language model and what comes back, as plain data.

Every provider translates its messages into these records.
"""

from typing import Literal

from pydantic import Field, JsonValue

from kernelwright.records.base import Record, identity


class ToolSpec(Record):
    """A function that a model may call."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """JSON Schema of the arguments, an object."""


class ToolCall(Record):
    """A model's wish to call a function. Its arguments are the model's own text and may not even be JSON."""

    id: str
    name: str
    arguments: str


class ChatMessage(Record):
    """One message of a dialogue."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """What an assistant wants called."""
    call: str = ""
    """The id of the call that a tool's message answers."""


ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model thinks, in the words of OpenAI's protocol."""


class ChatRequest(Record):
    """What a model is asked."""

    messages: tuple[ChatMessage, ...]
    temperature: float | None = None
    """None: the endpoint's own."""
    max_tokens: int = Field(default=8192, ge=1)
    """Most tokens of the reply."""
    seed: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    effort: ReasoningEffort | None = None
    """How much a reasoning model shall think before it answers; None: the endpoint's own."""
    thinking_tokens: int = Field(default=0, ge=0)
    """Of `max_tokens`, those that are meant for its reasoning; the rest is the answer's."""
    answer: dict[str, JsonValue] | None = None
    """JSON Schema of the answer, an object, where the endpoint can hold the model to one; None: text."""

    @property
    def id(self) -> str:
        """Hash of all that is asked: the same question is the same request."""
        return identity("chat", self._asked(set()))

    @property
    def question(self) -> str:
        """The same without what is a model's configuration, and without the room that a budget leaves for it."""
        configured = {"temperature", "max_tokens", "effort", "thinking_tokens"}
        return identity("question", self._asked(configured))

    def _asked(self, but: set[str]) -> dict[str, JsonValue]:
        """What is hashed; a question for text is what it was before answers could have a form."""
        dumped: dict[str, JsonValue] = self.model_dump(
            mode="json", exclude=but if self.answer is not None else {*but, "answer"}
        )
        return dumped


class Usage(Record):
    """Tokens of one call, as the endpoint counts them."""

    prompt: int = 0
    completion: int = 0
    """With the reasoning's."""
    cached: int = 0
    """Those of the prompt that were read from the endpoint's cache."""
    reasoning: int = 0
    """Those of the completion that are not in the text."""
    estimated: bool = False
    """The endpoint did not say: counted from the characters."""

    @property
    def total(self) -> int:
        """Prompt and completion."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "tools", "refusal", "other"]


class ChatReply(Record):
    """What a model answered."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    """`length`: cut off, at the request's `max_tokens` or by the clock; `refusal`: the model or a filter would not answer."""
    model: str
    """What the endpoint says has answered."""
    usage: Usage = Usage()
    usd: float | None = None
    """None: the price of this model is not known."""
    seconds: float = 0.0
    """How long the call took, retries included."""
