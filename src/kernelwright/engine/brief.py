"""Makes the Brief that a proposer reads for one expansion.

In the control arm the proposer sees its first parent's source, and nothing that would reveal the parent's fate (not
even the intent, the role or the best parent).
"""

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.engine.config import RunConfig
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.records.attempt import Attempt, Cost, Expansion
from kernelwright.records.base import identity
from kernelwright.records.evaluation import Refused
from kernelwright.records.feedback import Feedback
from kernelwright.records.task import Task

WITHHELD = "withheld"
"""The reason on the stand-in evaluation of a parent whose fate is not told."""


def make_brief(
    task: Task, expansion: Expansion, seed: int, attempts: Sequence[Attempt], feedback: Sequence[Feedback]
) -> Brief:
    """The parents of an expansion with what they taught."""
    return Brief(
        task=task,
        expansion=expansion,
        parents=tuple(attempts[number] for number in expansion.parents),
        feedback=tuple(feedback[number] for number in expansion.parents),
        seed=expansion_seed(seed, expansion.number),
    )


def run_facts(config: RunConfig, spent: int, best: Attempt | None) -> RunFacts:
    """How a run stands that has told `spent` proposals."""
    trials = config.strategy.trials(config.budget.proposals)
    return RunFacts(trials, max(0, trials - spent), best.number if best is not None else None)


def expansion_seed(seed: int, expansion: int) -> int:
    """A seed of 64 bits from the run's seed and the expansion's number."""
    return int(identity("seed", {"run": seed, "expansion": expansion}), 16)


def withhold(brief: Brief) -> Brief:
    """The same brief without a trace of how the parents fared."""
    parents = brief.parents[:1]
    expansion = brief.expansion.model_copy(
        update={
            "intent": "improve" if parents else brief.expansion.intent,
            "parents": brief.expansion.parents[:1],
            "hint": "",
            "adviser": "",
            "look_up": False,
            "role": Expansion.model_fields["role"].default,
        }
    )
    blank = tuple(_blank(parent) for parent in parents)
    run = replace(brief.run, best=None)
    return replace(brief, expansion=expansion, parents=blank, feedback=(), run=run)


def _blank(parent: Attempt) -> Attempt:
    """The parent's source, at its default tunables, with an evaluation that says nothing."""
    candidate = parent.proposal.candidate
    if parent.swept > 1:
        candidate = candidate.model_copy(update={"defines": ()})
    return Attempt(
        number=parent.number,
        expansion=parent.expansion.model_copy(update={"intent": "seed", "parents": (), "hint": ""}),
        proposal=parent.proposal.model_copy(update={"candidate": candidate}),
        evaluation=Refused(reason=WITHHELD),
        cost=Cost(),
    )
