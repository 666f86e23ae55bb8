"""What every verb shares: the two consoles, the live screen, Ctrl-C, and the parts that a test hands over.

Results go to stdout, everything said meanwhile to stderr. A verb imports what is heavy inside its function, so that
`--help` is quick.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from kernelwright.api import Suppliers

ERRORS = Console(stderr=True, soft_wrap=True, highlight=False)
OUTPUT = Console(soft_wrap=True, highlight=False)
INTERRUPTED = 130


def suppliers_of(context: typer.Context) -> "Suppliers":
    """The parts that a test handed over, or the installed ones."""
    from kernelwright.api import Suppliers

    return context.obj if isinstance(context.obj, Suppliers) else Suppliers()


@contextmanager
def interruptible(words: str) -> Iterator[None]:
    """Say `words` and exit with 130 when a KeyboardInterrupt gets this far."""
    try:
        yield
    except KeyboardInterrupt:
        ERRORS.print(f"[yellow]interrupted:[/] {words}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def watched(context: typer.Context, interrupted: str) -> Iterator["Suppliers"]:
    """The parts, with the live screen as their listener; `interrupted` is said after Ctrl-C."""
    from kernelwright.interfaces.cli.screen import Screen

    with interruptible(interrupted), Screen(ERRORS) as screen:
        yield replace(suppliers_of(context), listener=screen)
