"""What limits a kernel, from a profile of any tier, a measurement, or both: findings ranked by what a fix could save.

Where the facts are silent there is no finding, and the word is `unknown`, never a guess. Pure: the same records give
the same statement anywhere.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kernelwright.feedback import call_limits, kernel_limits
from kernelwright.feedback.call_limits import Evidence
from kernelwright.records.answer import of_reachable
from kernelwright.records.evaluation import Measured
from kernelwright.records.feedback import Bottleneck, Finding, Statement
from kernelwright.records.profile import Profile

ASSUMED_GAIN = 0.1
"""Where a finding without a gain stands among the others."""
SYMPTOM = 0.5
"""Waiting is a symptom: a cause that could give this much of what it could give stands before it."""
LEAST_GAIN = 0.02
"""A finding that could give less of the call's time is kept only if it is the first: it explains, and helps nobody."""
MOST = 5
"""Findings in a statement: a reader acts on the first ones."""
NEARLY_ALL = 0.95
"""A gain of more than this says nothing: something else is wrong with the kernel or its time."""
WAITING: tuple[Bottleneck, ...] = ("tail", "occupancy", "latency")
"""Classes that cannot hold back a kernel that is at a ceiling; nor can what nobody has seen cost anything there."""
UNKNOWN = "No single limit stands out."


class Limit(NamedTuple):
    """What limits a kernel, and the evidence in words."""

    bottleneck: Bottleneck
    evidence: str


def diagnose(profile: Profile | None, measured: Measured | None = None) -> Statement:
    """Everything that holds a kernel back, the most to gain first.

    Args:
        profile: of any tier; None: only what the measurement tells.
        measured: the referee's time, roofline and build facts, where it was timed.
    """
    evidence = Evidence(profile, measured)
    ranked = sorted(_drop_weaker(list(_of_call(evidence)), list(_of_kernels(evidence))), key=_rank, reverse=True)
    kept = tuple(f for i, f in enumerate(ranked) if i == 0 or f.gain is None or f.gain >= LEAST_GAIN)[:MOST]
    return Statement(findings=kept, words=_words(evidence, kept))


def bottleneck(found: Measured, profile: Profile | None = None) -> Limit:
    """The most likely limit of a measured kernel, in one word and one sentence."""
    statement = diagnose(profile, found)
    if statement.findings:
        return Limit(statement.bottleneck, statement.findings[0].evidence)
    roof = found.roofline
    bandwidth = f"{roof.achieved_gbps:.3g} of {roof.ceiling_gbps:.3g} GB/s"
    return Limit(
        "unknown",
        f"It reaches {of_reachable(roof.fraction)} the measured bandwidth ({bandwidth}); no single limit stands out.",
    )


def _of_call(evidence: Evidence) -> Iterator[Finding]:
    for rule in (call_limits.memory, call_limits.compute, call_limits.launch, call_limits.latency):
        found = rule(evidence)
        if found is not None:
            yield found


def _of_kernels(evidence: Evidence) -> Iterator[Finding]:
    for kernel in evidence.watched:
        found = [f for rule in kernel_limits.RULES if (f := rule(kernel, evidence.ceilings)) is not None]
        explained = sum(f.gain or 0.0 for f in found)
        waiting = kernel_limits.latency(kernel, evidence.ceilings, explained)
        for finding in (*found, *([waiting] if waiting is not None else [])):
            gain = None if finding.gain is None else min(1.0, finding.gain) * evidence.weight(kernel)
            if not (_at_a_ceiling(evidence) and (gain is None or finding.bottleneck in WAITING)):
                yield finding.model_copy(update={"gain": gain})


def _at_a_ceiling(evidence: Evidence) -> bool:
    """Without counters, the roofline says whether there is anything to wait for less."""
    return not evidence.counted and (evidence.reached or 0.0) >= call_limits.NEAR_CEILING


def _drop_weaker(call: list[Finding], kernels: list[Finding]) -> list[Finding]:
    """A class is told of the call or of its kernels, whichever could give more; never of both."""
    kept = [*call, *kernels]
    for name in {f.bottleneck for f in call} & {f.bottleneck for f in kernels}:
        of_call, of_kernels = ([f for f in part if f.bottleneck == name] for part in (call, kernels))
        weaker = of_call if max(map(_rank, of_call)) <= sum(map(_rank, of_kernels)) else of_kernels
        kept = [f for f in kept if f not in weaker]
    return kept


def _rank(finding: Finding) -> float:
    gain = ASSUMED_GAIN if finding.gain is None else finding.gain
    return SYMPTOM * gain if finding.bottleneck == "latency" else gain


def _words(evidence: Evidence, findings: tuple[Finding, ...]) -> str:
    """One line a finding, for a model or a person to read."""
    lines = [_finding_line(number, finding) for number, finding in enumerate(findings, start=1)]
    return "\n".join([*_own_share_line(evidence), *(lines or [UNKNOWN])])


def _finding_line(number: int, finding: Finding) -> str:
    sure = finding.gain is not None and finding.gain < NEARLY_ALL
    gain = f" (at most {finding.gain:.0%} of the time)" if sure else ""
    where = f" [{finding.kernel}]" if finding.kernel else ""
    return f"{number}. {finding.evidence}{where}{gain} {finding.suggestion}"


def _own_share_line(evidence: Evidence) -> list[str]:
    share = evidence.profile.own_share if evidence.profile is not None else None
    return [] if share is None or share > 1 - 1e-6 else [f"{share:.0%} of the device time is in its own kernels."]
