"""cudaforge: a Coder writes, a Judge turns the findings into one next step, round by round until the goal is met.

The closed loop of CUDAForge. What does not compile goes straight back to the Coder; what is wrong, and what is right,
goes to the Judge first, in the words ERROR, SUCCESS or CORRECT. No dialogue is remembered: each round sees one kernel
and what became of it.

The best starts at infinity: the first correct kernel is a SUCCESS, however slow. A kernel that failed is repaired
itself, whatever `edit` says: an error can be fixed only in the source that has it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.evaluation import Compiled, failed_to_build, merit
from kernelwright.search.reading import failure, is_kernel, runtime, same_kernel, within, works
from kernelwright.search.strategy import CODER, ExpectedCalls, Limits, Serial, StrategyConfig

JUDGE = "judge"


class CudaForgeConfig(StrategyConfig):
    """How long, how fast, and which kernel is edited."""

    variant: ClassVar[str] = "edit"
    languages: ClassVar[Mapping[str, str]] = {"cuda": "cuda"}

    name: Literal["cudaforge"] = "cudaforge"
    rounds: int = Field(default=10, ge=1)
    """Kernels written, the first one included."""
    goal_us: float | None = Field(default=None, gt=0)
    """Call time at which the loop ends; None: the run's target."""
    edit: Literal["best", "current"] = "best"
    """What is edited after a correct kernel that is no new best: the best one, or, as the paper has it, that one."""

    def usual_proposals(self) -> int:
        """The paper's rounds, all of them."""
        return self.rounds

    def trials(self, proposals: int) -> int:
        """The rounds, as far as the budget goes."""
        return min(self.rounds, proposals)

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """The Judge may be asked before every kernel but the first."""
        rounds = self.trials(proposals)
        return ExpectedCalls(role=CODER, calls=rounds), ExpectedCalls(role=JUDGE, calls=rounds - 1)

    def make(self, limits: Limits) -> "CudaForge":
        """A fresh strategy."""
        return CudaForge(self, limits)


class CudaForge(Serial):
    """See the module."""

    def __init__(self, config: CudaForgeConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._rounds = config.trials(limits.proposals)
        self._goal_us = limits.target_us if config.goal_us is None else config.goal_us
        self._edits_best = config.edit == "best"
        self._current: Attempt | None = None
        self._best: Attempt | None = None

    def _next(self, number: int) -> ProposalRequest:
        current = self._current
        if current is None:
            return ProposalRequest(number=number, intent="seed", order="Generate initial kernel for the task.")
        parents = self._parents(current)
        if failed_to_build(current.evaluation):
            hint = failure(current).removeprefix("does not compile: ")
            order = "Fix compilation error:"
            return ProposalRequest(number=number, intent="repair", parents=parents, order=order, hint=hint)
        if not works(current):
            order, hint = "ERROR: Kernel failed verification.", f"Failure details: {failure(current)}"
            return ProposalRequest(
                number=number, intent="repair", parents=parents, order=order, hint=hint, adviser=JUDGE
            )
        order = self._praise(current)
        return ProposalRequest(number=number, intent="improve", parents=parents, order=order, adviser=JUDGE)

    def _parents(self, current: Attempt) -> tuple[int, ...]:
        """The kernel that is edited first; the best or the last one beside it."""
        best = self._best
        if not self._edits_best or best is None or best is current:
            return (current.number,)
        if same_kernel(best, current):
            return (best.number,)
        return (best.number, current.number) if works(current) else (current.number, best.number)

    def _praise(self, current: Attempt) -> str:
        goal = f"{self._goal_us:.2f} us" if self._goal_us is not None else "as fast as possible"
        if current is self._best and current.latency_us is not None:
            best = f"SUCCESS: New best performance achieved. Runtime: {runtime(current)}. Goal: {goal}."
            return f"{best} Analyze profiling data for further gains."
        unknown = isinstance(current.evaluation, Compiled)
        fate = "COMPILED: Neither run nor timed on this machine." if unknown else ""
        words = f"{fate or f'CORRECT: Current Runtime: {runtime(current)}.'} Goal: {goal}."
        edited = ""
        if self._edits_best and self._best is not None and self._best is not current:
            edited = f" The kernel to edit is the best one: {runtime(self._best)}."
        return f"{words} Analyze profile to identify bottleneck.{edited}"

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        for attempt in filter(is_kernel, made):
            self._current = attempt
            if works(attempt) and (self._best is None or merit(attempt.evaluation) > merit(self._best.evaluation)):
                self._best = attempt

    def finished(self) -> str | None:
        """The goal is met, or every round was played."""
        best, rounds = self._best, self._closed
        if best is not None and within(best, self._goal_us):
            return f"Performance goal of {self._goal_us:.2f} us met in round {rounds}: {runtime(best)}."
        if rounds < self._rounds:
            return None
        if best is None:
            return f"No correct kernel in {rounds} rounds."
        return f"Best correct kernel after {rounds} rounds. Runtime: {runtime(best)}."
