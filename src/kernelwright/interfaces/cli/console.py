"""What every verb shares: the two consoles, the live screen, Ctrl-C, and the parts that a test hands over.

Results go to stdout, everything said meanwhile to stderr. A verb imports what is heavy inside its function, so that
`--help` is quick.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from pydantic import JsonValue

    from kernelwright.api import Suppliers
    from kernelwright.records.base import Record

R = TypeVar("R", bound="Record")

ERRORS = Console(stderr=True, soft_wrap=True, highlight=False)
OUTPUT = Console(soft_wrap=True, highlight=False)
INTERRUPTED = 130


def suppliers_of(context: typer.Context) -> "Suppliers":
    """The parts that a test handed over, or the installed ones."""
    from kernelwright.api import Suppliers

    return context.obj if isinstance(context.obj, Suppliers) else Suppliers()


@contextmanager
def interruptible(words: Callable[[], str]) -> Iterator[None]:
    """Say what `words` gives then and exit with 130 when a KeyboardInterrupt gets this far."""
    try:
        yield
    except KeyboardInterrupt:
        ERRORS.print(f"[yellow]interrupted:[/] {escape(words())}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def watched(context: typer.Context, interrupted: str) -> Iterator["Suppliers"]:
    """The parts, with the live screen as their listener; `interrupted` is said after Ctrl-C, or which run there is by then."""
    from kernelwright.interfaces.cli.screen import Screen

    screen = Screen(ERRORS)

    def left() -> str:
        begun = screen.folder and Path(screen.folder).exists()
        return f"continue with: kernelwright resume {screen.folder}" if begun else interrupted

    with interruptible(left), screen:
        yield replace(suppliers_of(context), listener=screen)


def given(**flags: "JsonValue") -> "dict[str, JsonValue]":
    """The flags that were given: settings that stand over a file's."""
    return {name: value for name, value in flags.items() if value is not None and value != {}}


def print_result(found: R, json: bool, show: Callable[[R], None]) -> None:
    """A verb's result: as JSON, or as `show` prints it for a person."""
    if json:
        print(found.model_dump_json(indent=2))
    else:
        show(found)


def plain_table(*heads: str) -> Table:
    """A table without lines, whose cells go on below where they are long."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for head in heads:
        table.add_column(head, overflow="fold")
    return table
