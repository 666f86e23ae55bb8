"""The live screen of a bench on stderr: which cell of how many, the best in it, how long it may still take.

On a terminal the last line moves; a finished cell leaves a line. Reads news and events and nothing else.
"""

from rich.console import Console
from rich.markup import escape

from kernelwright.api import BenchBegins, CellBegins, CellEnds, CellResult, Event, Judged, NewBest, Phase, Warned
from kernelwright.interfaces.cli.waiting import Waiting
from kernelwright.interfaces.cli.words import plain, speedups

_WORDS = {
    "gave_up": "cannot be written",
    "not_admitted": "not admitted",
    "no_answer": "no answer",
    "broken": "broken",
    "unpaid": "not run",
    "pending": "interrupted",
}
WORDS_WIDTH = 96


class BenchScreen(Waiting):
    """A listener for a person. Phases may come from another thread."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cell = ""
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
                self._best = f"best {speedups(self._judged.versus) or self._judged.outcome}"
                self._wait("")
            case Phase(text=text):
                self._wait(plain(text))
            case Warned(text=text):
                self._console.print(f"[yellow]warning:[/] {escape(plain(text))}")

    def tell(self, news: BenchBegins | CellBegins | CellEnds) -> None:
        """Show what is to be run, or that a cell begins or is over."""
        if isinstance(news, BenchBegins):
            models = f"; models: {news.expected}" if news.expected else ""
            cells = "1 cell" if news.cells == 1 else f"{news.cells} cells"
            self._console.print(escape(plain(f"{cells} to run{models}")))
        elif isinstance(news, CellBegins):
            left = f" · about {_duration(news.left_s)} left" if news.left_s is not None else ""
            self._cell, self._best = f"cell {news.number} of {news.of}{left} · {plain(news.cell.name)}", ""
            self._wait("")
        elif news.recorded:
            self._recorded += 1
        else:
            self._over(news)

    def _over(self, news: CellEnds) -> None:
        if self._recorded:
            self._console.print(f"[dim]{self._recorded} cells are recorded already[/]")
            self._recorded = 0
        result = news.result
        style = "green" if result.correct else "yellow" if result.counts or result.status == "pending" else "red"
        self._console.print(
            f"{news.number:>4}/{news.of} {escape(plain(result.cell.name))} [{style}]{escape(_told(result))}[/]"
        )

    def _wait(self, words: str) -> None:
        self._update(" · ".join(part for part in (self._cell, self._best, words) if part))


def _told(result: CellResult) -> str:
    if result.status != "done":
        line = plain(result.reason.split("\n", 1)[0])[:WORDS_WIDTH]
        return f"{_WORDS[result.status]}: {line}"
    if not result.correct:
        return f"not solved in {len(result.steps)} attempts"
    if result.eager is None:
        return "right, not timed"
    compiled = f", {result.compile.median:.2f}x torch.compile" if result.compile else ""
    return f"{result.eager.median:.2f}x eager{compiled}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
