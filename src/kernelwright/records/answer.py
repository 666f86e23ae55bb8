"""The answer: what may be said of a result, in one word and in few. Every screen, page, prompt and JSON asks here.

A figure is told where its interval is narrow enough, the interval where it is not, and neither where it is so wide that it
tells of noise alone. How a kernel stands at the end of a run is decided on top of this, in `report/headline.py`.
"""

import math
from collections.abc import Sequence
from typing import Literal

from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Suspect, Verified
from kernelwright.records.measure import BaselineName, Load, Ratio, Timing, Verdict, Versus

AnswerWord = Literal[
    "faster", "even", "slower", "uncertain", "disturbed", "untimed", "verified", "compiled", "wrong", "nothing"
]
"""`faster`, `slower`: surely, also where by how much is not known · `even`: no difference can be told · `uncertain`: nothing
can be said · `disturbed`: nothing, because of other work on the machine · `untimed`: right, and compared with nothing ·
`verified`: right, with no clock beside it · `compiled`: not run · `wrong`: not right · `nothing`: there is no kernel."""

BRIEF: dict[AnswerWord, str] = {
    "disturbed": "disturbed, measure it again",
    "untimed": "right, not timed",
    "verified": "verified, not timed",
    "compiled": "compiled, not run",
    "nothing": "nothing right",
}
"""Where there is no comparison to be shown."""

NAME: dict[BaselineName, str] = {
    "eager": "eager",
    "compile": "torch.compile",
    "compile_max": "max-autotune",
    "freeze": "torch.compile with constant weights",
    "graph": "CUDA graph",
}
"""Baselines in few letters."""
FULL_NAME: dict[BaselineName, str] = {
    "eager": "eager PyTorch",
    "compile": "torch.compile",
    "compile_max": "torch.compile (max-autotune)",
    "freeze": "torch.compile (weights as constants)",
    "graph": "a CUDA graph of eager",
}
NO_FIGURE = "too uncertain for a figure"


def answer_of(evaluation: Evaluation) -> AnswerWord:
    """How a kernel stands beside eager PyTorch."""
    match evaluation:
        case Measured(timing=timing):
            eager = timing.against("eager")
            found = word(eager.speedup, eager.verdict) if eager else "untimed"
            return "disturbed" if found == "uncertain" and busy(evaluation) else found
        case Suspect(because="clock_disagrees" | "batched", load=load) if load is not None:
            return "disturbed"
        case Verified():
            return "verified"
        case Compiled():
            return "compiled"
    return "wrong"


def busy(evaluation: Evaluation) -> Load | None:
    """What the machine did beside the timing, where that makes its figures doubtful."""
    load = evaluation.timing.load if isinstance(evaluation, Measured) else None
    return load if load is not None and load.busy else None


def word(ratio: Ratio, verdict: Verdict) -> Literal["faster", "even", "slower", "uncertain", "disturbed"]:
    """One comparison in a word. The verdict knows more than the interval, and nothing is claimed against the interval."""
    if verdict == "disturbed":
        return verdict
    if verdict != "inconclusive" and not ratio.low <= 1 <= ratio.high:
        return verdict
    return "uncertain" if ratio.blurred else "even"


def uncounted(ratio: Ratio) -> str:
    """Why an interval beside one tells no difference: from which on one counts; empty where that is not why."""
    beside, small = not ratio.low <= 1 <= ratio.high, max(ratio.median, 1 / ratio.median) <= 1 + ratio.least
    return f"a difference counts from {100 * ratio.least:.2g} % on here" if beside and small else ""


def worth(evaluation: Evaluation, least: float) -> bool:
    """Whether a kernel is surely faster than eager by more than `least`; 0 takes every kernel.

    A wide interval says little of how much faster a kernel is, and as much as a narrow one of whether it is. What no clock
    compared with eager is not held back.
    """
    eager = evaluation.timing.against("eager") if isinstance(evaluation, Measured) else None
    if least == 0 or eager is None:
        return True
    return eager.speedup.low > least and (least < 1 or word(eager.speedup, eager.verdict) == "faster")


def why_missing(timing: Timing) -> dict[str, str]:
    """Baselines that were asked for and could not be made, each with the reason."""
    return {name: why for name, _, why in (each.partition(": ") for each in timing.missing)}


def compared(ratio: Ratio | None, verdict: Verdict | None, why: str = "") -> str:
    """One comparison in a cell of a table, such as `2.91× (2.85 to 2.98), faster`; `why` it was left out, if it was."""
    if verdict is None:
        return f"not compared: {why}" if why else "not compared"
    if verdict == "disturbed":
        return BRIEF[verdict]
    if ratio is None or ratio.wild:
        return NO_FIGURE
    found, interval = word(ratio, verdict), f"({bare(ratio.low)} to {bare(ratio.high)})"
    if ratio.blurred:
        return f"uncertain {interval}" if found == "uncertain" else f"{found}, by how much is uncertain {interval}"
    why = uncounted(ratio) if found == "even" else ""
    return f"{times(ratio.median)} {interval}, {found}" + (f": {why}" if why else "")


def sentence(versus: Versus) -> str:
    """One comparison as a sentence that claims no more than its verdict."""
    name, ratio, found = FULL_NAME[versus.baseline], versus.speedup, word(versus.speedup, versus.verdict)
    interval = f"{100 * ratio.confidence:.0f} % interval {times(ratio.low)} to {times(ratio.high)}"
    if found == "disturbed":
        return f"No figure against {name} can be claimed: other work on this machine disturbed its clock. Measure it again."
    how = "its interval is as wide as that of noise" if ratio.wild else f"{interval}, which is too wide for a figure"
    if found == "uncertain":
        return f"No figure against {name} can be claimed: {how}."
    if ratio.blurred:
        return f"{found.capitalize()} than {name}; by how much is uncertain: {how}."
    if found == "even":
        why = "; ".join(filter(None, (interval, uncounted(ratio))))
        return f"Neither faster nor slower than {name} can be claimed: {times(ratio.median)}, {why}."
    return f"{found.capitalize()} than {name}: {times(ratio.median)}, {interval}."


def figure(ratio: Ratio) -> str:
    """The median; of an interval too wide to claim one, the interval: `0.36× to 11.1×`; of noise, that it is too wide."""
    if ratio.wild:
        return NO_FIGURE
    return f"{times(ratio.low)} to {times(ratio.high)}" if ratio.blurred else times(ratio.median)


def figures(versus: Sequence[Versus]) -> str:
    """Such as `2.91× eager, 1.02× torch.compile`."""
    return ", ".join(
        f"{NAME[v.baseline]}: {NO_FIGURE}" if v.speedup.wild else f"{figure(v.speedup)} {NAME[v.baseline]}"
        for v in versus
    )


def intervals(versus: Sequence[Versus]) -> str:
    """Such as `2.91× eager (2.85 to 2.98), 1.02× torch.compile (0.99 to 1.04)`, by whose lower ends a search chooses."""
    return ", ".join(
        figures([v]) + ("" if v.speedup.blurred else f" ({bare(v.speedup.low)} to {bare(v.speedup.high)})")
        for v in versus
    )


def of_reachable(share: float) -> str:
    """How much of a measured ceiling was reached, before its name: `62% of`. Where caches gave more, how much is no figure."""
    return f"{share:.0%} of" if share < 1 else "at least"


def times(ratio: float) -> str:
    """A ratio with three significant digits: `3.12×`."""
    return f"{bare(ratio)}×"


def bare(value: float) -> str:
    """A number with three significant digits."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
