"""The command's frame: the typer application, the options before the verb, and the two consoles.

Results go to stdout, everything said meanwhile to stderr.
"""

from typing import Annotated

import typer
from rich.console import Console

from kernelwright.api import Suppliers
from kernelwright.version import __version__

ERRORS = Console(stderr=True, soft_wrap=True, highlight=False)
OUTPUT = Console(soft_wrap=True, highlight=False)

app = typer.Typer(
    name="kernelwright",
    help="Writes, proves and speeds up GPU kernels in a closed loop with measured feedback.",
    epilog="Exit codes: 0 right kernel, 1 nothing right was found, 2 usage, 3 task, 4 machine, 5 run folder, "
    "6 referee, 7 proposer, 8 receipt, 9 a verdict does not hold, 10 no model, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"kernelwright {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (before the verb).")] = False,
) -> None:
    """Options before the verb; `main` reads --debug when something fails."""


def suppliers_of(context: typer.Context) -> Suppliers:
    """The parts that a test handed over, or the installed ones."""
    return context.obj if isinstance(context.obj, Suppliers) else Suppliers()
