"""fsr: rounds of N candidates; three verifiers in order; repair until one passes; the fastest seeds the next round.

Feature Search and Reinforcement, the loop of CUDA-LLM. Each round is sorted by compilation, then function, then
latency. While none passes, the candidate that came furthest is repaired, its dialogue kept. As soon as one passes, the
fastest of that round seeds the next performance round.

The paper repairs without end. Here a round is given up after `repair_limit` repairs in a row. The next one starts from
the fastest of the last round that had one, or with fresh seeds if there is none.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, Intent, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.search.reading import best_of, compiles, is_kernel, runtime, within, works
from kernelwright.search.strategy import CODER, ExpectedCalls, Limits, Rounds, StrategyConfig


class FsrConfig(StrategyConfig):
    """How wide, how deep, how patient."""

    languages: ClassVar[Mapping[str, str]] = {"cuda": "cuda"}

    name: Literal["fsr"] = "fsr"
    n: int = Field(default=5, ge=1)
    """Candidates of each round, repairs too. The paper's 5 whatever the budget that somebody names, which trims the last
    round: of 8 proposals, one round and three of the next."""
    depth: int = Field(default=3, ge=1)
    """Rounds, the first one included; repairs do not count."""
    repair_limit: int = Field(default=3, ge=0)
    """Most repairs in a row before a round is given up."""
    siblings: Literal["diverse", "alike"] = "diverse"
    """`diverse`: each candidate of a round but the first has a direction of its own, a limit that was measured or a technique;
    `alike`: one text for all, as in the paper."""
    requests: Literal["shared", "separate"] = "shared"
    """`shared`: one request asks for a round's N candidates. `separate`: N requests, as many in flight as `in_flight` allows,
    so that one candidate is judged while another is still being written."""

    def usual_proposals(self) -> int:
        """Every round with every repair, so that the depth is reached; rounds that pass at once spend far less."""
        return self.n * self.depth * (1 + self.repair_limit)

    def trials(self, proposals: int) -> int:
        """Every round with every repair, as far as the budget goes."""
        return min(self.usual_proposals(), proposals)

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """One conversation goes on from round to round."""
        calls = self.trials(proposals)
        return (ExpectedCalls(role=CODER, calls=calls, conversation=ceil(calls / self.n)),)

    def make(self, limits: Limits) -> "Fsr":
        """A fresh strategy."""
        return Fsr(self, limits)


class Round(Record):
    """What the three verifiers said of one round's candidates."""

    depth: int
    """From 1."""
    repair: int
    """0: the round itself; else which of its repairs."""
    made: tuple[int, ...]
    """Attempt numbers."""
    compiled: tuple[int, ...] = ()
    """V1: those of `made` that compile."""
    passed: tuple[int, ...] = ()
    """V2: those of V1 that are right, as far as this machine can tell."""
    latencies_us: tuple[float | None, ...] = ()
    """Call times of V2, in its order; None: not timed on this machine."""

    @property
    def words(self) -> str:
        """One line for people."""
        name = f"repair {self.repair}" if self.repair else f"round {self.depth}"
        times = [t for t in self.latencies_us if t is not None]
        fastest = f", fastest {min(times):.2f} us" if times else ""
        return f"{name}: {len(self.made)} made, {len(self.compiled)} compile, {len(self.passed)} pass{fastest}"


def verify(depth: int, repair: int, attempts: Sequence[Attempt]) -> Round:
    """Compilation, then function of what compiles, then latency of what passes."""
    compiled = [a for a in attempts if compiles(a)]
    passed = [a for a in compiled if works(a)]
    return Round(
        depth=depth,
        repair=repair,
        made=tuple(a.number for a in attempts),
        compiled=tuple(a.number for a in compiled),
        passed=tuple(a.number for a in passed),
        latencies_us=tuple(a.latency_us for a in passed),
    )


class Fsr(Rounds):
    """See the module."""

    def __init__(self, config: FsrConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._config = config
        self._target_us = limits.target_us
        self._depth = 1
        self._repair = 0
        self._fastest: Attempt | None = None
        self._furthest: Attempt | None = None
        self._best: Attempt | None = None
        self.rounds: list[Round] = []

    def _round(self, number: int) -> Sequence[ProposalRequest]:
        n = self._config.n
        if self._config.requests == "shared":
            return [self._proposal_request(number, n)]
        return [self._proposal_request(number + place, 1) for place in range(n)]

    def _proposal_request(self, number: int, n: int) -> ProposalRequest:
        intent: Intent = "repair" if self._furthest is not None else "improve"
        parent = self._furthest or self._fastest
        diverse = self._config.siblings == "diverse"
        if parent is None:
            return ProposalRequest(number=number, intent="seed", count=n, diverse=diverse)
        if intent == "repair":
            last, limit = self.rounds[-1], self._config.repair_limit
            order = (
                f"Repair {self._repair} of at most {limit}: of {len(last.made)} candidates {len(last.compiled)} compile "
                "and none gives the right output. This one came furthest."
            )
        else:
            order = (
                f"Performance round {self._depth} of {self._config.depth}: this kernel passed and is the fastest "
                f"of its round. Latency: {runtime(parent)}. Optimise its performance."
            )
        parents = (parent.number,)
        return ProposalRequest(
            number=number, intent=intent, parents=parents, order=order, count=n, diverse=diverse, dialogue="kept"
        )

    def _learn_round(self, asked: Sequence[ProposalRequest], made: Sequence[Attempt]) -> None:
        found = verify(self._depth, self._repair, made)
        self.rounds.append(found)
        passed = [a for a in made if a.number in found.passed]
        self._best = best_of([*([self._best] if self._best else []), *passed])
        if passed:
            self._fastest = best_of(passed)
            self._deepen()
        elif self._repair == self._config.repair_limit:
            self._deepen()
        else:
            self._repair += 1
            self._furthest = best_of(filter(is_kernel, made)) or self._furthest

    def _deepen(self) -> None:
        self._depth += 1
        self._repair = 0
        self._furthest = None

    def finished(self) -> str | None:
        """Once the last round passed or was given up, or the run's target is met."""
        if self._depth <= self._config.depth and not within(self._best, self._target_us):
            return None
        rounds = "; ".join(found.words for found in self.rounds)
        if self._best is None:
            return f"No candidate passed ({rounds})."
        return f"Fastest verified kernel over all rounds: {runtime(self._best)} ({rounds})."
