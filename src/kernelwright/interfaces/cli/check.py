"""`kernelwright check | profile TASK KERNEL`: judge a kernel that a person wrote, and say where its time goes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import OUTPUT, print_result, watched
from kernelwright.interfaces.cli.options import (
    Entry,
    Execution,
    Isolation,
    KernelFile,
    KernelTarget,
    Numerics,
    Quick,
    RayAddress,
    TaskFile,
    Weights,
    WorkspaceBytes,
)
from kernelwright.interfaces.cli.words import (
    figure_lines,
    how_line,
    plain,
    state_line,
    verdict_line,
    weights_line,
    work_line,
    workload_lines,
)

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


LibraryCalls = Annotated[
    Literal["report", "forbid"], typer.Option(help="forbid: refuse what leaves the work to PyTorch.")
]
StateKind = Annotated[
    Literal["compare", "ignore"],
    typer.Option(help="ignore: buffers that forward writes to, such as running statistics, need not be updated."),
]


Emit = Annotated[
    Literal["flashinfer-trace", "sol"] | None,
    typer.Option(help="Write the verdict as traces of another benchmark too: FlashInfer-Bench or SOL-ExecBench."),
]


def check(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: TaskFile,
    kernel: KernelFile,
    target: KernelTarget = None,
    entry: Entry = None,
    workspace_bytes: WorkspaceBytes = 0,
    isolation: Isolation = "auto",
    numerics: Numerics = "as-is",
    execution: Execution = None,
    ray_address: RayAddress = None,
    library_calls: LibraryCalls = "report",
    weights: Weights = "fresh",
    state: StateKind = "compare",
    quick: Quick = False,
    receipt: Annotated[Path | None, typer.Option(help="Write the verdict's receipt to this file.")] = None,
    emit: Emit = None,
    emit_into: Annotated[Path, typer.Option(help="The folder for what --emit writes.")] = Path("traces"),
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Judge a kernel: is it right, and how fast is it?

    Exit code 0: it is right. 1: it is wrong, or was only compiled. A `.cu` kernel needs NVRTC: pip install
    'kernelwright[cuda]'.
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
        emit=emit,
        emit_into=emit_into,
        place=api.place_of(execution or "local", ray_address),
    )
    if receipt is not None:
        api.must_be_writable(receipt, "--receipt")
    with watched(context, "no verdict was reached") as suppliers:
        summary = api.check(request, suppliers)
    print_result(summary, json, _show)
    raise typer.Exit(0 if summary.right else 1)


def _show(summary: "api.CheckSummary") -> None:
    _show_head(summary)
    for line in (
        how_line(summary),
        work_line(summary),
        weights_line(summary),
        state_line(summary),
        *figure_lines(summary),
        *map(escape, workload_lines(summary)),
    ):
        if line:
            OUTPUT.print(line)
    if summary.numerics is not None:
        OUTPUT.print(f"numerics          {escape(plain(summary.numerics.words))}")
    if summary.untraced:
        OUTPUT.print(f"graph             none, which is weaker: {escape(summary.untraced)}")
    for case in summary.errors:
        OUTPUT.print(f"case              {escape(case.named)}: error {case.error:.3g}, allowed {case.allowed:.3g}")


def _show_head(summary: "api.CheckSummary") -> None:
    OUTPUT.print(verdict_line(summary))
    OUTPUT.print(f"task              {escape(summary.task)} on {escape(summary.target.name)}, {escape(summary.device)}")


def profile(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    task: TaskFile,
    kernel: KernelFile,
    target: KernelTarget = None,
    entry: Entry = None,
    workspace_bytes: WorkspaceBytes = 0,
    isolation: Isolation = "auto",
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
    print_result(summary, json, _show_profile)
    raise typer.Exit(0 if summary.right else 1)


def _show_profile(summary: "api.ProfileSummary") -> None:
    found = summary.profile
    _show_head(summary)
    for line in figure_lines(summary):
        OUTPUT.print(line)
    OUTPUT.print(f"profile           from {TIERS[found.tier]}; {_ceilings(found.ceilings)}")
    for note in found.notes:
        OUTPUT.print(f"note              {escape(plain(note))}")
    for line in _columns(found.kernels) if found.kernels else ():
        OUTPUT.print(escape(line))
    for line in summary.statement.words.splitlines():
        OUTPUT.print(escape(plain(line)))


def _ceilings(found: "Ceilings") -> str:
    ceilings = [
        (found.read_gbps, "read {:.0f} GB/s"),
        (found.copy_gbps, "copy {:.0f} GB/s"),
        (found.fp32_tflops, "fp32 {:.0f}"),
        (found.tf32_tflops, "tf32 {:.0f}"),
        (found.bf16_tflops, "bf16 {:.0f} TFLOP/s"),
        (found.launch_us, "launch {:.1f} us"),
    ]
    known = ", ".join(words.format(value) for value, words in ceilings if value is not None)
    return f"{found.origin} ceilings: {known or 'none'}"


def _columns(kernels: "Sequence[KernelProfile]") -> list[str]:
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
