"""A verdict of the referee as the rows of a campaign keep it."""

from pathlib import Path

from campaign import Row

from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, is_right
from kernelwright.records.measure import Ratio

HERE = f"{Path(__file__).parents[1]}/"
"""What tracebacks say of one machine alone."""
BOILERPLATE = (
    "CUDA kernel errors might be", "For debugging consider", "Compile with `TORCH_USE_CUDA_DSA`", "Search for `cudaError",
)  # fmt: skip
WHY = 600
"""Characters of a reason: enough to mend a kernel without the device."""


def figures(found: Evaluation) -> Row:
    """The outcome and the seconds of each stage; latency and ratios of a timed kernel, or why there are none."""
    row: Row = {"outcome": found.outcome, "right": is_right(found)}
    row["stages_s"] = {stage: round(seconds, 3) for stage, seconds in found.stage_seconds.items()}
    if isinstance(found, Measured):
        return {**row, **timed(found)}
    return row if is_right(found) else {**row, "why": why(found)}


def timed(found: Measured) -> Row:
    """Latency in microseconds, and for each baseline how many times as fast: [median, low, high, verdict]."""
    ratios = {v.baseline: [*interval(v.speedup), v.verdict] for v in found.timing.versus}
    return {"latency_us": found.timing.latency_us, **ratios}


def interval(ratio: Ratio) -> list[float]:
    """Median, lower and upper end."""
    return [round(value, 4) for value in (ratio.median, ratio.low, ratio.high)]


def why(found: Evaluation) -> str:
    """Why a kernel has no time, in its first words and its last."""
    texts = [getattr(found, name, "") for name in ("because", "case", "stage", "reason", "evidence", "log")]
    words = ": ".join(str(text).strip() for text in texts if text)
    if isinstance(found, Incorrect) and (worst := found.accuracy.worst) is not None:
        words += f" (worst: {worst.distribution}, {worst.error:.2e} where {worst.allowed:.2e} is allowed)"
    return short(words)


def short(text: str) -> str:
    """A reason without what stands in every message of CUDA's, and without this machine's paths."""
    text = "\n".join(line for line in text.replace(HERE, "").splitlines() if not line.startswith(BOILERPLATE))
    return text if len(text) <= WHY else f"{text[: WHY // 2]} … {text[-WHY // 2 :]}"
