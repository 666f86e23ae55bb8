"""The lines that move while something runs: how long it has run, how far it is, the best so far, what is going on.

They are laid out anew at each refresh, so that the time moves while nothing else happens. On a narrow terminal the less
important parts are left out; none is cut in the middle.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from kernelwright.interfaces.cli.words import duration

CERTAIN = 2
"""Proposals after which a pace is worth telling."""


@dataclass
class LiveLine:
    """What the lines say; whoever listens to events changes the fields."""

    now: Callable[[], float] = monotonic
    parts: tuple[str, ...] = ()
    """The first line after the time, the most important first."""
    doing: str = ""
    """The second line."""
    left_s: Callable[[], float | None] = field(default=lambda: None)
    """Seconds that are still to come, as far as can be told."""

    def __post_init__(self) -> None:
        self._began = self.now()

    def elapsed_s(self) -> float:
        """Seconds since the line was made."""
        return self.now() - self._began

    def lines(self, width: int) -> list[str]:
        """At most two lines that fit into `width` columns."""
        left = self.left_s()
        ahead = (f"about {duration(left)} left",) if left is not None else ()
        first = fitted((clock(self.elapsed_s()), *ahead, *self.parts), width)
        return [first, *([_shortened(self.doing, width)] if self.doing else [])]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One text of one or two lines."""
        yield Text("\n".join(self.lines(options.max_width)), no_wrap=True)


class Pace:
    """How long a run still takes, from what its attempts took until now."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._began: float | None = None
        self._done = 0
        self._left = 0.0
        """Share of what was done that is still to do."""

    def begin(self) -> None:
        """Attempts are made from now on."""
        self._began = self._began if self._began is not None else self._now()

    def step(self, left: float) -> None:
        """An attempt was made here; `left` times as much as all that was spent is left."""
        self._done, self._left, self._at = self._done + 1, left, self._now()

    def end(self) -> None:
        """What follows has another pace."""
        self._done = 0

    def left_s(self) -> float | None:
        """Seconds, counted down since the last attempt; None while nobody can know, or where it was too little."""
        if self._began is None or self._done < CERTAIN:
            return None
        left = (self._at - self._began) * self._left - (self._now() - self._at)
        return left if left >= 1 else None


def clock(seconds: float) -> str:
    """Elapsed time as on a watch: `0:42`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def fitted(parts: tuple[str, ...], width: int) -> str:
    """As many of the parts as fit, in order; the first one always."""
    line = parts[0]
    for part in parts[1:]:
        longer = f"{line} · {part}"
        line = longer if len(longer) <= width else line
    return line


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
