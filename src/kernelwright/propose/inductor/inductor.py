"""The proposer `inductor`: what `torch.compile` writes for the task, with what is free in it searched as the author searches.

It asks the run's gateway, which has the task's code and PyTorch's compiler in a confined process; here text is rewritten.
Where Inductor writes nothing that stands alone, it says so, and in a team another one goes on.
"""

from collections.abc import Awaitable, Callable, Sequence

from kernelwright import languages
from kernelwright.devices import kinds
from kernelwright.errors import ProposeError
from kernelwright.propose.author.search.learn import Learner, Past, Step
from kernelwright.propose.inductor.cpp import must_change_nothing, write_cpp
from kernelwright.propose.inductor.schedule import SPACES, Launching, TritonLaunches, options_of
from kernelwright.propose.inductor.text import UnreadableError, read
from kernelwright.propose.inductor.triton import write_triton
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

USUAL = "usual"
TRIES = 4
"""Settings that are tried until the kernel is a new one: most settings mean nothing for most tasks."""


class Inductor:
    """See the module. It is stateless: all that it knows of the past comes with the brief."""

    starts_as: BaselineName = "compile"
    """See `Starting`."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """`brief.proposal_request.count` proposals that differ.

        Raises:
            ProposeError: Inductor writes nothing for the task, or what it writes cannot be made to stand alone.
        """
        made: list[Proposal] = []
        for number in range(brief.proposal_request.count):
            made.append(await self._new(brief, number, brief.run.tried | {one.candidate.kernel_id for one in made}))
        return made

    def refuse(self, task: Task, language: LanguageName | None) -> None:
        """See `Selective.refuse`: what can be known before Inductor is asked what it makes of the task."""
        if languages.language(_language(task, language)).form == "function":
            must_change_nothing(task)

    async def _new(self, brief: Brief, sibling: int, tried: frozenset[str]) -> Proposal:
        """A kernel that the run has not tried, or the last of a few that it has."""
        count = brief.proposal_request.count
        for again in range(TRIES):
            proposal = await self._one(brief, sibling + again * count)
            if proposal.candidate.kernel_id not in tried:
                break
        return proposal

    async def _one(self, brief: Brief, sibling: int) -> Proposal:
        language = _language(brief.task, brief.language)
        step = _step(brief, language, sibling)
        try:
            candidate = await first_written(brief.task, brief.gateway.lower, step.schedule)
            return Proposal(candidate=candidate, note=_note(step), memo=step.memo.model_dump_json())
        except ProposeError:
            plain = step.schedule.model_copy(update={"variant": USUAL})
            if plain == step.schedule:
                raise
        memo = step.memo.model_copy(update={"schedule": plain.model_dump()})
        candidate = await first_written(brief.task, brief.gateway.lower, plain)
        return Proposal(candidate=candidate, note=f"{_note(step)}, which it cannot", memo=memo.model_dump_json())


async def first_written(task: Task, lower: Callable[[Options], Awaitable[Lowering]], schedule: Launching) -> Candidate:
    """What `torch.compile` writes, by the first of the schedule's options whose text can be made to stand alone.

    Raises:
        ProposeError: there is none; the reason is that of the first options.
    """
    reason = None
    for options in options_of(schedule):
        try:
            return write(task, await lower(options), schedule)
        except ProposeError as error:
            reason = reason or error
    assert reason is not None
    raise reason


def write(task: Task, lowering: Lowering, schedule: Launching) -> Candidate:
    """A lowering as a candidate.

    Raises:
        ProposeError: there is none, or it cannot be made to stand alone.
    """
    if lowering.missing:
        raise ProposeError(f"torch.compile writes nothing for {task.name!r} here: {lowering.missing}")
    try:
        wrapper = read(lowering.text)
        if isinstance(schedule, TritonLaunches):
            return write_triton(task, lowering, wrapper, schedule)
        return write_cpp(task, wrapper, schedule)
    except UnreadableError as error:
        raise ProposeError(f"what torch.compile writes for {task.name!r} does not stand alone: {error}") from None


def usual(task: Task) -> Launching:
    """The schedule that leaves everything as Inductor has it.

    Raises:
        ProposeError: Inductor writes nothing for the task's target.
    """
    found: Launching = SPACES[_language(task, None)].record()
    return found


def _language(task: Task, wanted: LanguageName | None) -> str:
    """What Inductor writes for the task's target.

    Raises:
        ProposeError: nothing, or not what is wanted.
    """
    kind = task.target.kind
    written = next((name for name in languages.names_for(kind) if name in SPACES), None)
    if written is None or not kinds()[kind].inductor:
        raise ProposeError(f"torch.compile is not asked for {kind} targets")
    if wanted not in (None, written):
        raise ProposeError(f"torch.compile writes {written} for {kind} targets, not {wanted}")
    return written


def _step(brief: Brief, language: str, sibling: int) -> Step[Launching]:
    request, space = brief.proposal_request, SPACES[language]
    past = Past(brief.parents, brief.feedback, request.number, sibling, request.count)
    learner = Learner(space, f"inductor {language}", space.record(), brief.seed + 1_000_003 * sibling)
    own = [p for p in brief.parents if p.proposal.memo]
    if not own:
        return learner.default() if sibling == 0 else learner.start()
    if request.intent == "repair":
        return learner.repair(past)
    return learner.improve(past)


def _note(step: Step[Launching]) -> str:
    return f"torch.compile's own kernels, {step.note}"
