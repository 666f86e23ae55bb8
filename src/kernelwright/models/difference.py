"""How a request differs from what was recorded, in words: the first difference from the nearest recorded request."""

import json
from collections.abc import Sequence

from kernelwright.records.chat import ChatRequest

SHOWN = 60
"""Characters of a message, around the place where it differs."""


def difference(request: ChatRequest, recorded: Sequence[ChatRequest]) -> str:
    """How a request differs from the recorded one that agrees with it the longest."""
    if not recorded:
        return "nothing was recorded"
    nearest = max(recorded, key=lambda other: _agreement(request, other))
    place = _agreement(request, nearest)[0]
    if place < len(request.messages) and place < len(nearest.messages):
        return f"message {place + 1} differs from the nearest recorded request: {_words(request, nearest, place)}"
    if len(request.messages) != len(nearest.messages):
        return f"it has {len(request.messages)} messages, the nearest recorded request {len(nearest.messages)}"
    names = [name for name in ("seed", "tools") if getattr(request, name) != getattr(nearest, name)]
    told = ", ".join(f"{name} ({getattr(request, name)!s:.40} here)" for name in names)
    return f"the messages are those of a recorded request, but it differs in {told}"


def _agreement(one: ChatRequest, other: ChatRequest) -> tuple[int, int]:
    """Messages that agree from the first on, and characters of the first that does not."""
    place = next(
        (n for n, pair in enumerate(zip(one.messages, other.messages, strict=False)) if pair[0] != pair[1]), -1
    )
    if place < 0:
        return min(len(one.messages), len(other.messages)), 0
    return place, _same(one.messages[place].text, other.messages[place].text)


def _same(one: str, other: str) -> int:
    return next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _words(request: ChatRequest, nearest: ChatRequest, place: int) -> str:
    here, there = request.messages[place], nearest.messages[place]
    if here.text == there.text:
        return f"{here.role} here, {there.role} there, or other calls"
    start = max(0, _same(here.text, there.text) - SHOWN // 3)
    texts = (json.dumps(text[start : start + SHOWN], ensure_ascii=False) for text in (here.text, there.text))
    return "{} here, {} there (from character {})".format(*texts, start)
