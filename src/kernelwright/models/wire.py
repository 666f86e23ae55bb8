"""What every wire format shares: reading JSON that others wrote, and dialogues without the messages that some refuse.

JSON is read as far as it makes sense: defaults for missing or odd values, a limit on nesting. For endpoints and
templates that do not take every kind of message, a system message, a tool's call and its result become plain messages.
"""

import json
from collections.abc import Iterable

from pydantic import JsonValue

from kernelwright.records.chat import ChatMessage

DEEPEST = 100
"""Levels. Nobody means more, and what is nested by thousands overflows whoever reads it or writes it again."""

LARGEST = 1e15
"""What is larger is no count and no sum of money."""


def parsed(text: str) -> JsonValue:
    """The JSON in a text; None where there is none, or it is nested deeper than `DEEPEST`."""
    try:
        body: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    level = [body]
    for _ in range(DEEPEST):
        level = [child for value in level for child in _children(value)]
    return None if level else body


def _children(value: JsonValue) -> list[JsonValue]:
    return list(value.values()) if isinstance(value, dict) else list_in(value)


def dict_in(value: JsonValue) -> dict[str, JsonValue]:
    """The object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_in(value: JsonValue) -> list[JsonValue]:
    """The array; an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_in(value: JsonValue) -> str:
    """The string; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def amount_in(value: JsonValue) -> float | None:
    """The number from 0 to `LARGEST`; None for anything else, true and false among it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None


def count_in(value: JsonValue) -> int:
    """The number as a whole one, however it is written; 0 for anything that counts nothing."""
    return int(amount_in(value) or 0)


def folded(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without system messages: their text opens the next user message. Neighbours of one role become one."""
    plain: list[ChatMessage] = []
    for message in messages:
        one = ChatMessage(role="user", text=message.text) if message.role == "system" else message
        if plain and one.role == "user" == plain[-1].role:
            plain[-1] = ChatMessage(role="user", text=f"{plain[-1].text}\n\n{one.text}")
        else:
            plain.append(one)
    return tuple(plain)


def flattened(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without tools: calls and results become text of the assistant and the user."""
    return tuple(_flat(message) for message in messages)


def _flat(message: ChatMessage) -> ChatMessage:
    if message.role == "tool":
        return ChatMessage(role="user", text=f"Result of {message.call}:\n{message.text}")
    if not message.calls:
        return message
    calls = (f"Call {call.id}: {call.name}({call.arguments})" for call in message.calls)
    return ChatMessage(role="assistant", text="\n".join(filter(None, (message.text, *calls))))
