"""`kernelwright check TASK KERNEL`: judge a kernel that a person wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, watched
from kernelwright.interfaces.cli.words import (
    figure_lines,
    how_line,
    plain,
    state_line,
    verdict_line,
    weights_line,
    work_line,
)

if TYPE_CHECKING:
    from kernelwright import api


Isolation = Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse to judge in a weakened sandbox.")]
Numerics = Annotated[
    Literal["as-is", "strict"], typer.Option(help="PyTorch's precision flags: its defaults, or fp32 without TF32.")
]
Execution = Annotated[
    Literal["local", "ray"], typer.Option(help="Where to judge the kernel: on this machine or on a Ray cluster.")
]
RayAddress = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster's head. Default: RAY_ADDRESS, or a new cluster here.")
]
LibraryCalls = Annotated[
    Literal["report", "forbid"], typer.Option(help="forbid: refuse what leaves the work to PyTorch.")
]
WeightsKind = Annotated[
    Literal["fresh", "constant"],
    typer.Option(help="constant: parameters stay, as in inference, and may be packed. fresh: as in training."),
]
StateKind = Annotated[
    Literal["compare", "ignore"],
    typer.Option(help="ignore: buffers that forward writes to, such as running statistics, need not be updated."),
]


def check(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: Annotated[
        Path, typer.Argument(metavar="TASK", help="The task: a file with Model and get_inputs.", show_default=False)
    ],
    kernel: Annotated[Path, typer.Argument(metavar="KERNEL", help="The kernel: a {endings} file.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Option(help="{targets}. Default: follows from the kernel's language."),
    ] = None,
    entry: Annotated[
        str | None, typer.Option(help="Name of the kernel's function. Default: the only one in the file.")
    ] = None,
    workspace_bytes: Annotated[int, typer.Option(min=0, help="Bytes of scratch memory that the kernel gets.")] = 0,
    isolation: Isolation = "auto",
    numerics: Numerics = "as-is",
    execution: Execution = "local",
    ray_address: RayAddress = None,
    library_calls: LibraryCalls = "report",
    weights: WeightsKind = "fresh",
    state: StateKind = "compare",
    quick: Annotated[bool, typer.Option("--quick", help="Measure only as long as a search does.")] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write the verdict's receipt to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Judge a kernel: is it right, and how fast is it?

    Exit code 0: it is right. 1: it is wrong, or was only compiled.
    """
    from kernelwright import api
    from kernelwright.records.policy import Policy

    request = api.CheckRequest(
        task,
        kernel,
        target=target,
        entry=entry,
        workspace_bytes=workspace_bytes,
        policy=Policy(
            isolation=isolation,
            numerics=numerics,
            library_calls=library_calls,
            weights=weights,
            state=state,
            unmatched="construction",
        ),
        effort="search" if quick else "final",
        receipt=receipt,
        place=api.Place(execution, ray_address),
    )
    if receipt is not None:
        api.must_be_writable(receipt, "--receipt")
    with watched(context, "no verdict was reached") as suppliers:
        summary = api.check(request, suppliers)
    if json:
        print(summary.model_dump_json(indent=2))
    else:
        _show(summary)
    raise typer.Exit(0 if summary.right else 1)


def _show(summary: "api.CheckSummary") -> None:
    OUTPUT.print(verdict_line(summary))
    OUTPUT.print(f"task              {escape(summary.task)} on {escape(summary.target.name)}, {escape(summary.device)}")
    for line in (
        how_line(summary),
        work_line(summary),
        weights_line(summary),
        state_line(summary),
        *figure_lines(summary),
    ):
        if line:
            OUTPUT.print(line)
    if summary.numerics is not None:
        OUTPUT.print(f"numerics          {escape(plain(summary.numerics.words))}")
    for case in summary.errors:
        OUTPUT.print(f"case              {escape(case.named)}: error {case.error:.3g}, allowed {case.allowed:.3g}")
