"""How figures are put into one line of text."""

from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:
    from kernelwright.api import CheckSummary, Figures


def plain(text: str) -> str:
    """`text` without anything that moves a cursor or reorders a line: logs and names are untrusted."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def flat(text: str) -> str:
    """The same on one line: what is within a line of ours must not begin one."""
    return " ".join(plain(text).split("\n"))


def duration(seconds: float) -> str:
    """A time still to come, as exact as it deserves: `40 s`, `12 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


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


def workload_lines(figures: "Figures") -> list[str]:
    """A line for each workload, the protected and the worst first, and one for the sizes that were drawn."""
    from kernelwright.records.answer import compared

    slower = any(row.protected and row.verdict == "slower" for row in figures.workloads)
    whole = "the slowest protected one" if slower else "their geometric mean by weight"
    lines = [f"workloads         above is {whole}"] if figures.verdict and figures.workloads else []
    drawn = [row for row in figures.workloads if row.drawn]
    for row in figures.workloads:
        words = ", ".join(f"{name}={size}" for name, size in row.axes.items()) or row.name
        if not row.drawn:
            kind = ", protected" if row.protected else ""
            told = compared(row.speedup_eager, row.verdict) if row.verdict else row.outcome
            lines.append(f"workload          {words} (weight {row.weight:g}{kind}): {told}")
    if drawn:
        judged = sum(row.outcome in ("measured", "verified") for row in drawn)
        lines.append(f"drawn sizes       right at {judged} of {sum(1 for row in drawn if row.outcome)} beside them")
    return lines


def figure_lines(figures: "Figures") -> list[str]:
    """Latency and both comparisons, a line each; nothing for a kernel that was not timed."""
    from kernelwright.records.answer import compared, of_reachable

    if figures.latency_us is None:
        return []
    why = figures.missing
    lines = [
        f"latency           {figures.latency_us:.2f} us",
        f"vs eager          {compared(figures.speedup_eager, figures.verdict, why.get('eager', ''))}",
        f"vs torch.compile  {compared(figures.speedup_compile, figures.verdict_compile, why.get('compile', ''))}",
    ]
    if figures.speedup_freeze is not None:
        lines.append(f"  … folding       {compared(figures.speedup_freeze, figures.verdict_freeze)}")
    if figures.load is not None and figures.load.busy:
        lines.append(f"busy machine      {figures.load.words}; the figures are doubtful")
    if figures.process_spread:
        lines.append(
            f"processes         of one program differ by up to {figures.process_spread:.0%} here; no verdict tells less"
        )
    if figures.roofline is not None:
        lines.append(f"bandwidth         {of_reachable(figures.roofline)} what this device was measured to reach")
    return lines
