"""`kernelwright recheck RUN`: judge a run's kernels again after the driver, a library, the compiler or the GPU changed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kernelwright.interfaces.cli.console import OUTPUT, watched
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright.records.replay_comparison import Recheck, Rechecked


def recheck(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help="Judge every right attempt, not only the best.")] = False,
    force: Annotated[bool, typer.Option("--force/--if-changed", help="Judge again even if nothing changed.")] = False,
    budget_s: Annotated[
        float | None, typer.Option(min=0, help="Start no further kernel after this many seconds.")
    ] = None,
    isolation: Annotated[
        Literal["auto", "strict"], typer.Option(help="strict: refuse to judge in a weakened sandbox.")
    ] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Judge a run's kernels again after the device, driver or a library changed.

    Exit code 0: every verdict still holds. 9: at least one does not.
    """
    from kernelwright import api

    request = api.RecheckRequest(run, every, force, budget_s, isolation)
    with watched(context, f"continue with: kernelwright recheck {run}") as suppliers:
        found = api.recheck(request, suppliers)
    if json:
        print(found.model_dump_json(indent=2))
    else:
        _show(found)
    raise typer.Exit(0 if found.holds else api.DOES_NOT_HOLD)


def _show(found: "Recheck") -> None:
    OUTPUT.print(f"run {escape(found.run)}: {escape(plain(found.task))} on {escape(plain(found.device))}")
    for change in found.changed:
        OUTPUT.print(f"changed {escape(plain(f'{change.name}: was {change.then}, is {change.now}'))}")
    if not found.measured:
        OUTPUT.print("nothing changed since the run: its figures stand (--force judges again all the same)")
        return
    OUTPUT.print(_table(found))
    if found.left:
        OUTPUT.print(f"[yellow]{found.left} left out[/] for the budget's end: the same command goes on with them")


def _table(found: "Recheck") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("attempt", "comparison", "finding", "was", "now"):
        table.add_column(name, overflow="fold")
    for row in found.rows:
        for line in _lines(row):
            table.add_row(*line)
    return table


def _lines(row: "Rechecked") -> list[list[str]]:
    comparison = "[green]holds[/]" if row.comparison.holds else "[red]does not hold[/]"
    name = f"{row.attempt}{' (best)' if row.best else ''}"
    heads = [[name, comparison]] + [["", ""]] * (len(row.comparison.findings) - 1)
    return [
        [*head, escape(f.what), escape(plain(f.then)), escape(plain(f.now))]
        for head, f in zip(heads, row.comparison.findings, strict=True)
    ]
