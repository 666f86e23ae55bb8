"""Does a recorded verdict still hold? Compares it, and the circumstances, with what was found here.

It holds if

- the outcome is the same;
- on the seeds of the record, every error is within what is allowed (or wrong again, if it was wrong);
- each speedup follows from the samples that are recorded with it;
- against each baseline the verdict is the same, and on the same device the new interval does not lie more than `DRIFT`
  below the recorded one, nor the recorded median far above the new interval (`_most_above`). On another device a speedup
  is another question, and only its verdict counts.

A device's measured ceilings are answers and do not count as a difference.
"""

import math
from collections.abc import Sequence

from kernelwright.records.across import timed
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, Verified, is_right
from kernelwright.records.measure import BLURRED, UNCLAIMED, Accuracy, BaselineName, Ratio, Timing, Versus
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Change, Claim, Finding, ReplayComparison
from kernelwright.records.run import Environment

DRIFT = 0.1
"""Share of a speedup by which two processes with the same kernel may differ: memory lies elsewhere each time."""
ROUNDING = 1e-9
"""Share by which the same figures may differ between machines."""
Samples = dict[str, list[float]]


def compare(claim: Claim, now: Evaluation, again: Evaluation | None, changed: Sequence[Change]) -> ReplayComparison:
    """The standing of a claim.

    Args:
        claim: What was recorded.
        now: What a final found here.
        again: What was found here on the recorded seeds; None where none were revealed.
        changed: What of the circumstances is different here.
    """
    then = claim.evaluation
    comparable = all(change.name != "device" for change in changed)
    findings = [_outcome(then, now), _accuracy(then, again), *_times(claim, now, comparable)]
    holds = all(finding.holds is not False for finding in findings)
    return ReplayComparison(holds=holds, findings=tuple(findings), changed=tuple(changed), evaluation=now)


def inadmissible(claim: Claim, why: str, changed: Sequence[Change]) -> ReplayComparison:
    """The standing of a claim whose task is not admitted any more."""
    finding = Finding(what="task", then="admitted", now=why, holds=False)
    return ReplayComparison(holds=False, findings=(finding,), changed=tuple(changed), evaluation=None)


def _outcome(then: Evaluation, now: Evaluation) -> Finding:
    before, after = _outcome_text(then), _outcome_text(now)
    return Finding(what="outcome", then=before, now=after, holds=then.outcome == now.outcome)


def _outcome_text(found: Evaluation) -> str:
    return f"{found.outcome} ({found.because})" if isinstance(found, Incorrect) else found.outcome


def _accuracy(then: Evaluation, again: Evaluation | None) -> Finding:
    """On the recorded seeds: the same inputs, so that the figures can be laid beside each other."""
    recorded = _worst(then)
    if again is None:
        return Finding(what="accuracy", then=recorded, now="its seeds were never revealed", holds=None)
    if isinstance(then, Measured | Verified) and isinstance(again, Verified):
        words = f"{_worst(again)}; {_likeness(then.accuracy, again.accuracy)}"
        return Finding(what="accuracy", then=recorded, now=words, holds=True)
    # Only what is wrong by its values is wrong on known seeds in the same way; a timed output is seen in no replay.
    proven = then.because != "timed_output" if isinstance(then, Incorrect) else is_right(then)
    now = f"{_outcome_text(again)}, {_worst(again)}" if isinstance(again, Incorrect) else again.outcome
    return Finding(what="accuracy", then=recorded, now=now, holds=again.outcome == then.outcome if proven else None)


def _worst(found: Evaluation) -> str:
    if not isinstance(found, Measured | Verified | Incorrect) or found.accuracy.worst is None:
        return "no case"
    worst = found.accuracy.worst
    return f"{worst.error:.3g} of {worst.allowed:.3g} allowed ({worst.distribution})"


def _likeness(then: Accuracy, now: Accuracy) -> str:
    if then.cases == now.cases:
        return "every figure the same"
    inputs = [(c.distribution, c.reference_error) for c in then.cases] == [
        (c.distribution, c.reference_error) for c in now.cases
    ]
    if inputs:
        return "the same inputs, other rounding"
    return "other inputs: this device or these libraries draw other numbers from the same seeds"


def _times(claim: Claim, now: Evaluation, comparable: bool) -> list[Finding]:
    then = claim.evaluation
    if not isinstance(then, Measured):
        return []
    if then.workloads:
        return _times_by_workload(claim, then, now, comparable)
    found = now.timing if isinstance(now, Measured) else None
    findings = []
    for versus in then.timing.versus:
        samples = _samples(claim, then.timing, versus.baseline)
        if samples and (doubt := _doubt(claim.policy, then.timing, versus, samples)):
            findings.append(Finding(what=_versus_name(versus), then=_versus_text(versus), now=doubt, holds=False))
        elif found is None:
            findings.append(Finding(what=_versus_name(versus), then=_versus_text(versus), now="not timed", holds=None))
        else:
            findings.append(_time(versus, found.against(versus.baseline), comparable, bool(samples)))
    return findings


def _times_by_workload(claim: Claim, then: Measured, now: Evaluation, comparable: bool) -> list[Finding]:
    """Each workload's speedups, as of a task of its own; what they come to together follows from them."""
    here = {row.point.name: row.evaluation for row in now.workloads}
    findings = []
    for row, one in timed(then.workloads):
        found = _times(claim.model_copy(update={"evaluation": one}), here.get(row.point.name) or now, comparable)
        findings += [each.model_copy(update={"what": f"{each.what} at {row.point.words}"}) for each in found]
    return findings


