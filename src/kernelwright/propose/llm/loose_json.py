"""JSON out of replies that are nearly JSON: prose around it, raw newlines in strings, an end that is missing.

What is salvaged is text, never evaluated.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

_DECODER = json.JSONDecoder(strict=False)
_TRIPLE = "(\"\"\"|''')(.*?)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f"}
MOST_STARTS = 200
"""Braces that are tried as the beginning of an object."""


class Salvaged(NamedTuple):
    """A string value found in a broken object."""

    text: str
    closed: bool
    """Its closing quote was there."""


def objects(text: str) -> Iterator[dict[str, JsonValue]]:
    """Every JSON object that stands in the text and is whole, outermost ones only."""
    position, tried = text.find("{"), 0
    while position >= 0 and tried < MOST_STARTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield value
        position = text.find("{", end)


def salvage(text: str, keys: tuple[str, ...]) -> Salvaged | None:
    """The value of the first of these keys in an object that is broken; None when there is no such key."""
    for key in keys:
        triple = re.search(rf'["\']{key}["\']\s*:\s*{_TRIPLE}(?:\1|\Z)', text, re.DOTALL)
        if triple:
            return Salvaged(triple[2].strip("\n") + "\n", text[triple.end() - 3 : triple.end()] == triple[1])
        quoted = re.search(rf'"{key}"\s*:\s*"((?:[^"\\]|\\.)*)("?)', text, re.DOTALL)
        if quoted:
            return Salvaged(unescape(quoted[1]), quoted[2] == '"')
    return None


def unescape(text: str) -> str:
    """Backslash escapes of JSON resolved; unknown ones stay."""
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _escape, text, flags=re.DOTALL)


def _escape(match: re.Match[str]) -> str:
    body = match[1]
    return chr(int(body[1:], 16)) if len(body) == 5 else _ESCAPES.get(body, match[0])
