"""The attempts of a run as rows to show: each with its parent, what it changed, and its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Incorrect,
    Measured,
    Refused,
    Suspect,
    TimedOut,
    Verified,
)
from kernelwright.records.measure import Accuracy, BuildFacts
from kernelwright.report import words
from kernelwright.report.source import difference


@dataclass(frozen=True)
class Row:
    """One attempt, ready to be laid out."""

    attempt: Attempt
    best: bool
    parent: int | None
    """The attempt that `diff` is taken against."""
    diff: Markup | None

    @property
    def reason(self) -> str:
        """What the referee found, in one sentence."""
        return reason(self.attempt)

    @property
    def log(self) -> str:
        """The log that came with the outcome."""
        found = self.attempt.evaluation
        return found.log if isinstance(found, BuildFailed | Crashed) else ""

    @property
    def build(self) -> BuildFacts | None:
        """What the build produced, where it did."""
        found = self.attempt.evaluation
        return found.build if isinstance(found, Compiled | Verified | Measured) else None

    @property
    def accuracy(self) -> Accuracy | None:
        """The cases that were judged, if any."""
        found = self.attempt.evaluation
        kept = found.accuracy if isinstance(found, Verified | Measured | Incorrect) else None
        return kept if kept and kept.cases else None

    @property
    def measured(self) -> Measured | None:
        """The measurement, if there is one."""
        found = self.attempt.evaluation
        return found if isinstance(found, Measured) else None


def rows(attempts: Sequence[Attempt], best: int | None) -> list[Row]:
    """Every attempt in order."""
    known = {a.number: a for a in attempts}
    return [_row(a, known, a.number == best) for a in attempts]


def reason(attempt: Attempt) -> str:
    """What the referee found, in one sentence."""
    match attempt.evaluation:
        case Measured(timing=timing):
            return f"Right in every case; {words.microseconds(timing.latency_us)} a call."
        case Verified(how=how):
            return f"Right, not timed: {how}."
        case Compiled():
            return "Built, not run."
        case failure:
            return _failure(failure)


def _failure(found: Refused | BuildFailed | Crashed | TimedOut | Incorrect | Suspect) -> str:
    match found:
        case Refused(reason=why) | Crashed(reason=why):
            return why
        case BuildFailed():
            return "The compiler refused it."
        case TimedOut(stage=stage, limit_s=limit):
            return f"Killed after {words.seconds(limit)} in the {stage} stage."
        case Incorrect(because=because, case=case, evidence=evidence):
            return f"Wrong ({because.replace('_', ' ')}) in case {case}: {evidence}"
        case Suspect(because=because, evidence=evidence):
            return f"{because.replace('_', ' ').capitalize()}: {evidence}"


def _row(attempt: Attempt, known: dict[int, Attempt], best: bool) -> Row:
    numbers = [n for n in attempt.expansion.parents if n in known]
    parent = known[numbers[0]] if numbers else None
    source = attempt.proposal.candidate.source
    diff = difference(parent.proposal.candidate.source, source) if parent else None
    return Row(attempt, best, parent.number if parent else None, diff)
