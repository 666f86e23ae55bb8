"""Recorded conversations, answered again.

A request gets the reply that was given to the same messages, with the same tools and seed. Room and temperature are not
compared: they were the recorded model's own and what its budget left. What was never asked has no answer. Nothing is
written here: a run's journal is a record, and so is any file of such lines.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.records.base import Record, complaint
from kernelwright.records.chat import ChatReply, ChatRequest
from kernelwright.records.run import Message

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
    differing = ", ".join(f"{name} ({getattr(request, name)!s:.40} here)" for name in names)
    return f"the messages are those of a recorded request, but it differs in {differing}"


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


FILE = "chat.jsonl"
"""In a folder, the file of recorded conversations. Runs have a journal instead: this one is other programs' to write."""


class Recorded(Record):
    """A question and its answer: a line of the file."""

    request: ChatRequest
    reply: ChatReply


class Replay:
    """Implements `ChatModel`. Asked the same again, it gives the next answer recorded for it, and then the last again."""

    def __init__(self, recorded: Iterable[Recorded], name: str = "") -> None:
        self._name = name
        self._recorded = tuple(recorded)
        self._replies: dict[str, list[ChatReply]] = defaultdict(list)
        for one in reversed(self._recorded):
            self._replies[one.request.question].append(one.reply)

    @property
    def name(self) -> str:
        """See `ChatModel.name`."""
        return f"replay:{self._name}"

    async def reply(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.reply`. It costs nothing; its tokens are those of the record."""
        replies = self._replies.get(request.question)
        if not replies:
            words = difference(request, [one.request for one in self._recorded])
            raise ModelError(f"{self.name} has no reply to this request: {words}")
        reply = replies.pop() if len(replies) > 1 else replies[0]
        return reply.model_copy(update={"usd": 0.0, "seconds": 0.0})

    async def close(self) -> None:
        """See `ChatModel.close`."""


def open_model(config: ModelConfig) -> Replay:
    """The conversations in a file, or in a folder's `chat.jsonl`.

    Raises:
        UsageError: there is no such file, or it is no record of conversations.
    """
    path = Path(config.name)
    return Replay(read_recorded(path / FILE if path.is_dir() else path), config.name)


def read_recorded(path: Path) -> tuple[Recorded, ...]:
    """The lines of a file. One that was cut off at the end, as a killed process leaves it, is left out.

    Raises:
        UsageError: there is no such file, or a line is no record.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"no recorded conversations can be read from {path}: {error}") from None
    recorded = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            recorded.append(Recorded.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines):  # no newline after it
                break
            words = complaint(error.errors(include_url=False, include_input=False)[0])
            raise UsageError(
                f'{path}, line {number}, is no {{"request": …, "reply": …}} of a recorded conversation: {words}'
            ) from None
    return tuple(recorded)


def recorded_in(turns: Iterable[Message]) -> tuple[Recorded, ...]:
    """The questions and answers among a run's turns."""
    asked: dict[tuple[int, int], ChatRequest] = {}
    recorded = []
    for turn in turns:
        thread = (turn.proposal_request, turn.sibling)
        if turn.kind == "prompt":
            asked[thread] = ChatRequest.model_validate_json(turn.text)
        elif turn.kind == "reply" and thread in asked:
            recorded.append(Recorded(request=asked.pop(thread), reply=ChatReply.model_validate_json(turn.text)))
    return tuple(recorded)
