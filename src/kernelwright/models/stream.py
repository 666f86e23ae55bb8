"""A reply that comes in pieces, put together to the body that would have come whole.

Time is given for silence and not for the whole: a stalled reply is told from a slow one. Until its first words a reply
may take as long as one that comes whole; after each of them it may be silent for `idle_s`. So that nobody is held up by
a few letters a minute, it must keep `SLOWEST_TOKENS_S` in the long run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from kernelwright.models.answer import BYTES_A_TOKEN
from kernelwright.models.fault import Complaint, Fault

SLOWEST_TOKENS_S = 1.0
"""Tokens a second. Whoever writes more slowly runs out of time."""
ROOM_BYTES = 1 << 16
MOST_BYTES_A_TOKEN = 32
"""What is longer than `ROOM_BYTES` and this for each token asked for keeps to no limit."""
HEARD: ContextVar[Callable[[int], None]] = ContextVar("HEARD")
"""Is told how many tokens of a reply have come, as they come. Whoever asks a model may set it around the call; a
parameter would have to go through every model, of which most have nothing to say."""


class Pace(NamedTuple):
    """How long a reply may take."""

    first_s: float
    """Until its first words."""
    idle_s: float
    """From words to words."""
    max_tokens: int
    """What was asked for."""


class Pieces(Protocol):
    """What has come of one reply."""

    @property
    def whole(self) -> bool:
        """Whether the reply has said that it is at its end."""
        ...

    def take(self, event: JsonValue) -> str:
        """The words that an event adds, reasoning and arguments of calls among them."""
        ...

    def body(self) -> JsonValue:
        """The body that would have come at once."""
        ...


class Meanwhile:
    """The clock of one reply."""

    def __init__(self, pace: Pace, now: Callable[[], float] | None = None) -> None:
        self._pace, self._now = pace, now or asyncio.get_running_loop().time
        self._started = self._last = self._now()
        self._bytes = 0

    @property
    def characters(self) -> int:
        """UTF-8 bytes that have come."""
        return self._bytes

    @property
    def tokens(self) -> int:
        """About how many have come."""
        return int(self._bytes / BYTES_A_TOKEN)

    @property
    def endless(self) -> bool:
        """Whether far more has come than was asked for."""
        return self._bytes > ROOM_BYTES + MOST_BYTES_A_TOKEN * self._pace.max_tokens

    @property
    def deadline(self) -> float:
        """When the reply is given up, by the event loop's clock."""
        earned = self._started + self._pace.first_s + self.tokens / SLOWEST_TOKENS_S
        return min(earned, self._last + self._pace.idle_s) if self._bytes else earned

    def heard(self, words: str) -> None:
        """Some words have come."""
        self._last, self._bytes = self._now(), self._bytes + len(words.encode("utf-8", "replace"))
        tell = HEARD.get(None)
        if tell is not None:
            tell(self.tokens)

    def late(self) -> Fault:
        """Why it was given up."""
        if not self._bytes:
            return Fault("timeout")
        silent = self._now() - self._last
        if silent >= self._pace.idle_s:
            return Fault("stalled", complaint=Complaint(f"{self.tokens} tokens, then nothing for {silent:.3g} s"))
        took = self._now() - self._started
        return Fault("stalled", complaint=Complaint(f"{self.tokens} tokens in {took:.3g} s"))

    def cut(self) -> Fault:
        """It ended before its end."""
        return Fault("cut", complaint=Complaint(f"{self.tokens} tokens came"))


async def gather(events: AsyncIterator[JsonValue], pieces: Pieces, clock: Meanwhile, limit: asyncio.Timeout) -> None:
    """Take the events until the last; each word moves the limit. Stops where a reply keeps to no length."""
    async for event in events:
        words = pieces.take(event)
        if words:
            clock.heard(words)
            limit.reschedule(clock.deadline)
        if clock.endless:
            return
