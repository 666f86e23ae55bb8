"""`kernelwright report RUN`: print a run's summary and write its page, also while it is running."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.interfaces.cli.console import OUTPUT, suppliers_of


def report(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file to write. Default: report.html in the run's folder."),
    ] = None,
) -> None:
    """Print a run's summary and write its report as one HTML file.

    Prints the file's path last.
    """
    from kernelwright import api

    suppliers = suppliers_of(context)
    file = api.report(run, output, suppliers)
    OUTPUT.print(api.present(run, suppliers))
    print(file)
