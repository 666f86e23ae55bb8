"""Streams of OpenAI's protocols, as OpenAI and its imitators write them: pieces into the body that would have come whole."""

from typing import Any

from pydantic import JsonValue

from kernelwright.models.openai_wire import as_text
from kernelwright.models.wire import dict_in, list_in, text_in

TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
"""Fields of a message that come in pieces."""
LAST = ("response.completed", "response.incomplete", "response.failed")
"""Events of the Responses API that have the whole response."""


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
