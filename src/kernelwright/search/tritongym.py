"""tritongym: attempts and feedback until the target latency, in five workflows.

`refine` is the published pseudocode; `one_shot`, `reflective` (the roles of GEAK), `evolutionary` (in AlphaEvolve's style)
and `agent` are the workflows that its paper compares. All end at the target or after K trials.
"""

import random
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, ProposalRequest, fastest
from kernelwright.records.evaluation import is_right
from kernelwright.records.feedback import Feedback
from kernelwright.search.independent import Seeds
from kernelwright.search.reading import failure, is_kernel, runtime, with_distinct, within, works
from kernelwright.search.strategy import CODER, ExpectedCalls, Limits, Serial, Strategy, StrategyConfig

AGENT = "agent"
REFLECTOR = "reflector"

Workflow = Literal["refine", "one_shot", "reflective", "evolutionary", "agent"]


class TritonGymConfig(StrategyConfig):
    """Which workflow, and its options. Those of the other workflows mean nothing to it."""

    variant: ClassVar[str] = "workflow"

    name: Literal["tritongym"] = "tritongym"
    attempts: int | None = Field(default=None, ge=1)
    """The K of the trials. None: as many as the budget has proposals."""
    workflow: Workflow = "refine"
    debug_limit: int = Field(default=5, ge=0)
    """`reflective`: repairs in a row before the failed line is left; GEAK's max_perf_debug_num."""
    ancestors: int = Field(default=5, ge=1)
    """`reflective`: most working kernels that an improvement gets to see; GEAK's ancestor_num."""
    population: int = Field(default=8, ge=1)
    """`evolutionary`: the best distinct kernels that are kept."""
    inspirations: int = Field(default=2, ge=0)
    """`evolutionary`: kernels of the population shown beside the parent."""
    seed: int = 0
    """`evolutionary`: of the draw of parents."""

    def trials(self, proposals: int) -> int:
        """The K where the budget has so many proposals."""
        return min(self.attempts or proposals, proposals)

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """A reflector may be asked before every kernel but the first; an agent's conversation never ends."""
        trials = self.trials(proposals)
        if self.workflow == "agent":
            return (ExpectedCalls(role=AGENT, calls=trials, conversation=trials, tools=True),)
        coder = ExpectedCalls(role=CODER, calls=trials)
        return (coder, ExpectedCalls(role=REFLECTOR, calls=trials - 1)) if self.workflow == "reflective" else (coder,)

    def make(self, limits: Limits) -> Strategy:
        """A fresh strategy of the workflow."""
        return _WORKFLOWS[self.workflow](self, limits)


class Tally:
    """The best so far, whether anything was right, and the words of the ending, which are the pseudocode's."""

    def __init__(self, target_us: float | None) -> None:
        self.best: Attempt | None = None
        self._target_us = target_us
        self._right = False
        self._met = False

    def add(self, attempt: Attempt) -> None:
        """Count one attempt."""
        self.best = fastest([a for a in (self.best, attempt) if a is not None])
        self._right |= is_right(attempt.evaluation)
        self._met |= within(attempt, self._target_us)

    def ending(self, *, over: bool, after: str = "max attempts") -> str | None:
        """The last words; None while the target is not met and it is not over."""
        if self._met:
            return "Optimized kernel found within target."
        if not over:
            return None
        if self.best is not None:
            return f"Best kernel after {after}. Latency: {self.best.latency_us:.2f} us."
        if self._right:
            return f"Functional kernel after {after}; nothing was timed on this machine."
        return "Failed to generate a functional kernel."


class OneShot(Seeds):
    """K independent single shots. No attempt sees another; the target ends it early."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config.trials(limits.proposals), limits)
        self._tally = Tally(limits.target_us)

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Tally it."""
        super().tell(attempt, feedback)
        self._tally.add(attempt)

    def finished(self) -> str | None:
        """The target is met, or every shot was judged."""
        return self._tally.ending(over=self._closed >= self._n)


class Trials(Serial, ABC):
    """K trials, one after another, tallied."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._config = config
        self._trials = config.trials(limits.proposals)
        self._tally = Tally(limits.target_us)

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        for attempt in made:
            self._tally.add(attempt)

    def finished(self) -> str | None:
        """The target is met, or every trial was made."""
        return self._tally.ending(over=self._closed >= self._trials)


class Refine(Trials):
    """One kernel refined attempt by attempt with its feedback, the best so far beside it, until it is fast enough."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._previous: Attempt | None = None

    def _next(self, number: int) -> ProposalRequest:
        previous, best = self._previous, self._tally.best
        if previous is None:
            return ProposalRequest(number=number, intent="seed")
        parents = (previous.number,) if best in (None, previous) else (previous.number, best.number)
        return ProposalRequest(number=number, intent="improve" if works(previous) else "repair", parents=parents)

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        super()._learn(proposal_request, made)
        for attempt in filter(is_kernel, made):
            self._previous = attempt


