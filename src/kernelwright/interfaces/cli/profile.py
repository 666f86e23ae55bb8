"""`kernelwright profile TASK KERNEL`: where a kernel's time goes and what limits it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, watched
from kernelwright.interfaces.cli.words import figure_lines, plain, verdict_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelwright import api
    from kernelwright.records.profile import Ceilings, KernelProfile

TIERS = {
    "counters": "hardware counters",
    "trace": "a trace of the launches",
    "compiler": "the compiler's own facts",
}
LONGEST_NAME = 48
NOTHING = "-"


def profile(  # noqa: PLR0913  a flag is a parameter
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
    isolation: Annotated[
        Literal["auto", "strict"], typer.Option(help="strict: refuse to judge in a weakened sandbox.")
    ] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show where a kernel's time goes and what limits it.

    Exit code 0: the kernel is right. 1: it is wrong, or was only compiled.
    """
    from kernelwright import api
    from kernelwright.records.policy import Policy

    request = api.ProfileRequest(
        task, kernel, target=target, entry=entry, workspace_bytes=workspace_bytes, policy=Policy(isolation=isolation)
    )
    with watched(context, "nothing was profiled") as suppliers:
        summary = api.profile(request, suppliers)
    if json:
        print(summary.model_dump_json(indent=2))
    else:
        _show(summary)
    raise typer.Exit(0 if summary.right else 1)


def _show(summary: "api.ProfileSummary") -> None:
    found = summary.profile
    OUTPUT.print(verdict_line(summary))
    OUTPUT.print(f"task              {escape(summary.task)} on {escape(summary.target.name)}, {escape(summary.device)}")
    for line in figure_lines(summary):
        OUTPUT.print(line)
    OUTPUT.print(f"profile           from {TIERS[found.tier]}; {_ceilings(found.ceilings)}")
    for note in found.notes:
        OUTPUT.print(f"note              {escape(plain(note))}")
    for line in _table(found.kernels) if found.kernels else ():
        OUTPUT.print(escape(line))
    for line in summary.statement.words.splitlines():
        OUTPUT.print(escape(plain(line)))


def _ceilings(found: "Ceilings") -> str:
    known = [
        (found.read_gbps, "read {:.0f} GB/s"),
        (found.copy_gbps, "copy {:.0f} GB/s"),
        (found.fp32_tflops, "fp32 {:.0f}"),
        (found.tf32_tflops, "tf32 {:.0f}"),
        (found.bf16_tflops, "bf16 {:.0f} TFLOP/s"),
        (found.launch_us, "launch {:.1f} us"),
    ]
    told = ", ".join(words.format(value) for value, words in known if value is not None)
    return f"{found.origin} ceilings: {told or 'none'}"


def _table(kernels: "Sequence[KernelProfile]") -> list[str]:
    """Lines of columns, without those that nothing is known of; a terminal of any width shows them whole."""
    rows = [[show(kernel) for show in COLUMNS.values()] for kernel in kernels]
    known = [i for i in range(len(COLUMNS)) if any(row[i] != NOTHING for row in rows)]
    table = [[list(COLUMNS)[i] for i in known], *([row[i] for i in known] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(known))]
    # Names stand to the left, figures to the right.
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0%}"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _warps(kernel: "KernelProfile") -> str:
    """Achieved and possible occupancy."""
    if kernel.occupancy_achieved is None:
        return _percent(kernel.occupancy_theoretical)
    return f"{_percent(kernel.occupancy_achieved)} of {_percent(kernel.occupancy_theoretical)}"


COLUMNS: "dict[str, Callable[[KernelProfile], str]]" = {
    "kernel": lambda k: plain(k.name)[:LONGEST_NAME],
    "launches": lambda k: _number(k.launches, 0),
    "us": lambda k: _number(k.duration_us, 1),
    "share": lambda k: _percent(k.share),
    "own": lambda k: {True: "yes", False: "no", None: NOTHING}[k.own],
    "registers": lambda k: _number(k.registers, 0),
    "shared": lambda k: _number(k.shared_bytes, 0),
    "spilled": lambda k: _number(k.spill_bytes, 0),
    "warps": _warps,
    "memory": lambda k: _percent(k.counters.dram_share),
    "fp32": lambda k: _percent(k.counters.fma_share),
    "tensor": lambda k: _percent(k.counters.tensor_share),
    "waves": lambda k: _number(k.waves, 2),
}
"""What is shown of a kernel, by the column's head."""
