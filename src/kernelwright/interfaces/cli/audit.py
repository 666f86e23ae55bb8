"""`kernelwright audit PATH`: kernels that others published, measured here beside what was claimed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, plain_table, watched
from kernelwright.interfaces.cli.options import Isolation, Quick, Target, Weights
from kernelwright.interfaces.cli.words import plain
from kernelwright.records.answer import compared

if TYPE_CHECKING:
    from kernelwright import api
    from kernelwright.records.published import AuditedKernel

WIDTH = 72


def audit(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A JSONL file or a directory of published kernels; the page audit.md has every form.",
            show_default=False,
        ),
    ],
    tasks: Annotated[
        Path | None, typer.Option(help="Where the tasks are, if PATH only refers to them: a KernelBench checkout.")
    ] = None,
    target: Target = None,
    out: Annotated[
        Path,
        typer.Option(help="Folder of the page, the JSON and the verdicts. What it has already is not judged again."),
    ] = Path("audit"),
    weights: Weights = "constant",
    quick: Quick = False,
    limit_s: Annotated[float, typer.Option(min=1, help="Seconds that one kernel may take.")] = 600.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Judge every kernel again.")] = False,
    isolation: Isolation = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON.")] = False,
) -> None:
    """Judge kernels that were published: what was claimed beside what is measured.

    Exit code 0: the audit is complete, whatever it found.
    """
    from kernelwright import api

    request = api.AuditRequest(
        path,
        tasks,
        target,
        api.PUBLISHED.model_copy(update={"weights": weights, "isolation": isolation}),
        "search" if quick else "final",
        out,
        limit_s=limit_s,
        fresh=fresh,
    )
    with watched(context, "run the same command to continue") as suppliers:
        found = api.audit(request, suppliers)
    if json:
        print(found.audit.model_dump_json(indent=1))
    else:
        _show(found)


def _show(found: "api.AuditResult") -> None:
    table = plain_table("kernel", "claimed", "against eager", "against torch.compile", "why no time")
    for kernel in found.audit.kernels:
        table.add_row(*(escape(plain(cell)) for cell in _cells(kernel)))
    OUTPUT.print(table)
    for reason, count in found.audit.summary.reasons.items():
        OUTPUT.print(f"{count:>4} {escape(plain(reason))}")
    OUTPUT.print(f"[bold]{escape(found.audit.summary.sentence)}[/]")
    OUTPUT.print(f"page {escape(str(found.page))}")
    OUTPUT.print(f"json {escape(str(found.json))}")


def _cells(kernel: "AuditedKernel") -> tuple[str, ...]:
    claimed = kernel.published.claimed
    versus = [kernel.against(name) for name in ("eager", "compile")]
    against = [compared(v.speedup, v.verdict) if v else "-" for v in versus]
    why = kernel.reason or ("weights of construction" if kernel.weights == "construction" else "")
    return kernel.published.name[:WIDTH], f"{claimed:.2f}x" if claimed else "-", *against, why
