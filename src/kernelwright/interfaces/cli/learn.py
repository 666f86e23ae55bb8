"""`kernelwright learn RUN…`: collect what past runs taught, for a predictor."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.interfaces.cli.console import ERRORS


def learn(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="The runs' folders.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("experience.jsonl"),
) -> None:
    """Collect what past runs taught, for `optimize --predictor`."""
    from kernelwright import api

    count = api.learn(runs, output)
    ERRORS.print(f"{output}: {count} candidates of {len(runs)} {'run' if len(runs) == 1 else 'runs'}")
