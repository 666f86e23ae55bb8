"""How figures are put into one line of text."""

from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelwright.api import CheckSummary, Figures
    from kernelwright.records.measure import Ratio, Verdict, Versus

_NAMES = {"eager": "eager", "compile": "torch.compile", "compile_max": "max-autotune", "graph": "CUDA graph"}


def plain(text: str) -> str:
    """`text` without anything that moves a cursor or reorders a line: logs and names are untrusted."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def speedups(versus: "Sequence[Versus]") -> str:
    """Such as `2.91x eager, 1.02x torch.compile`."""
    return ", ".join(f"{times(v.speedup)} {_NAMES[v.baseline]}" for v in versus)


def times(found: "Ratio") -> str:
    """Such as `2.91x`; of an interval too wide to claim a figure, the interval: `0.36x to 11.10x`."""
    return f"{found.low:.2f}x to {found.high:.2f}x" if found.blurred else f"{found.median:.2f}x"


def sure(versus: "Sequence[Versus]") -> str:
    """Such as `: at least 2.45x eager`, by which a best is chosen; empty for what was not timed."""
    low = next((v.speedup.low for v in versus if v.baseline == "eager"), None)
    return f": at least {low:.2f}x eager" if low is not None else ""


def ratio(found: "Ratio | None", verdict: "Verdict | None") -> str:
    """Such as `2.91x (2.85 to 2.98, faster)`; a dash where there is no figure."""
    if found is None:
        return "-"
    if found.blurred:
        return f"no figure can be claimed ({times(found)})"
    return f"{found.median:.2f}x ({found.low:.2f} to {found.high:.2f}, {verdict})"


def verdict_line(summary: "CheckSummary") -> str:
    """Such as `incorrect: expected 1.5, got -1.5`, as rich's markup."""
    style = "green" if summary.right else "red"
    reason = f": {escape(plain(summary.reason))}" if summary.reason else ""
    return f"[bold {style}]{summary.outcome}[/]{reason}"


def work_line(summary: "CheckSummary") -> str:
    """Who does the work, such as `2 kernels of its own`; empty where nobody could tell."""
    count, share = summary.own_kernels, summary.own_share
    if count == 0:
        return "work              0 kernels of its own; PyTorch does it all"
    parts = [] if count is None else [f"{count} {'kernel' if count == 1 else 'kernels'} of its own"]
    parts += [] if share is None else [f"{1 - share:.0%} of the device's time is spent elsewhere"]
    return f"work              {', '.join(parts)}" if parts else ""


def figure_lines(figures: "Figures") -> list[str]:
    """Latency and both comparisons, a line each; nothing for a kernel that was not timed."""
    if figures.latency_us is None:
        return []
    lines = [
        f"latency           {figures.latency_us:.2f} us",
        f"vs eager          {ratio(figures.speedup_eager, figures.verdict)}",
        f"vs torch.compile  {ratio(figures.speedup_compile, figures.verdict_compile)}",
    ]
    if figures.load is not None and figures.load.busy:
        lines.append(f"busy machine      {figures.load.words}; the figures are doubtful")
    if figures.roofline is not None:
        lines.append(f"bandwidth         {figures.roofline:.0%} of what this device was measured to reach")
    return lines