def _samples(claim: Claim, timing: Timing, baseline: BaselineName) -> Samples:
    """What the comparison with a baseline was made of; empty where the record does not have all of it."""
    us: Samples = {arm.name: list(arm.samples_us) for arm in timing.arms if arm.name in ("candidate", baseline)}
    # Beside a device, serial code was profiled once for all kernels, perhaps in another benchmark.
    elsewhere = baseline == "eager" and timing.clock == "device" and bool(claim.task.source.serial)
    return {} if elsewhere or len(us) < 2 else us


def _doubt(policy: Policy, timing: Timing, then: Versus, samples: Samples) -> str:
    """Why a comparison does not follow from its samples; empty if it does."""
    most = policy.final_blocks if timing.final else policy.search_blocks
    one, other = samples.values()
    if not 2 <= len(one) == len(other) <= most or not all(0 < us < math.inf for us in (*one, *other)):
        return "no benchmark has such samples as are recorded with it"
    recounted = _recompute(policy, timing, then.baseline, samples)
    # A benchmark may have asked for a larger effect than the record tells; a smaller one it never does.
    if _equal_ratios(then.speedup, recounted.speedup) and then.verdict in (recounted.verdict, *UNCLAIMED):
        return ""
    return f"the samples that are recorded with it say {_versus_text(recounted)}"


def _recompute(policy: Policy, timing: Timing, baseline: BaselineName, samples: Samples) -> Versus:
    # It needs numpy, which nothing else in this process does.
    from kernelwright.evaluate.timing.statistics import Stopping  # noqa: PLC0415

    rule = Stopping(
        baselines=(baseline,),
        most=policy.final_blocks if timing.final else policy.search_blocks,
        confidence=policy.confidence,
        minimum_effect=policy.minimum_effect,
        precision=0.0,
        least_effect=timing.process_spread,
    )
    return rule.versus(samples, baseline).beyond(timing.start_spread)


def _equal_ratios(one: Ratio, other: Ratio) -> bool:
    # The least effect does not follow from samples, and older records do not tell it.
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("median", "low", "high", "confidence"))
    return all(math.isclose(a, b, rel_tol=ROUNDING) for a, b in pairs)


def _time(then: Versus, now: Versus | None, comparable: bool, confirmed: bool) -> Finding:
    """One speedup then and now; `confirmed`: it follows from samples that are recorded with it."""
    what, before = _versus_name(then), _versus_text(then)
    if now is None:
        if confirmed or not comparable:
            return Finding(what=what, then=before, now="not timed", holds=None)
        return Finding(what=what, then=before, now="not timed, and no samples are recorded with it", holds=False)
    after = _versus_text(now)
    if comparable and not then.speedup.median <= _most_above(confirmed) * now.speedup.high:
        return Finding(what=what, then=before, now=f"{after}; the recorded median lies far above it", holds=False)
    if then.verdict != now.verdict:
        # No verdict was claimed: two intervals that meet do not contradict each other.
        overlap = _overlap(then.speedup, now.speedup)
        unsure = now.verdict == "disturbed" or (overlap and now.verdict == "inconclusive")
        words = "too unsure to confirm it: verify it again while nothing else runs" if unsure else "another verdict"
        holds = then.verdict in UNCLAIMED and (overlap or now.verdict == "disturbed")
        return Finding(what=what, then=before, now=f"{after}; {words}", holds=holds)
    words, holds = _compare_ratios(then.speedup, now.speedup, comparable)
    return Finding(what=what, then=before, now=f"{after}; {words}", holds=holds)


def _most_above(confirmed: bool) -> float:
    """How many times the new interval's upper end a recorded median may be.

    Wide intervals overlap with any other. One that is not blurred passes the first figure if it overlaps.
    """
    return BLURRED if confirmed else 1 / (1 - DRIFT)


def _compare_ratios(then: Ratio, now: Ratio, comparable: bool) -> tuple[str, bool]:
    if not comparable:
        return "the same verdict on another device", True
    if _overlap(then, now):
        return "the intervals overlap", True
    if now.high < then.low * (1 - DRIFT):
        return f"more than {DRIFT:.0%} below what was recorded", False
    return "the same verdict, the intervals lie apart", True


def _overlap(one: Ratio, other: Ratio) -> bool:
    return one.low <= other.high and other.low <= one.high


def _versus_name(versus: Versus) -> str:
    return f"speedup over {versus.baseline}"


def _versus_text(versus: Versus) -> str:
    ratio = versus.speedup
    return f"{ratio.median:.3g}x ({ratio.low:.3g} to {ratio.high:.3g}), {versus.verdict}"


ABSENT = "absent"


def changes(then: Environment, now: Environment) -> list[Change]:
    """Device and versions that differ, by name."""
    before, after = _environment_figures(then), _environment_figures(now)
    return [
        Change(name=name, then=before.get(name, ABSENT), now=after.get(name, ABSENT))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def isolation_changes(then: Environment, now: Environment) -> list[Change]:
    """The parts of the sandbox, where they differ."""
    before, after = ", ".join(then.isolation) or "none", ", ".join(now.isolation) or "none"
    return [Change(name="isolation", then=before, now=after)] if set(then.isolation) != set(now.isolation) else []


def _environment_figures(found: Environment) -> dict[str, str]:
    device = found.device
    return {**found.versions, "device": f"{device.name} ({device.cores} cores)"}
