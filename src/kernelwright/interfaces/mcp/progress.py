"""Progress: tells a client that waits for a tool's answer what the engine is doing.

Events come from any thread; the waiting side looks at the last one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from kernelwright.api import Event, Judged, Phase, Proposed, Warned

LOOK_S = 0.25
"""Seconds between two looks."""
HEARTBEAT_S = 5.0
"""Seconds of silence after which the last words are said again: clients give up on servers that say nothing."""
LONGEST = 200


class Waiting(Protocol):
    """A client's request that is being answered."""

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client, if it asked to be told."""
        ...


class Herald:
    """A listener of the engine's events."""

    def __init__(self) -> None:
        self._said, self._words = 0, "working"

    def __call__(self, event: Event) -> None:
        """Remember what an event says."""
        words = _words(event)
        if words:
            self._said, self._words = self._said + 1, words[:LONGEST]

    @asynccontextmanager
    async def telling(self, waiting: Waiting) -> AsyncIterator[None]:
        """Pass on what is said while the block runs."""
        telling = asyncio.create_task(self._tell(waiting))
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, waiting: Waiting) -> None:
        told, silent, steps = self._said, HEARTBEAT_S, 0
        while True:
            if self._said != told or silent >= HEARTBEAT_S:
                told, silent, steps = self._said, 0.0, steps + 1
                await waiting.report_progress(steps, None, self._words)
            await asyncio.sleep(LOOK_S)
            silent += LOOK_S


def _words(event: Event) -> str:
    match event:
        case Phase(text=text) | Warned(text=text):
            return text
        case Proposed(replayed=False):
            return "judging the kernel: compile, verify, measure"
        case Judged(attempt=attempt, outcome=outcome):
            return f"attempt {attempt}: {outcome}"
    return ""
