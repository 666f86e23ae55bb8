"""Ctrl-C before there is anything to keep: one line and the shell's exit code, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from kernelwright.interfaces.cli.app import ERRORS

INTERRUPTED = 130


@contextmanager
def interruptible(words: str) -> Iterator[None]:
    """Say `words` and end with 130 when a KeyboardInterrupt gets this far."""
    try:
        yield
    except KeyboardInterrupt:
        ERRORS.print(f"[yellow]interrupted:[/] {words}")
        raise typer.Exit(INTERRUPTED) from None
