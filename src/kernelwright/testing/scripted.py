"""Scripted parts: a proposer and an evaluator that play a run from a seed, without any compiler.

Outcomes depend on the seed and the candidate alone, so that a run can be repeated, killed and resumed and still be the
same run. The candidates' source is one number, its quality: a better parent with feedback leads to better children, so
that strategies can be seen to learn.
"""

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernelwright.engine.events import Listener, silent
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import RefereeError, TaskError
from kernelwright.propose.proposer import Brief
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.attempt import Attempt, Proposal
from kernelwright.records.candidate import Candidate, Tunable
from kernelwright.records.evaluation import OUTCOMES, Evaluation
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, BuildFacts, Yardstick
from kernelwright.records.policy import Effort
from kernelwright.records.profile import Profile
from kernelwright.records.run import Check, Environment
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.cache import EvaluationCache
from kernelwright.testing.samples import (
    sample_environment,
    sample_evaluation,
    sample_measured,
    sample_profile,
    sample_task,
)


@dataclass
class ScriptedProposer:
    """Proposes small integers; with feedback it climbs from its best parent, without it drifts."""

    qualities: int = 40
    """Sources differ by their quality, from 0 to this: few qualities, and candidates are met again."""
    tunables: tuple[Tunable, ...] = ()
    delay_s: float = 0.0
    error: Exception | None = None
    """Raised instead of an answer."""
    answers: int | None = None
    """How many proposal requests get an answer before the proposer runs dry; None: all."""
    briefs: list[Brief] = field(default_factory=list)
    """What was asked, in order."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """As many proposals as were asked for."""
        self.briefs.append(brief)
        rng = random.Random(brief.seed)
        await asyncio.sleep(rng.random() * self.delay_s)
        if self.error is not None:
            raise self.error
        if self.answers is not None and brief.proposal_request.number >= self.answers:
            return []
        return [self._proposal(self._quality(brief, rng)) for _ in range(brief.proposal_request.count)]

    def _quality(self, brief: Brief, rng: random.Random) -> int:
        if not brief.parents:
            return rng.randint(0, self.qualities // 4)
        start = max(quality(p) for p in brief.parents) if brief.feedback else quality(brief.parents[0])
        step = rng.choice((0, 1, 2, 4)) if brief.feedback else rng.choice((-2, -1, 0, 1, 2))
        return min(max(start + step, 0), self.qualities)

    def _proposal(self, number: int) -> Proposal:
        source = f"// quality {number}\n"
        candidate = Candidate(language="cpp", source=source, entry="kernel", tunables=self.tunables)
        return Proposal(candidate=candidate, note=f"quality {number}", tokens=10, usd=0.001)


def quality(attempt: Attempt) -> int:
    """The number in a scripted attempt's source."""
    return source_quality(attempt.proposal.candidate)


def source_quality(candidate: Candidate) -> int:
    """The number in a scripted candidate's source; 0 for a source of another origin."""
    found = re.search(r"quality (\d+)", candidate.source)
    return int(found.group(1)) if found else 0


@dataclass
class ScriptedEvaluator:
    """Judges by the seed: each candidate has one outcome, whenever it is asked."""

    seed: int = 0
    outcomes: Sequence[str] = OUTCOMES
    """Drawn from for each candidate; repeat a name to make it more likely."""
    delay_s: float = 0.0
    """Longest time that an evaluation takes; each takes its own part of it."""
    breaks: int = 0
    """How many of the first evaluations raise RefereeError."""
    refuted: Sequence[int] = ()
    """Qualities that are found wrong when they are measured again."""
    log: Path | None = None
    """Each evaluation that begins adds a line here: the candidate's id and the effort."""
    calls: list[str] = field(default_factory=list)
    """Ids of the candidates that were really evaluated, in order."""
    closed: bool = False
    held_against: Yardstick = field(default_factory=Yardstick)
    """Figures of no baseline unless some are given."""

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """The sample task; a source that says `raise` cannot be admitted."""
        if "raise" in source.source:
            raise TaskError(f"task {source.name!r} raises when it is run: correct it")
        return sample_task(target, source.name).model_copy(update={"source": source})

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """Fit, with one figure; a source that says `warn` has a warning."""
        task = await self.admit(source, target)
        status: Literal["warned", "passed"] = "warned" if "warn" in source.source else "passed"
        return Fitness(checks=(Checked(name="duration", status=status, figure="1 us a call"),), task=task)

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """The candidate's outcome, after its delay."""
        self.calls.append(candidate.id)
        self._write(f"{candidate.id} {effort}\n")
        rng = random.Random(f"{self.seed} {candidate.id} {effort}")
        await asyncio.sleep(rng.random() * self.delay_s)
        if self.breaks > 0:
            self.breaks -= 1
            raise RefereeError("the scripted referee broke: this is a test")
        if effort == "final":
            return self._final(candidate)
        outcome = random.Random(f"{self.seed} {candidate.id}").choice(self.outcomes)
        return sample_evaluation(outcome, self._speedup(candidate))

    async def build(self, task: Task, candidate: Candidate) -> Evaluation:
        """Built, unless the candidate's outcome is that it cannot be."""
        outcome = random.Random(f"{self.seed} {candidate.id}").choice(self.outcomes)
        return sample_evaluation(outcome if outcome in ("refused", "build_failed") else "compiled")

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """The sample profile, of this candidate."""
        return sample_profile().model_copy(update={"task": task.id, "candidate": candidate.id})

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """The same errors again, or wrong if it is to be found wrong."""
        self._write(f"{candidate.id} replay\n")
        if source_quality(candidate) in self.refuted:
            return sample_evaluation("incorrect")
        return sample_evaluation("verified").model_copy(update={"seeds": tuple(seeds)})

    async def lower(self, task: Task, options: Options) -> Lowering:
        """There is no PyTorch here."""
        return Lowering(missing="a scripted evaluator has no compiler")

    async def yardstick(self, task: Task, names: Sequence[BaselineName]) -> Yardstick:
        """What it was given, the same for every task."""
        return self.held_against

    async def environment(self, target: Target | None = None) -> Environment:
        """A machine that does not exist."""
        return sample_environment()

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _final(self, candidate: Candidate) -> Evaluation:
        if source_quality(candidate) in self.refuted:
            return sample_evaluation("incorrect")
        return sample_measured(self._speedup(candidate), final=True)

    def _speedup(self, candidate: Candidate) -> float:
        tuned = sum(define.value for define in candidate.defines)
        return 1.0 + source_quality(candidate) / 10 + tuned / 1000

    def _write(self, line: str) -> None:
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(line)


def scripted_suppliers(
    evaluator: ScriptedEvaluator | None = None,
    proposer: ScriptedProposer | None = None,
    listener: Listener = silent,
    cache: EvaluationCache | None = None,
) -> Suppliers:
    """Every part scripted; the kernel's file and the page say what they were made from."""
    return Suppliers(
        evaluator=lambda policy, place, note: evaluator or ScriptedEvaluator(outcomes=("measured",)),
        proposer=lambda name: proposer or ScriptedProposer(),
        wrap=lambda task, candidate, other: f"# {task.name}\n{candidate.source}",
        render=lambda card, attempts, outcome, turns, files: f"<p>{card.id}: {len(attempts)} attempts</p>",
        present=lambda card, attempts, outcome, turns: f"{card.id}: {len(attempts)} attempts",
        examine=lambda: [Check(name="compiler", status="ok", detail="scripted")],
        cache=lambda: cache,
        states=lambda: None,
        tuning=lambda: None,
        listener=listener,
    )
