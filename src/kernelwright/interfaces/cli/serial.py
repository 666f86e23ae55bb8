"""`kernelwright serial new FILE.c`: what a serial function's signature cannot say, asked for in a file beside it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import ERRORS


def serial(
    action: Annotated[Literal["new"], typer.Argument(help="What to do.", show_default=False)],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A C or C++ file with one function.", show_default=False)
    ],
    function: Annotated[str, typer.Option(help="The function, where the file has several.")] = "",
) -> None:
    """Begin a task from a serial function.

    Writes FILE.toml with sizes and shapes as far as the code shows them; the rest says `fill in`.

    Exit code 0: it is written. 2: it is there already. 3: the file has no such function.
    """
    from kernelwright import api

    assert action == "new"
    made, beside = api.serial_skeleton(file, function), file.with_suffix(".toml")
    if beside.exists():
        raise UsageError(f"{beside} is there already: move it away, or fill it in")
    beside.write_text(made)
    left = sum("fill in" in line for line in made.splitlines())
    said = f"{beside} is written: {left} lines say `fill in`. Then: kernelwright optimize {file} --strategy regraph"
    ERRORS.print(escape(said))
