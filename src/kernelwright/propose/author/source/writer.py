"""Lines of code with their indentation."""

from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 100
"""Columns of a line."""


class Writer:
    """Collects lines; a block indents what is written inside it."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._depth = 0
        self.lines: list[str] = []

    def line(self, text: str = "") -> None:
        """One line at the present depth."""
        self.lines.append(self._step * self._depth + text if text else "")

    def pragma(self, directive: str, *clauses: str) -> None:
        """A preprocessor line, at column zero; clauses that do not fit go to lines of their own."""
        line = directive
        for number, clause in enumerate(clauses, 1):
            room = WIDTH if number == len(clauses) else WIDTH - len(" \\")
            if len(line) + 1 + len(clause) > room:
                self.lines.append(line + " \\")
                line = "   "
            line += " " + clause
        self.lines.append(line)

    @contextmanager
    def block(self, head: str, tail: str = "") -> Iterator[None]:
        """Lines between `head` and `tail`, one step deeper."""
        self.line(head)
        with self.deeper(tail):
            yield

    @contextmanager
    def deeper(self, tail: str) -> Iterator[None]:
        """Lines one step deeper, and then `tail`."""
        self._depth += 1
        yield
        self._depth -= 1
        if tail:
            self.line(tail)

    def text(self) -> str:
        """All lines, ended by a newline."""
        return "\n".join(self.lines) + "\n"
