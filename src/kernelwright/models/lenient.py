"""Reads JSON that others wrote, as far as it makes sense: defaults for missing or odd values, a limit on nesting."""

import json

from pydantic import JsonValue

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
