"""frontend_midend: one agent makes it right, another makes it fast, as in a compiler's stack.

The frontend proposes and repairs until a kernel is verified. From then on the mid-end edits the best verified kernel,
one edit at a time; an edit that breaks it or does not speed it up is dropped, and the next one starts from the best
again. The search never returns to the frontend. Each has its own role, so its own model and prompt, and its own share
of the attempts (tokens and money have one cap for both). `reward.frontend_midend` pays each for its own work.

No dialogue is kept: each agent acts only on what its prompt says, so that a small trained one can serve.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.evaluation import merit
from kernelwright.search.reading import failure, is_kernel, runtime, within, works
from kernelwright.search.strategy import ExpectedCalls, Limits, Serial, StrategyConfig

FRONTEND = "frontend"
MIDEND = "midend"


class FrontendMidendConfig(StrategyConfig):
    """The two shares."""

    name: Literal["frontend_midend"] = "frontend_midend"
    frontend_attempts: int | None = Field(default=None, ge=1)
    """The frontend's answers at most. None: half of the budget's proposals, rounded up."""
    midend_attempts: int | None = Field(default=None, ge=0)
    """The mid-end's edits at most. None: whatever the frontend has left of the budget."""

    def frontend_trials(self, proposals: int) -> int:
        """The frontend's share of a budget."""
        return min(self.frontend_attempts or (proposals + 1) // 2, proposals)

    def trials(self, proposals: int) -> int:
        """Both shares; the mid-end may have what the frontend leaves of its own."""
        if self.midend_attempts is None:
            return proposals
        return min(self.frontend_trials(proposals) + self.midend_attempts, proposals)

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """As if the frontend spent its whole share."""
        first = self.frontend_trials(proposals)
        midend = self.trials(proposals) - first
        return ExpectedCalls(role=FRONTEND, calls=first), ExpectedCalls(role=MIDEND, calls=midend)

    def make(self, limits: Limits) -> "FrontendMidend":
        """A fresh strategy."""
        return FrontendMidend(self, limits)


class FrontendMidend(Serial):
    """See the module."""

    def __init__(self, config: FrontendMidendConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._frontend_limit = config.frontend_trials(limits.proposals)
        self._midend_limit = limits.proposals if config.midend_attempts is None else config.midend_attempts
        self._target_us = limits.target_us
        self._frontend = 0
        self._midend = 0
        self._broken: Attempt | None = None
        self._best: Attempt | None = None
        self._dropped: Attempt | None = None
        """The last edit that was dropped; it stands beside the best, so that it is not made again."""
        self._fate = ""

    def _next(self, number: int) -> ProposalRequest:
        if self._best is not None:
            order = "Make it faster; what it computes must stay right."
            parents = (self._best.number, *([self._dropped.number] if self._dropped is not None else []))
            return ProposalRequest(
                number=number, intent="improve", parents=parents, order=order, hint=self._fate, role=MIDEND
            )
        if self._broken is None:
            return ProposalRequest(number=number, intent="seed", role=FRONTEND)
        broken = self._broken
        hint = f"Not verified yet: {failure(broken)}"
        return ProposalRequest(number=number, intent="repair", parents=(broken.number,), hint=hint, role=FRONTEND)

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        if proposal_request.role == FRONTEND:
            self._frontend += 1
        else:
            self._midend += 1
        for attempt in filter(is_kernel, made):
            self._judge(attempt)

    def _judge(self, attempt: Attempt) -> None:
        best = self._best
        if best is None and not works(attempt):
            self._broken = attempt
            return
        if best is None:
            self._best, self._fate = attempt, f"{attempt.evaluation.outcome.capitalize()}. Runtime: {runtime(attempt)}."
            return
        better = works(attempt) and merit(attempt.evaluation) > merit(best.evaluation)
        self._dropped = None if better else attempt
        if not works(attempt):
            self._fate = f"Dropped: the last edit broke the kernel: {failure(attempt)}. Here is the verified one again."
        elif better:
            self._best, self._fate = attempt, f"Kept: the last edit was faster. Runtime: {runtime(attempt)}."
        elif attempt.latency_us is None:
            self._fate = "Dropped: the last edit works, but nothing is timed on this machine."
        else:
            self._fate = f"Dropped: the last edit was no faster. Runtime: {runtime(attempt)}; best: {runtime(best)}."

    def finished(self) -> str | None:
        """The target is met, or a share is spent."""
        best = self._best
        if best is None:
            over = self._frontend >= self._frontend_limit
            return f"The frontend verified no kernel in {self._frontend} attempts." if over else None
        after = f"frontend attempts: {self._frontend}, mid-end edits: {self._midend}"
        if within(best, self._target_us):
            return f"Verified kernel within target. Runtime: {runtime(best)} ({after})."
        over = self._midend >= self._midend_limit or self._spent >= self._proposals
        return f"Best verified kernel. Runtime: {runtime(best)} ({after})." if over else None
