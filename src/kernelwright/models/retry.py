"""How long to wait between two tries: exponential with jitter, or longer if the endpoint asks for it, within bounds.

`fault.worth_retrying` says what to retry.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

FIRST_S = 0.5
MOST_DOUBLINGS = 16
"""More are no float in the end, and `LONGEST_S` long before."""
LONGEST_S = 60.0
LONGEST_ASKED_S = 120.0
"""An endpoint may ask for hours; a run asks again sooner, and gives up by its own count."""


@dataclass(frozen=True)
class RetryPolicy:
    """Waits. Sleep and draw can be replaced, by tests and by whoever wants the same waits again."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = field(default_factory=lambda: random.Random().random)
    """Uniform in [0, 1)."""

    def delay_s(self, failures: int, asked_s: float | None) -> float:
        """The wait after that many failures, the first being 1."""
        draw = self.draw()
        own_s = min(FIRST_S * 2.0 ** min(failures - 1, MOST_DOUBLINGS), LONGEST_S) * (0.5 + 0.5 * draw)
        return max(own_s, min(asked_s or 0.0, LONGEST_ASKED_S) * (1 + 0.1 * draw))


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the endpoint asks to wait; None when it does not say, or says nonsense."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError, OverflowError):
        return None
