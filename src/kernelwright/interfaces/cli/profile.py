"""`kernelwright profile TASK KERNEL`: where a kernel's time goes, and what holds it back."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS, OUTPUT, suppliers_of
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen
from kernelwright.interfaces.cli.words import figure_lines, plain
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, KernelProfile, Profile

COLUMNS = (
    "kernel",
    "launches",
    "us",
    "share",
    "own",
    "registers",
    "spilled",
    "warps",
    "memory",
    "fp32",
    "tensor",
    "waves",
)
TIERS = {
    "counters": "hardware counters",
    "trace": "a trace of the launches",
    "compiler": "the compiler's own facts",
}
LONGEST_NAME = 48


def profile(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: Annotated[Path, typer.Argument(help="A file with Model and get_inputs.", show_default=False)],
    kernel: Annotated[Path, typer.Argument(help="A .cpp or .py file.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(help="cpu, cuda, or sm_80 … sm_120. Default: by the kernel's language.")
    ] = None,
    entry: Annotated[str | None, typer.Option(help="The kernel's function. Default: the only one.")] = None,
    workspace_bytes: Annotated[int, typer.Option(min=0, help="Workspace that the kernel gets.")] = 0,
    isolation: Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse a weaker sandbox.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say where a kernel's time goes, and what holds it back. Exit code 0 only if the kernel is right."""
    request = api.ProfileRequest(
        task, kernel, target=target, entry=entry, workspace_bytes=workspace_bytes, policy=Policy(isolation=isolation)
    )
    with interruptible("nothing was profiled"), Screen(ERRORS) as screen:
        summary = api.profile(request, replace(suppliers_of(context), listener=screen))
    if json:
        print(summary.model_dump_json(indent=2))
    else:
        _show(summary)
    raise typer.Exit(0 if summary.right else 1)


def _show(summary: api.ProfileSummary) -> None:
    style, found = "green" if summary.right else "red", summary.profile
    OUTPUT.print(f"[bold {style}]{summary.outcome}[/] {escape(plain(summary.reason))}".rstrip())
    OUTPUT.print(f"task              {escape(summary.task)} on {escape(summary.target.name)}, {escape(summary.device)}")
    for line in figure_lines(summary):
        OUTPUT.print(line)
    OUTPUT.print(f"profile           from {TIERS[found.tier]}; {_ceilings(found.ceilings)}")
    for note in found.notes:
        OUTPUT.print(f"note              {escape(plain(note))}")
    if found.kernels:
        OUTPUT.print(_table(found))
    for line in summary.statement.words.splitlines():
        OUTPUT.print(escape(plain(line)))


def _ceilings(found: Ceilings) -> str:
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


def _table(found: Profile) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "kernel" else "right", no_wrap=True)
    for kernel in found.kernels:
        table.add_row(*_row(kernel))
    return table


def _row(kernel: KernelProfile) -> tuple[str, ...]:
    seen = kernel.counters
    warps = f"{_percent(kernel.occupancy_achieved)}/{_percent(kernel.occupancy_theoretical)}"
    owner = {True: "yes", False: "no", None: "-"}[kernel.own]
    return (
        escape(plain(kernel.name)[:LONGEST_NAME]),
        _number(kernel.launches, 0),
        _number(kernel.duration_us, 1),
        _percent(kernel.share),
        owner,
        _number(kernel.registers, 0),
        _number(kernel.spill_bytes, 0),
        warps,
        _percent(seen.dram_share),
        _percent(seen.fma_share),
        _percent(seen.tensor_share),
        _number(kernel.waves, 2),
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
