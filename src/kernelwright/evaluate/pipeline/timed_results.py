"""What a timed result should be: compared with eager's of the same round by each output's comparator.

Both sides may be off the truth by what each is allowed. A random output cannot be compared call by call: its features are
kept, and the whole contest is one paired test.
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from kernelwright.evaluate.pipeline import expectations
from kernelwright.evaluate.verify import compare, exact, places, ties
from kernelwright.evaluate.verify.compare import Wrong
from kernelwright.evaluate.verify.pairs import Pairs
from kernelwright.evaluate.verify.places import Parts, Sample
from kernelwright.records.comparator import Calibrated, Exact, Statistical, Ties

if TYPE_CHECKING:
    from kernelwright.evaluate.pipeline.session import Session


class TimedResults:
    """Compares the timed results of one candidate with eager's."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._pairs: dict[int, Pairs] = {}
        self._samples: dict[int, Sample] = {}
        self._chance = secrets.SystemRandom()

    def parts(self, output: int) -> Parts:
        """Elements of one result that are looked at: secret stripes, or all where elements are no use alone.

        Chosen anew for every call, and after the candidate has been frozen.
        """
        spec, rule = self._session.task.workload.outputs[output], self._session.task.comparator(output)
        if isinstance(rule, Ties):
            return ((0, spec.numel),)
        stripes = places.stripes(spec.numel, self._chance)
        # What two calls have in common shows in the same places only.
        return (*stripes, *self._sample(output).parts) if isinstance(rule, Statistical) else stripes

    def wrong(self, output: int, got: torch.Tensor, wanted: torch.Tensor, offsets: Sequence[int]) -> Wrong | None:
        """Why a result is refused; `offsets` say on which inputs, which still lie there."""
        session = self._session
        rule = session.task.comparator(output)
        if not got.numel() or rule.kind in session.policy.unseen:
            return None
        match rule:
            case Statistical():
                pairs = self._pairs.setdefault(output, Pairs(rule.false_alarm, self._sample(output)))
                return pairs.add(got, wanted)
            case Exact():
                return exact.Identical(wanted).judge([got])[1]
            case Ties():
                return self._unlike(output, rule, (got, wanted), tuple(offsets))
        if expectations.steps(session, output):
            return exact.Stepped(wanted, 0.0, 2 * self._allowed(output)).judge([got])[1]
        allowed = session.allowed(output, 0.0) + session.base_error[output]
        allowed = allowed if session.task.workload.outputs[output].floating else 0.0
        return compare.judge(got, compare.Expected(wanted, compare.scale_of(wanted), 0.0, allowed))[1]

    def surely_right(self, got: Sequence[Sequence[torch.Tensor]], wanted: Sequence[Sequence[torch.Tensor]]) -> bool:
        """Whether all calls of a round on a GPU are plainly right, in one go; False says nothing.

        Asked call by call, the answers' way back from the device costs more than the comparison.
        """
        if self._session.device != "cuda":
            return False
        calls = zip(*got, strict=True), zip(*wanted, strict=True)
        return all(self._plainly(i, g, w) for i, (g, w) in enumerate(zip(*calls, strict=True)))

    def _plainly(self, output: int, got: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> bool:
        session, spec = self._session, self._session.task.workload.outputs[output]
        plain = isinstance(session.task.comparator(output), Calibrated) and not expectations.steps(session, output)
        if not (
            plain and spec.floating and spec.numel and all(g.shape == w.shape for g, w in zip(got, wanted, strict=True))
        ):
            return False
        allowed = session.allowed(output, 0.0) + session.base_error[output]
        return compare.all_within(torch.stack(tuple(got)), torch.stack(tuple(wanted)), allowed)

    def finish(self) -> Wrong | None:
        """Why the random outputs of the whole contest are refused."""
        found = (pairs.wrong() for pairs in self._pairs.values())
        return next((wrong for wrong in found if wrong is not None), None)

    def _sample(self, output: int) -> Sample:
        """Where all calls of a contest are looked at."""
        if output not in self._samples:
            self._samples[output] = places.sample(self._session.task.workload.outputs[output].shape, self._chance)
        return self._samples[output]

    def _unlike(
        self, output: int, rule: Ties, both: tuple[torch.Tensor, torch.Tensor], offsets: tuple[int, ...]
    ) -> Wrong | None:
        got, wanted = both
        if torch.equal(got, wanted):
            return None
        if not rule.of:
            return ties.Unordered(wanted, rule.dim, 0.0, 2 * self._allowed(output)).judge([got])[1]
        picked, _ = expectations.picked_values(self._session, rule, offsets, (expectations.PLAIN,) * 2)
        return ties.Tied(wanted, picked, rule, 0.0, 2 * self._allowed(output)).judge([got])[1]

    def _allowed(self, output: int) -> float:
        return max((case.expected[output].allowed for case in self._session.cases), default=0.0)
