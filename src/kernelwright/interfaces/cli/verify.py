"""`kernelwright verify RECEIPT`: replay a recorded verdict on this machine and say whether it still holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, watched
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright import api
    from kernelwright.records.replay_comparison import ReplayComparison

_MARKS = {True: "[green]holds [/]", False: "[red]broken[/]", None: "[dim]told  [/]"}


def verify(
    context: typer.Context,
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt file.", show_default=False)],
    task: Annotated[
        Path | None, typer.Option(help="The task that the receipt must be about. Default: the task inside the receipt.")
    ] = None,
    isolation: Annotated[
        Literal["auto", "strict"], typer.Option(help="strict: refuse to judge in a weakened sandbox.")
    ] = "auto",
    save: Annotated[
        Path | None, typer.Option("--receipt", help="Write a new receipt from this machine to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure a receipt's kernel again and say whether its verdict still holds.

    Exit code 0: it holds. 9: it does not.
    """
    from kernelwright import api

    if save is not None:
        api.must_be_writable(save, "--receipt")
    request = api.VerifyRequest(receipt, task, isolation, save)
    with watched(context, "no verdict was reached") as suppliers:
        found = api.verify(request, suppliers)
    if json:
        print(found.model_dump_json(indent=2))
    else:
        _show(found)
    raise typer.Exit(found.exit_code)


def _show(found: "api.Verification") -> None:
    head = "[bold green]holds[/]" if found.comparison.holds else "[bold red]does not hold[/]"
    OUTPUT.print(f"{head} {escape(plain(found.receipt))}, written {escape(plain(found.created))}")
    OUTPUT.print(f"task   {escape(plain(found.task))} on {escape(found.target.name)}, id {found.task_id}")
    for name, value in found.policy.items():
        OUTPUT.print(f"policy {name} is {escape(plain(value))}, which is not the usual one")
    if found.effort == "search":
        OUTPUT.print("[yellow]a search's figures:[/] short, and its seeds were never revealed")
    show_comparison(found.comparison)


def show_comparison(comparison: "ReplayComparison") -> None:
    """The findings and what is different here, a line each."""
    for finding in comparison.findings:
        mark = _MARKS[finding.holds]
        OUTPUT.print(
            f"{mark} {escape(finding.what)}: was {escape(plain(finding.then))}; now {escape(plain(finding.now))}"
        )
    for change in comparison.changed:
        OUTPUT.print(f"differs {escape(plain(f'{change.name}: was {change.then}, is {change.now}'))}")