class Agent(Trials):
    """One model with tools in one long conversation.

    Each proposal request lasts until the agent hands in a kernel; the next one goes on with the same conversation, in
    which what became of that kernel is the answer. A proposal request that yields nothing is the agent's own end: it
    submitted its last word, or gave up.
    """

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._last: Attempt | None = None
        self._stopped = False

    def _next(self, number: int) -> ProposalRequest:
        last = self._last
        if last is None:
            return ProposalRequest(number=number, intent="seed", role=AGENT)
        intent = "improve" if works(last) else "repair"
        return ProposalRequest(number=number, intent=intent, parents=(last.number,), role=AGENT, dialogue="kept")

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        super()._learn(proposal_request, made)
        self._stopped = not made
        self._last = made[-1] if made else self._last

    def finished(self) -> str | None:
        """The target is met, every trial was made, or the agent stopped."""
        after = "the agent ended its work" if self._stopped else "max attempts"
        return self._tally.ending(over=self._stopped or self._closed >= self._trials, after=after)


class Reflective(Trials):
    """Generate, reflect on failures, improve on the ancestors: the roles of GEAK.

    A failed kernel is repaired after a reflector has said what to do. After `debug_limit` failed repairs in a row that line
    is left: for the ancestors, the best distinct kernels that work, or for a fresh seed where there are none. A working
    kernel leads to a better strategy, sought with the ancestors in view. The fastest of them stands first, since the first
    parent is the one that is edited; the others follow it in ascending performance.
    """

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._failed: Attempt | None = None
        self._debugged = 0
        self._ancestors: list[Attempt] = []
        """Distinct, the best first."""

    def _next(self, number: int) -> ProposalRequest:
        if self._failed is not None:
            order, hint = (
                f"Debugging attempt {self._debugged + 1} of {self._config.debug_limit}:",
                failure(self._failed),
            )
            parents: tuple[int, ...] = (self._failed.number,)
            return ProposalRequest(
                number=number, intent="repair", parents=parents, order=order, hint=hint, adviser=REFLECTOR
            )
        if not self._ancestors:
            return ProposalRequest(number=number, intent="seed")
        best, *others = self._ancestors
        parents = (best.number, *(a.number for a in reversed(others)))
        order = f"Best so far: {runtime(best)}. Find a better strategy."
        return ProposalRequest(number=number, intent="improve", parents=parents, order=order, look_up=True)

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        super()._learn(proposal_request, made)
        self._debugged += proposal_request.intent == "repair"
        for attempt in filter(is_kernel, made):
            self._failed = None if works(attempt) else attempt
            if works(attempt):
                self._ancestors = with_distinct(self._ancestors, attempt, self._config.ancestors)
        if self._failed is None or self._debugged >= self._config.debug_limit:
            self._failed, self._debugged = None, 0


class Evolutionary(Trials):
    """A population of the best distinct kernels, parents drawn from it, each child judged: AlphaEvolve's style.

    Each place in the population is half as likely a parent as the one above it; others stand beside it as inspirations.
    Until something works, the last failure is mended. The draw depends on the configuration's seed and the proposal request's
    number alone, so that a resumed run draws the same.
    """

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._population: list[Attempt] = []
        """The best first."""
        self._last: Attempt | None = None

    def _next(self, number: int) -> ProposalRequest:
        if self._population:
            return self._evolve(number)
        if self._last is None:
            return ProposalRequest(number=number, intent="seed")
        hint = f"Nothing works yet: {failure(self._last)}"
        return ProposalRequest(number=number, intent="repair", parents=(self._last.number,), hint=hint)

    def _evolve(self, number: int) -> ProposalRequest:
        draw = random.Random(f"{self._config.seed} {number}")
        people = self._population
        parent = draw.choices(people, weights=[0.5**place for place in range(len(people))])[0]
        others = [a for a in people if a is not parent]
        beside = draw.sample(others, min(self._config.inspirations, len(others)))
        inspirations = sorted(beside, key=people.index)
        # What became of the last child, if it failed: its parents' feedback cannot say.
        failed = [self._last] if self._last is not None and not works(self._last) else []
        hints = [f"The last child failed: {failure(child)}." for child in failed]
        order = (
            f"This kernel is number {people.index(parent) + 1} of {len(people)}: {runtime(parent)}. "
            f"Best so far: {runtime(people[0])}. Evolve it."
        )
        parents = (parent.number, *(a.number for a in (*inspirations, *failed)))
        return ProposalRequest(
            number=number, intent="improve", parents=parents, order=order, hint=" ".join(hints), look_up=True
        )

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        super()._learn(proposal_request, made)
        for attempt in filter(is_kernel, made):
            self._last = attempt
            if works(attempt):
                self._population = with_distinct(self._population, attempt, self._config.population)


_WORKFLOWS: dict[Workflow, type[OneShot] | type[Trials]] = {
    "refine": Refine,
    "one_shot": OneShot,
    "reflective": Reflective,
    "evolutionary": Evolutionary,
    "agent": Agent,
}
