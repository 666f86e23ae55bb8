"""`kernelwright verify RECEIPT`: replay a recorded verdict on this machine and say whether it still holds."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS, OUTPUT, suppliers_of
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen
from kernelwright.interfaces.cli.words import plain
from kernelwright.records.standing import Standing

_MARKS = {True: "[green]holds [/]", False: "[red]broken[/]", None: "[dim]told  [/]"}


def verify(
    context: typer.Context,
    receipt: Annotated[Path, typer.Argument(help="A receipt.json.", show_default=False)],
    task: Annotated[
        Path | None, typer.Option(help="The task that it must be about. Default: the one that it brings.")
    ] = None,
    isolation: Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse a weaker sandbox.")] = "auto",
    save: Annotated[Path | None, typer.Option("--receipt", help="Write this machine's own receipt here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the standing as JSON.")] = False,
) -> None:
    """Measure a receipt's kernel anew. Exit code 0: the verdict holds; 9: it does not."""
    request = api.VerifyRequest(receipt, task, isolation, save)
    with interruptible("no verdict was reached"), Screen(ERRORS) as screen:
        found = api.verify(request, replace(suppliers_of(context), listener=screen))
    if json:
        print(found.model_dump_json(indent=2))
    else:
        _show(found)
    raise typer.Exit(found.exit_code)


def _show(found: api.Verification) -> None:
    head = "[bold green]holds[/]" if found.standing.holds else "[bold red]does not hold[/]"
    OUTPUT.print(f"{head} {escape(plain(found.receipt))}, written {escape(plain(found.created))}")
    OUTPUT.print(f"task   {escape(plain(found.task))} on {escape(found.target.name)}, id {found.task_id}")
    for name, value in found.policy.items():
        OUTPUT.print(f"policy {name} is {escape(plain(value))}, which is not the usual one")
    if found.effort == "search":
        OUTPUT.print("[yellow]a search's figures:[/] short, and its seeds were never revealed")
    show_standing(found.standing)


def show_standing(standing: Standing) -> None:
    """The findings and what is different here, a line each."""
    for finding in standing.findings:
        mark = _MARKS[finding.holds]
        OUTPUT.print(
            f"{mark} {escape(finding.what)}: was {escape(plain(finding.then))}; now {escape(plain(finding.now))}"
        )
    for change in standing.changed:
        OUTPUT.print(f"differs {escape(plain(f'{change.name}: was {change.then}, is {change.now}'))}")
