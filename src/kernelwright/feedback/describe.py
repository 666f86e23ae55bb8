"""Turns an attempt into Feedback: what it taught, in words and in features.

The first words are the outcome's class as in TritonGym's loop (`Compilation Failed:`, `Functional Failure:`,
`Success.`); the evidence follows. Advice on techniques does not belong here: that is for whoever reads it.
"""

from kernelwright.feedback.bottleneck import bottleneck
from kernelwright.records.answer import compared
from kernelwright.records.attempt import Attempt, speedup
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    Suspect,
    TimedOut,
    Verified,
    speedup_over_eager,
)
from kernelwright.records.feedback import Feedback

LOG_CHARACTERS, TAIL = 2000, 400
"""How much of a compiler's or a crash's log is passed on, and how much of that is its end."""


def describe(
    attempt: Attempt, parent: Attempt | None, best: Attempt | None, target_us: float | None = None, reward: float = 0.0
) -> Feedback:
    """What one attempt taught, seen beside its parent and the best attempt before it."""
    found = attempt.evaluation
    words = words_of(found, target_us, _beside(attempt, parent, best))
    if not isinstance(found, Measured):
        return Feedback(attempt=attempt.number, reward=reward, words=words, works=isinstance(found, Verified))
    return Feedback(
        attempt=attempt.number,
        reward=reward,
        words=words,
        works=True,
        speedup_best=_relative(attempt, best),
        speedup_eager=speedup(attempt),
        bottleneck=bottleneck(found).bottleneck,
        roofline=found.roofline.fraction,
        latency_us=found.timing.latency_us,
    )


def words_of(found: Evaluation, target_us: float | None = None, beside: str = "") -> str:
    """What an evaluation says by itself; `beside` are words on how it stands to others, for what was timed."""
    if not isinstance(found, Measured):
        return _untimed(found)
    return " ".join(filter(None, (_success(found, target_us), beside, bottleneck(found).evidence)))


def _success(found: Measured, target_us: float | None) -> str:
    target = f"{target_us:.2f} us" if target_us is not None else "as fast as possible"
    against = ", ".join(
        f"{v.baseline}: {compared(v.speedup, v.verdict)}"
        if v.speedup.blurred
        else f"{v.speedup.median:.2f}x {v.baseline} ({v.verdict})"
        for v in found.timing.versus
    )
    return f"Success. Latency: {found.timing.latency_us:.2f} us. Target: {target}. Speedup: {against}."


def _beside(attempt: Attempt, parent: Attempt | None, best: Attempt | None) -> str:
    beside_best, beside_parent = _relative(attempt, best), _relative(attempt, parent)
    if best is None or beside_best is None:
        return "First kernel that was timed."
    words = _against(beside_best, attempt, best, "the best before it")
    if parent is not None and parent.number != best.number and beside_parent is not None:
        words += ", " + _against(beside_parent, attempt, parent, "its parent")
    return words + "."


def _against(ratio: float, attempt: Attempt, other: Attempt, name: str) -> str:
    """How two attempts compare; intervals that overlap tell nothing."""
    ours, theirs = speedup_over_eager(attempt.evaluation), speedup_over_eager(other.evaluation)
    if ours is not None and theirs is not None and ours.low <= theirs.high and theirs.low <= ours.high:
        return f"not told apart from {name} (attempt {other.number}): their intervals overlap"
    return f"{ratio:.2f}x {name} (attempt {other.number})"


def _relative(attempt: Attempt, other: Attempt | None) -> float | None:
    """How many times as fast as the other one; None where that one was not timed."""
    return speedup(attempt) / speedup(other) if other is not None and speedup(other) > 0 else None


def _untimed(found: Evaluation) -> str:
    match found:
        case Refused(reason=reason):
            return f"Compilation Failed: refused before it was built: {reason}"
        case BuildFailed(log=log):
            return f"Compilation Failed: {_short(log)}"
        case Crashed(stage="compile", reason=reason, log=log):
            return f"Compilation Failed: the compiler ended: {reason}. {_short(log)}"
        case TimedOut(stage="compile", limit_s=limit):
            return f"Compilation Failed: the compiler was stopped after {limit:g} s."
    return _built(found)


def _built(found: Evaluation) -> str:
    match found:
        case Crashed(stage=stage, reason=reason, log=log):
            return f"Functional Failure: Kernel crashed ({stage}): {reason}. {_short(log)}".rstrip()
        case TimedOut(stage=stage, limit_s=limit):
            return f"Functional Failure: Kernel did not return within {limit:g} s ({stage})."
        case Incorrect(because=because, case=case, evidence=evidence):
            return f"Functional Failure: Kernel produced incorrect output ({because}, case {case}): {evidence}"
        case Suspect(because=because, evidence=evidence):
            return f"Functional Failure: Result is not credible ({because}): {evidence}"
        case Verified(how=how):
            return f"Success. Output is right ({how}). Latency: not measured on this machine."
        case Compiled(why=why):
            reason = f": {_short(why)}" if why else ""
            return f"Success. It compiles; it was neither run nor timed on this machine{reason}."
    raise AssertionError(found.outcome)


def _short(log: str) -> str:
    if len(log) <= LOG_CHARACTERS:
        return log
    # A compiler's first errors matter most; an exception says at its end what it was.
    more = f"[{len(log) - LOG_CHARACTERS} characters left out]"
    return f"{log[: LOG_CHARACTERS - TAIL]} {more} {log[-TAIL:]}"
