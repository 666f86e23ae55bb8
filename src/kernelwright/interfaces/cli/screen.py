"""The live screens on stderr, of a run and of a bench: what is waited for, what was judged, the best, what is left.

On a terminal the last lines move; in a log every line stays, and what goes on is told again when nothing else was for ten
seconds. They read events and nothing else. The lines that move say how
long it has run, how far it is, the best so far and what is going on. They are laid out again at each refresh, so that the time
moves while nothing else happens; on a narrow terminal the less important parts are left out, and none is cut in the middle.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event as Signal
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.status import Status
from rich.text import Text

from kernelwright.api import (
    Asked,
    BenchBegins,
    CellBegins,
    CellEnds,
    CellResult,
    Event,
    Finished,
    Judged,
    NewBest,
    Phase,
    Proposed,
    Spent,
    Started,
    Warned,
    Writing,
)
from kernelwright.interfaces.cli.words import duration, plain
from kernelwright.records.answer import figure, figures, intervals
from kernelwright.records.attempt import Cost

CERTAIN = 1
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
        return [first, *([_shorten(self.doing, width)] if self.doing else [])]

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


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


class Waiting:
    """A context in which the lines move; where they cannot, what they would say is printed where nothing else is."""

    silent_s = 10.0
    """How long a log says nothing while something goes on."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = LiveLine(doing="starting")
        self._status = Status(self._live, console=console) if console.is_terminal else None
        self._heard, self._ended = Signal(), Signal()
        self._beat = Thread(target=self._keep_telling, name="kernelwright-screen", daemon=True)

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        else:
            self._beat.start()
        return self

    def _keep_telling(self) -> None:
        while not self._ended.is_set():
            if self._heard.wait(self.silent_s):
                self._heard.clear()
            else:
                self._console.print(f"[dim]{escape(' · '.join(self._live.lines(WORDS_WIDTH * 2)))} …[/]")

    def _print(self, line: str, soft_wrap: bool | None = None) -> None:
        self._heard.set()
        self._console.print(line, soft_wrap=soft_wrap)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()
        self._ended.set()
        self._heard.set()
        if self._beat.is_alive():
            self._beat.join()

    def _waits(self, *parts: str, doing: str = "") -> None:
        self._live.parts, self._live.doing = tuple(part for part in parts if part), doing


def _short(best: Judged) -> str:
    return f"best {figures(best.versus).replace('torch.compile', 'compile') or best.outcome}"


def _doing(event: Asked | Proposed | Writing | Finished) -> str:
    match event:
        case Asked():
            return "writing a kernel"
        case Proposed():
            return "compiling and verifying"
        case Finished():
            return "writing the report"
    return f"the {event.role} model writes: about {event.tokens:,} tokens"


_WORDS = {
    "gave_up": "cannot be written",
    "not_admitted": "not admitted",
    "no_answer": "no answer",
    "broken": "broken",
    "unpaid": "not run",
    "pending": "interrupted",
}


class BenchScreen(Waiting):
    """A listener for a person. Phases may come from another thread."""

    silent_s = 60.0

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cell: tuple[str, ...] = ()
        self._best = ""
        self._judged: Judged | None = None
        self._recorded = 0

    def __call__(self, event: Event) -> None:
        """Show one event of the cell that is run."""
        match event:
            case Judged():
                self._judged = event
                self._wait(f"attempt {event.attempt}: {event.outcome}")
            case NewBest() if self._judged is not None:
                self._best = _short(self._judged)
                self._wait("")
            case Phase(text=text):
                self._wait(plain(text))
            case Writing():
                self._wait(_doing(event))
            case Warned(text=text):
                self._print(f"[yellow]warning:[/] {escape(plain(text))}")

    def tell(self, news: BenchBegins | CellBegins | CellEnds) -> None:
        """Show what is to be run, or that a cell begins or is over."""
        if isinstance(news, BenchBegins):
            models = f"; models: {news.expected}" if news.expected else ""
            cells = "1 cell" if news.cells == 1 else f"{news.cells} cells"
            self._print(escape(plain(f"{cells} to run{models}")))
        elif isinstance(news, CellBegins):
            left = f"about {duration(news.left_s)} left" if news.left_s is not None else ""
            self._cell, self._best = (f"cell {news.number} of {news.of}", left, plain(news.cell.name)), ""
            self._wait("")
        elif news.recorded:
            self._recorded += 1
        else:
            self._over(news)

    def _over(self, news: CellEnds) -> None:
        if self._recorded:
            self._print(f"[dim]{self._recorded} cells are recorded already[/]")
            self._recorded = 0
        result = news.result
        style = "green" if result.correct else "yellow" if result.counts or result.status == "pending" else "red"
        self._print(
            f"{news.number:>4}/{news.of} {escape(plain(result.cell.name))} [{style}]{escape(_cell_line(result))}[/]"
        )

    def _wait(self, words: str) -> None:
        self._waits(*self._cell, self._best, doing=words)


