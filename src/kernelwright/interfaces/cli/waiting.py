"""The line that moves at the end of a terminal while something is waited for; it is absent where stderr is a log."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status


class Waiting:
    """A context in which the line moves."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("starting", console=console) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def _update(self, line: str) -> None:
        if self._status:
            self._status.update(escape(line))
