"""What an attempt's outcome means to a strategy.

Which outcomes count as compiled and as working, which of two attempts stands higher, and what a failure is called in a few
words. Strategies compare attempts by `merit`, not by the reward: see docs/strategy.md.
"""

from collections.abc import Iterable, Sequence

from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Refused,
    Suspect,
    TimedOut,
    failed_to_build,
    is_right,
    merit,
)

CHARACTERS = 300
"""Most of a failure's evidence that goes into a hint; all of it is in the feedback."""


def is_kernel(attempt: Attempt) -> bool:
    """Whether there is any source: an answer without one is never a parent."""
    return bool(attempt.proposal.candidate.source.strip())


def compiles(attempt: Attempt) -> bool:
    """Past the compiler; what was refused before it is not."""
    return not failed_to_build(attempt.evaluation) and not isinstance(attempt.evaluation, Refused)


def works(attempt: Attempt) -> bool:
    """Right as far as this machine can tell: nothing failed that could be asked for here."""
    return is_right(attempt.evaluation) or isinstance(attempt.evaluation, Compiled)


def ranked(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The highest merit first, the earliest of equals."""
    return sorted(attempts, key=lambda a: (merit(a.evaluation), -a.number), reverse=True)


def same_kernel(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts are about one candidate: it was met again."""
    return one.proposal.candidate.id == other.proposal.candidate.id


def with_distinct(kept: Sequence[Attempt], attempt: Attempt, most: int) -> list[Attempt]:
    """The kept kernels, the best first, with one more among them unless it was met before; at most so many."""
    if any(same_kernel(attempt, known) for known in kept):
        return list(kept)
    return ranked([*kept, attempt])[:most]


def best_of(attempts: Iterable[Attempt]) -> Attempt | None:
    """The first of them, ranked; None of none."""
    return next(iter(ranked(attempts)), None)


def within(attempt: Attempt | None, target_us: float | None) -> bool:
    """Whether it was timed and is fast enough; nothing is where there is no target."""
    latency = attempt.latency_us if attempt else None
    return latency is not None and target_us is not None and latency <= target_us


def runtime(attempt: Attempt) -> str:
    """Its call time in words."""
    return f"{attempt.latency_us:.2f} us" if attempt.latency_us is not None else "not timed on this machine"


def failure(attempt: Attempt) -> str:
    """Why it does not work, in a clause; empty for what works."""
    return failure_of(attempt.evaluation)


def failure_of(evaluation: Evaluation) -> str:
    """Why a kernel does not work, in a clause; empty for what works."""
    match evaluation:
        case Incorrect(because=because, case=case, evidence=evidence):
            return _short(f"incorrect ({because}, case {case}): {evidence}")
        case Suspect(because=because, evidence=evidence):
            return _short(f"not credible ({because}): {evidence}")
        case Crashed(stage=stage, reason=reason):
            return _short(f"crashed ({stage}): {reason}")
        case TimedOut(stage=stage, limit_s=limit):
            return f"no answer within {limit:g} s ({stage})"
        case Refused(reason=reason):
            return _short(f"refused: {reason}")
        case BuildFailed(log=log):
            lines = [line for line in log.splitlines() if line.strip()] or ["the compiler left no log"]
            return _short(f"does not compile: {next((x for x in lines if 'error' in x.lower()), lines[0])}")
    return ""


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= CHARACTERS else f"{line[:CHARACTERS]}…"