def _cell_line(result: CellResult) -> str:
    if result.status != "done":
        line = plain(result.reason.split("\n", 1)[0])[:WORDS_WIDTH]
        return f"{_WORDS[result.status]}: {line}"
    if not result.correct:
        return f"not solved in {len(result.steps)} attempts"
    if result.eager is None:
        return "right, not timed"
    compiled = f", {figure(result.compile)} torch.compile" if result.compile else ""
    return f"{figure(result.eager)} eager{compiled}"


_STYLES = {"measured": "green", "verified": "green", "compiled": "cyan", "suspect": "magenta"}
WORDS_WIDTH, REASON_WIDTH = 96, 400
NOTHING, UNSURE = "nothing right yet", "right, no sure figure"


class Screen(Waiting):
    """A listener for a person. Phases may come from another thread."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._best = NOTHING
        self._where = self._said = ""
        self._money = self.folder = ""
        self._judged: Judged | None = None
        self._pace, self._before = Pace(), Cost(proposals=0)
        self._live.left_s = self._pace.left_s

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Phase():
                self._say(event)
            case Started():
                self._print(f"run [bold]{escape(event.folder)}[/] · {escape(event.task)} on {event.target}")
                self._pace.begin()
                self.folder = event.folder
                self._where = f"attempt 1 of {event.budget.proposals}"
                self._wait()
            case Judged():
                self._show(event)
            case NewBest() if (judged := self._judged) is not None:
                self._best = _short(judged)
                by = f", by its lower end: {intervals(judged.versus)}" if judged.versus else ""
                self._print(f"     [bold green]new best[/]{by}")
            case Warned(text=text):
                self._print(f"[yellow]warning:[/] {escape(plain(text))}")
            case Spent():
                self._spend(event)
            case Asked() | Proposed() | Writing() | Finished():
                self._wait(_doing(event))

    def _show(self, event: Judged) -> None:
        self._judged = event
        if self._best == NOTHING and event.outcome == "measured":
            self._best = UNSURE  # until a new best is told, at once or never
        style = _STYLES.get(event.outcome, "red")
        known = f" (as attempt {event.known})" if event.known is not None else ""
        known = f" (as in run {event.cached_from})" if event.cached_from and not known else known
        recorded = " [dim](recorded)[/]" if event.replayed else ""
        reason = plain(event.reason) or event.feedback.words.split("\n", 1)[0]
        what = figures(event.versus) or (
            "as the one before" if reason == self._said else _shorten(reason, REASON_WIDTH)
        )
        self._said = reason
        latency = f"{event.latency_us:.1f} us · " if event.latency_us is not None else ""
        by = f" [dim]by {escape(plain(event.writer))}[/]" if event.writer else ""
        self._print(
            f"{event.attempt:>4} [{style}]{event.outcome:<12}[/] {latency}{escape(what)}{escape(known)}{by}{recorded}",
            soft_wrap=not self._console.is_terminal,
        )

    def _spend(self, event: Spent) -> None:
        spent, budget = event.spent, event.budget
        if event.replayed:
            self._before = spent
        else:
            self._pace.step(_share_left(event, self._before))
        of = budget.proposals
        self._where = f"attempt {spent.proposals + 1} of {of}" if spent.proposals < of else f"all {of} attempts judged"
        self._money = f"${spent.usd:.2f}" if spent.usd else ""
        self._wait()

    def _say(self, phase: Phase) -> None:
        """A phase: beside the waiting line on a terminal, a line of its own in a log."""
        if phase.search_over:
            self._pace.end()
            self._where = "search over"
        self._wait(plain(phase.text))
        if not self._status:
            self._print(f"[dim]{escape(plain(phase.text))} …[/]")

    def _wait(self, doing: str = "") -> None:
        self._waits(*((self._where, self._best, self._money) if self._where else ()), doing=doing)


def _share_left(event: Spent, before: Cost) -> float:
    """What is left of the budget that ends first, as a share of what was spent since `before`."""
    spent, budget = event.spent, event.budget
    limits = (
        (spent.proposals, before.proposals, budget.proposals),
        (spent.device_s, before.device_s, budget.device_s),
        (spent.tokens, before.tokens, budget.tokens),
        (spent.usd, before.usd, budget.usd),
    )
    shares = [max(0.0, limit - now) / (now - then) for now, then, limit in limits if limit is not None and now > then]
    return min(shares, default=0.0)
