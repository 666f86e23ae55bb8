"""The built-in author: plan, schedule, source. It needs no model, no key and no network.

Each intent of a proposal request is one verb of the learner. The author is stateless, so that a resumed run proposes the
same: all that it knows of the past comes with the brief.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kernelwright.errors import ProposeError
from kernelwright.languages import names_for
from kernelwright.propose.author.learn import Learner, Past, Step
from kernelwright.propose.author.plan.lower import lower
from kernelwright.propose.author.schedule.cpp import CppSchedule, cpp_default, cpp_space
from kernelwright.propose.author.schedule.triton import TritonSchedule, triton_default, triton_space
from kernelwright.propose.author.source.cpp import write_cpp
from kernelwright.propose.author.source.triton import write_triton
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

S = TypeVar("S", bound=Record)


class Author:
    """Writes C++ for the CPU and Triton for GPUs."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """`brief.proposal_request.count` proposals that differ.

        Raises:
            ProposeError: an operation, a dtype or a pattern of axes that it does not write.
        """
        return [self._one(brief, number) for number in range(brief.proposal_request.count)]

    def refuse(self, task: Task, language: LanguageName | None) -> None:
        """See `Selective.refuse`."""
        first = ProposalRequest(number=0, intent="seed")
        self._one(Brief(task, first, parents=(), feedback=(), seed=0, language=language), 0)

    def _one(self, brief: Brief, sibling: int) -> Proposal:
        seed = brief.seed + 1_000_003 * sibling
        past = Past(brief.parents, brief.feedback, brief.proposal_request.number, sibling, brief.proposal_request.count)
        kind = brief.task.target.kind
        written = next((name for name in names_for(kind) if name in _WRITERS), None)
        if written is None:
            raise ProposeError(f"the built-in author writes {' and '.join(_WRITERS)}, and neither is for {kind}")
        if brief.language not in (None, written):
            raise ProposeError(f"the built-in author writes {written} for {kind} targets, not {brief.language}")
        return _WRITERS[written](brief, past, seed)


def _cpp(brief: Brief, past: Past, seed: int) -> Proposal:
    plan = lower(brief.task)

    def write(schedule: CppSchedule) -> Candidate:
        return write_cpp(plan, schedule)

    learner = Learner(cpp_space(plan), "cpp", cpp_default(plan), seed, lambda s: write(s).id)
    return _proposal(brief, past, learner, write, default_first=False)


def _triton(brief: Brief, past: Past, seed: int) -> Proposal:
    task = brief.task
    plan = lower(task)

    def write(schedule: TritonSchedule) -> Candidate:
        return write_triton(task, plan, schedule)

    learner = Learner(triton_space(plan), "triton", triton_default(plan), seed, lambda s: write(s).id)
    # The GPU's default is measured and hard to beat by luck, so a run tries it before anything drawn.
    return _proposal(brief, past, learner, write, default_first=True)


_WRITERS = {"cpp": _cpp, "triton": _triton}
"""By language."""


def _proposal(
    brief: Brief, past: Past, learner: Learner[S], write: Callable[[S], Candidate], *, default_first: bool
) -> Proposal:
    step = _step(brief, past, learner, default_first)
    return Proposal(candidate=write(step.schedule), note=step.note, memo=step.memo.model_dump_json())


def _step(brief: Brief, past: Past, learner: Learner[S], default_first: bool) -> Step[S]:
    intent = brief.proposal_request.intent
    if intent == "seed" or not brief.parents:
        first = default_first and (past.number, past.sibling) == (0, 0)
        return learner.default() if first else learner.start()
    if intent == "repair":
        return learner.repair(past)
    if intent == "apply-technique":
        return learner.apply(past, brief.proposal_request.hint)
    return learner.improve(past)
