"""`kernelwright check TASK KERNEL`: judge a kernel that a person wrote."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS, OUTPUT, suppliers_of
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen
from kernelwright.interfaces.cli.words import figure_lines, verdict_line, work_line
from kernelwright.records.policy import Policy


def check(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: Annotated[Path, typer.Argument(help="A file with Model and get_inputs.", show_default=False)],
    kernel: Annotated[Path, typer.Argument(help="A .cpp, .cu or .py file.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(help="cpu, cuda, or sm_80 … sm_120. Default: by the kernel's language.")
    ] = None,
    entry: Annotated[str | None, typer.Option(help="The kernel's function. Default: the only one.")] = None,
    workspace_bytes: Annotated[int, typer.Option(min=0, help="Workspace that the kernel gets.")] = 0,
    isolation: Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse a weaker sandbox.")] = "auto",
    execution: Annotated[Literal["local", "ray"], typer.Option(help="Where the kernel is judged.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster's head. Default: RAY_ADDRESS, or a new one here.")
    ] = None,
    library_calls: Annotated[
        Literal["report", "forbid"], typer.Option(help="forbid: refuse what leaves the work to PyTorch. On a GPU.")
    ] = "report",
    quick: Annotated[bool, typer.Option("--quick", help="As short as in a search.")] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write the verdict's receipt here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Judge a kernel: right or wrong, and how fast. Exit code 0 only if it is right."""
    request = api.CheckRequest(
        task,
        kernel,
        target=target,
        entry=entry,
        workspace_bytes=workspace_bytes,
        policy=Policy(isolation=isolation, library_calls=library_calls),
        effort="search" if quick else "final",
        receipt=receipt,
        place=api.Place(execution, ray_address),
    )
    with interruptible("no verdict was reached"), Screen(ERRORS) as screen:
        summary = api.check(request, replace(suppliers_of(context), listener=screen))
    if json:
        print(summary.model_dump_json(indent=2))
    else:
        _show(summary)
    raise typer.Exit(0 if summary.right else 1)


def _show(summary: api.CheckSummary) -> None:
    OUTPUT.print(verdict_line(summary))
    OUTPUT.print(f"task              {escape(summary.task)} on {escape(summary.target.name)}, {escape(summary.device)}")
    for line in (work_line(summary), *figure_lines(summary)):
        if line:
            OUTPUT.print(line)
    for case in summary.errors:
        OUTPUT.print(f"case              {escape(case.regime)}: error {case.error:.3g}, allowed {case.allowed:.3g}")
