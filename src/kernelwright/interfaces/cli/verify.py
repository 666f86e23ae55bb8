"""Whether recorded verdicts still hold here: `kernelwright verify RECEIPT`, and `recheck RUN` after something changed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, plain_table, print_result, watched
from kernelwright.interfaces.cli.options import Isolation, Json, Run
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright import api
    from kernelwright.records.receipt import Recheck, Rechecked

_MARKS = {True: "[green]holds [/]", False: "[red]broken[/]", None: "[dim]told  [/]"}


def verify(
    context: typer.Context,
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt file.", show_default=False)],
    task: Annotated[
        Path | None, typer.Option(help="The task that the receipt must be about. Default: the task inside the receipt.")
    ] = None,
    isolation: Isolation = "auto",
    save: Annotated[
        Path | None, typer.Option("--receipt", help="Write a new receipt from this machine to this file.")
    ] = None,
    json: Json = False,
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
    print_result(found, json, _show)
    raise typer.Exit(found.exit_code)


def _show(found: "api.Verification") -> None:
    head = "[bold green]holds[/]" if found.comparison.holds else "[bold red]does not hold[/]"
    OUTPUT.print(f"{head} {escape(plain(found.receipt))}, written {escape(plain(found.created))}")
    OUTPUT.print(f"task   {escape(plain(found.task))} on {escape(found.target.name)}, id {found.task_id}")
    if not found.proved:
        OUTPUT.print("unproved: no seal of yours is on it, so only what was measured now counts")
    for name, value in found.policy.items():
        OUTPUT.print(f"policy {name} is {escape(plain(value))}, which is not the usual one")
    if found.effort == "search":
        OUTPUT.print("[yellow]a search's figures:[/] short, and its seeds were never revealed")
    for finding in found.comparison.findings:
        mark = _MARKS[finding.holds]
        OUTPUT.print(
            f"{mark} {escape(finding.what)}: was {escape(plain(finding.then))}; now {escape(plain(finding.now))}"
        )
    for change in found.comparison.changed:
        OUTPUT.print(f"differs {escape(plain(f'{change.name}: was {change.then}, is {change.now}'))}")


def recheck(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    run: Run,
    every: Annotated[bool, typer.Option("--all", help="Judge every right attempt, not only the best.")] = False,
    force: Annotated[bool, typer.Option("--force/--if-changed", help="Judge again even if nothing changed.")] = False,
    budget_s: Annotated[
        float | None, typer.Option(min=0, help="Start no further kernel after this many seconds.")
    ] = None,
    isolation: Isolation = "auto",
    json: Json = False,
) -> None:
    """Judge a run's kernels again after the device, driver or a library changed.

    Exit code 0: every verdict still holds. 9: at least one does not.
    """
    from kernelwright import api

    request = api.RecheckRequest(run, every, force, budget_s, isolation)
    with watched(context, f"continue with: kernelwright recheck {run}") as suppliers:
        found = api.recheck(request, suppliers)
    print_result(found, json, _show_rows)
    raise typer.Exit(0 if found.holds else api.DOES_NOT_HOLD)


def _show_rows(found: "Recheck") -> None:
    OUTPUT.print(f"run {escape(found.run)}: {escape(plain(found.task))} on {escape(plain(found.device))}")
    for change in found.changed:
        OUTPUT.print(f"changed {escape(plain(f'{change.name}: was {change.then}, is {change.now}'))}")
    if not found.measured:
        OUTPUT.print("nothing changed since the run: its figures stand (--force judges again all the same)")
        return
    table = plain_table("attempt", "comparison", "finding", "was", "now")
    for row in found.rows:
        for line in _lines(row):
            table.add_row(*line)
    OUTPUT.print(table)
    if found.left:
        OUTPUT.print(f"[yellow]{found.left} left out[/] for the budget's end: the same command goes on with them")


def _lines(row: "Rechecked") -> list[list[str]]:
    comparison = "[green]holds[/]" if row.comparison.holds else "[red]does not hold[/]"
    name = f"{row.attempt}{' (best)' if row.best else ''}"
    heads = [[name, comparison]] + [["", ""]] * (len(row.comparison.findings) - 1)
    return [
        [*head, escape(f.what), escape(plain(f.then)), escape(plain(f.now))]
        for head, f in zip(heads, row.comparison.findings, strict=True)
    ]
