"""The live screen on stderr: what is being waited for, each attempt as it is judged, the best, the budget.

On a terminal the last line moves; in a log every line stays. Reads events and nothing else.
"""

from rich.console import Console
from rich.markup import escape

from kernelwright.api import Event, Finished, Judged, NewBest, Phase, Spent, Started, Warned
from kernelwright.interfaces.cli.waiting import Waiting
from kernelwright.interfaces.cli.words import plain, speedups, sure

_STYLES = {"measured": "green", "verified": "green", "compiled": "cyan", "suspect": "magenta"}
WORDS_WIDTH = 96


class Screen(Waiting):
    """A listener for a person. Phases may come from another thread."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._best = "nothing right yet"
        self._line = ""
        self._judged: Judged | None = None

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Phase(text=text):
                self._say(text)
            case Started():
                self._console.print(f"run [bold]{escape(event.folder)}[/] · {escape(event.task)} on {event.target}")
                self._wait(f"attempt 1 of {event.budget.proposals} · {self._best}")
            case Judged():
                self._show(event)
            case NewBest():
                self._crown()
            case Warned(text=text):
                self._console.print(f"[yellow]warning:[/] {escape(plain(text))}")
            case Spent():
                self._spend(event)
            case Finished():
                self._wait("writing the report")

    def _show(self, event: Judged) -> None:
        self._judged = event
        style = _STYLES.get(event.outcome, "red")
        known = f" (as attempt {event.known})" if event.known is not None else ""
        known = f" (as in run {event.cached_from})" if event.cached_from and not known else known
        recorded = " [dim](recorded)[/]" if event.replayed else ""
        what = speedups(event.versus) if event.versus else _first_line(event.feedback.words)
        latency = f"{event.latency_us:.1f} us · " if event.latency_us is not None else ""
        self._console.print(
            f"{event.attempt:>4} [{style}]{event.outcome:<12}[/] {latency}{escape(what)}{escape(known)}{recorded}"
        )

    def _crown(self) -> None:
        judged = self._judged
        if judged is not None:
            self._best = f"best {speedups(judged.versus) or judged.outcome} (attempt {judged.attempt})"
            self._console.print(f"     [bold green]new best[/]{sure(judged.versus)}")

    def _spend(self, event: Spent) -> None:
        spent, budget = event.spent, event.budget
        parts = [f"attempt {spent.proposals + 1} of {budget.proposals}", self._best]
        if budget.device_s is not None:
            parts.append(f"{max(0.0, budget.device_s - spent.device_s):.0f} of {budget.device_s:.0f} device s left")
        else:
            parts.append(f"{spent.device_s:.0f} device s")
        if spent.usd:
            parts.append(f"${spent.usd:.2f}")
        self._wait(" · ".join(parts))

    def _say(self, text: str) -> None:
        """A phase: beside the waiting line on a terminal, a line of its own in a log."""
        text = plain(text)
        if self._status:
            self._update(f"{self._line} · {text}" if self._line else text)
        else:
            self._console.print(f"[dim]{escape(text)} …[/]")

    def _wait(self, line: str) -> None:
        self._line = line
        self._update(line)


def _first_line(words: str) -> str:
    line = plain(words.split("\n", 1)[0])
    return line if len(line) <= WORDS_WIDTH else line[: WORDS_WIDTH - 1] + "…"
