"""The built-in author: plan, schedule, source. It needs no model, no key and no network.

Decides nothing about where to look: each intent of an expansion is one verb of the learner. Stateless, so
that a resumed run proposes the same: all that it knows of the past comes with the brief.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kernelwright.propose.author.learn import Learner, Step
from kernelwright.propose.author.plan.lower import lower
from kernelwright.propose.author.schedule.cpp import CppSchedule, cpp_default, cpp_space
from kernelwright.propose.author.schedule.triton import TritonSchedule, triton_default, triton_space
from kernelwright.propose.author.source.cpp import write_cpp
from kernelwright.propose.author.source.triton import write_triton
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate

S = TypeVar("S", bound=Record)


class Author:
    """Writes C++ for cpu targets and Triton for cuda targets."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """`brief.expansion.count` proposals that differ.

        Raises:
            ProposeError: an operation, a dtype or a pattern of axes that it does not write.
        """
        return [self._one(brief, number) for number in range(brief.expansion.count)]

    def _one(self, brief: Brief, number: int) -> Proposal:
        seed = brief.seed + 1_000_003 * number
        if brief.task.target.kind == "cpu":
            return _cpp(brief, seed)
        return _triton(brief, seed)


def _cpp(brief: Brief, seed: int) -> Proposal:
    plan = lower(brief.task)
    learner = Learner[CppSchedule](cpp_space(plan), "cpp", seed)
    return _proposal(brief, learner, cpp_default(plan), lambda schedule: write_cpp(plan, schedule))


def _triton(brief: Brief, seed: int) -> Proposal:
    task = brief.task
    plan = lower(task)
    learner = Learner[TritonSchedule](triton_space(plan), "triton", seed)
    return _proposal(
        brief, learner, triton_default(plan), lambda schedule: write_triton(task, plan, schedule)
    )


def _proposal(brief: Brief, learner: Learner[S], default: S, write: Callable[[S], Candidate]) -> Proposal:
    step = _step(brief, learner, default)
    return Proposal(candidate=write(step.schedule), note=step.note, memo=step.memo.model_dump_json())


def _step(brief: Brief, learner: Learner[S], default: S) -> Step[S]:
    expansion, parents, feedback = brief.expansion, brief.parents, brief.feedback
    if expansion.intent == "seed" or not parents:
        return learner.start(default)
    if expansion.intent == "repair":
        return learner.repair(default, parents, feedback)
    if expansion.intent == "apply-technique":
        return learner.apply(default, parents, feedback, expansion.hint)
    return learner.improve(default, parents, feedback)
