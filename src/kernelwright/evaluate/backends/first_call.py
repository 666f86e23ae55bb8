"""The first call of a candidate that is a module: at it much is compiled, and what it raises there is a failed build."""

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError, Ran
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.session.trial import OutcomeReached
from kernelwright.records.evaluation import BuildFailed, Crashed, Stage, TimedOut
from kernelwright.records.measure import BuildFacts


@dataclass(frozen=True)
class FirstCall:
    """What a first call means on one backend."""

    compiler: str
    """Of the build's facts."""
    stage: Stage
    """Where a candidate stands that ends in it."""
    build_errors: frozenset[str]
    """Names of exceptions that a compiler raises."""

    def of(self, process: CandidateProcess, compute: Callable[[], Ran]) -> BuildFacts:
        """Make it; its result is judged with the first case, not here.

        Raises:
            OutcomeReached: it fails.
        """
        try:
            ran = compute()
        except ChildRaisedError as raised:
            if raised.name in self.build_errors:
                raise OutcomeReached(BuildFailed(log=raised.log)) from None
            raise OutcomeReached(Crashed(stage=self.stage, reason=raised.name, log=raised.log)) from None
        except ChildGoneError as gone:
            raise OutcomeReached(Crashed(stage=self.stage, reason=gone.reason, log=gone.log)) from None
        except ChildSlowError as slow:
            raise OutcomeReached(TimedOut(stage=self.stage, limit_s=slow.limit_s)) from None
        return BuildFacts(compiler=self.compiler, seconds=ran.outside_ns / 1e9)
