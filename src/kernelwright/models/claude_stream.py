"""Streams of Anthropic's protocol: events into the message that would have come whole."""

from pydantic import JsonValue

from kernelwright.models.wire import dict_in, parsed, text_in

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
