"""How figures are put into one line of text."""

from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelwright.api import CheckSummary, Figures
    from kernelwright.records.measure import Ratio, Verdict, Versus

_NAMES = {
    "eager": "eager",
    "compile": "torch.compile",
    "compile_max": "max-autotune",
    "graph": "CUDA graph",
    "freeze": "torch.compile with constant weights",
}


def plain(text: str) -> str:
    """`text` without anything that moves a cursor or reorders a line: logs and names are untrusted."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def flat(text: str) -> str:
    """The same on one line: what is within a line of ours must not begin one."""
    return " ".join(plain(text).split("\n"))


def speedups(versus: "Sequence[Versus]") -> str:
    """Such as `2.91x eager, 1.02x torch.compile`."""
    return ", ".join(f"{times(v.speedup)} {_NAMES[v.baseline]}" for v in versus)


def times(found: "Ratio") -> str:
    """Such as `2.91x`; of an interval too wide to claim a figure, the interval: `0.36x to 11.10x`."""
    return f"{found.low:.2f}x to {found.high:.2f}x" if found.blurred else f"{found.median:.2f}x"


def short(versus: "Sequence[Versus]") -> str:
    """The same where there is little room: `2.91x eager, 1.02x compile`."""
    return speedups(versus).replace("torch.compile", "compile")


def gain(versus: "Sequence[Versus]") -> str:
    """Such as `: 2.91x eager (2.85 to 2.98), 1.02x torch.compile (0.99 to 1.04)`; empty for what was not timed."""
    ends = (f" ({v.speedup.low:.2f} to {v.speedup.high:.2f})" if not v.speedup.blurred else "" for v in versus)
    told = (f"{speedups([v])}{interval}" for v, interval in zip(versus, ends, strict=True))
    return f": {', '.join(told)}" if versus else ""


def duration(seconds: float) -> str:
    """A time still to come, as exact as it deserves: `40 s`, `12 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def ratio(found: "Ratio | None", verdict: "Verdict | None") -> str:
    """Such as `2.91x (2.85 to 2.98, faster)`; a dash where there is no figure."""
    if found is None:
        return "-"
    if found.blurred and found.beyond_one:
        return f"{'faster' if found.low > 1 else 'slower'}, by how much is uncertain ({times(found)})"
    if found.blurred:
        return f"no figure can be claimed ({times(found)})"
    return f"{found.median:.2f}x ({found.low:.2f} to {found.high:.2f}, {verdict})"


def verdict_line(summary: "CheckSummary") -> str:
    """Such as `incorrect: expected 1.5, got -1.5`, as rich's markup."""
    style = "green" if summary.right else "red"
    reason = f": {escape(flat(summary.reason))}" if summary.reason else ""
    return f"[bold {style}]{summary.outcome}[/]{reason}"


def how_line(summary: "CheckSummary") -> str:
    """On what a kernel was judged that was not timed; empty where it was."""
    if not summary.how:
        return ""
    never = "" if summary.target.present else f"it never ran on {escape(summary.target.name)}; "
    return f"judged            by {escape(flat(summary.how))}; {never}no time is claimed"


def work_line(summary: "CheckSummary") -> str:
    """Who does the work, such as `2 kernels of its own`; empty where nobody could tell."""
    count, share = summary.own_kernels, summary.own_share
    parts = [] if count is None else [f"{count} {'kernel' if count == 1 else 'kernels'} of its own"]
    parts = ["0 kernels of its own; PyTorch does it all"] if count == 0 else parts
    parts += [] if share is None else [f"{1 - share:.0%} of the device's time is spent elsewhere"]
    library = summary.library_share
    parts += [] if library is None else [f"{library:.0%} of its time is PyTorch's own operators'"]
    return f"work              {', '.join(parts)}" if parts else ""


def weights_line(summary: "CheckSummary") -> str:
    """Which parameters it was judged with, and what is weaker for it; empty where every call had its own."""
    if summary.weights == "fresh":
        return ""
    weaker = ", as both models were built: it could not be given others" if summary.weights == "construction" else ""
    return f"weights           constant{weaker}"


def state_line(summary: "CheckSummary") -> str:
    """What the reference's forward changes and the verdict says nothing of; empty where there is no such thing."""
    return f"state             not compared: {', '.join(summary.ignored)}" if summary.ignored else ""


def figure_lines(figures: "Figures") -> list[str]:
    """Latency and both comparisons, a line each; nothing for a kernel that was not timed."""
    if figures.latency_us is None:
        return []
    lines = [
        f"latency           {figures.latency_us:.2f} us",
        f"vs eager          {ratio(figures.speedup_eager, figures.verdict)}",
        f"vs torch.compile  {ratio(figures.speedup_compile, figures.verdict_compile)}",
    ]
    if figures.speedup_freeze is not None:
        lines.append(f"  … folding       {ratio(figures.speedup_freeze, figures.verdict_freeze)}")
    if figures.load is not None and figures.load.busy:
        lines.append(f"busy machine      {figures.load.words}; the figures are doubtful")
    if figures.process_spread:
        lines.append(
            f"processes         of one program differ by up to {figures.process_spread:.0%} here; no verdict tells less"
        )
    if figures.roofline is not None:
        lines.append(f"bandwidth         {figures.roofline:.0%} of what this device was measured to reach")
    return lines
