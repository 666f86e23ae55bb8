"""`kernelwright learn RUN…`: what the attempts of runs taught, for a predictor."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS


def learn(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the experience is written.")] = Path(
        "experience.jsonl"
    ),
) -> None:
    """Collect what attempts taught, for `optimize --predictor`."""
    count = api.learn(runs, output)
    ERRORS.print(f"{output}: {count} candidates of {len(runs)} {'run' if len(runs) == 1 else 'runs'}")
