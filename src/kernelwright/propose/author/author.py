"""The built-in author: plan, schedule, source. It needs no model, no key and no network.

Each intent of a proposal request is one verb of the learner. The author is stateless, so that a resumed run proposes the
same: all that it knows of the past comes with the brief.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import JsonValue

from kernelwright.devices import kinds
from kernelwright.errors import ProposeError
from kernelwright.export.model_new import fixed
from kernelwright.languages import names_for
from kernelwright.propose.author.fault import declines
from kernelwright.propose.author.lower.choice import ORIGINAL, served
from kernelwright.propose.author.lower.other_sizes import other_sizes
from kernelwright.propose.author.lower.over_axes import Write, over_axes
from kernelwright.propose.author.search.designs import DESIGNS, Design, shape_class
from kernelwright.propose.author.search.learn import Learner, Memo, Past, Step, kept, read_memo
from kernelwright.propose.author.search.portfolio import Portfolio, chosen
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.free_sizes import OtherSizes
from kernelwright.records.names import LanguageName
from kernelwright.records.run import TuningKey
from kernelwright.records.task import Target, Task
from kernelwright.tasks.free_axes import Sizes, declared

S = TypeVar("S", bound=Record)
MOST_KEPT = 0.5
"""Of a task of which PyTorch keeps a larger share than this, nobody is told that a kernel is written."""
TRIES = 8
"""Further steps that are drawn until a kernel is a new one."""


class Author:
    """Writes C++ for the CPU and Triton for GPUs."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """`brief.proposal_request.count` proposals that differ.

        Raises:
            ProposeError: an operation, a dtype or a pattern of axes that it does not write.
        """
        made: list[Proposal] = []
        with declines(brief.task):
            language, design = _design(brief)
            for sibling in range(brief.proposal_request.count):
                tried = brief.run.tried | {one.candidate.kernel_id for one in made}
                made.append(_one(brief, language, design, sibling, tried))
        return made

    def refuse(self, task: Task, language: LanguageName | None) -> None:
        """See `Selective.refuse`."""
        first = ProposalRequest(number=0, intent="seed")
        try:
            brief = Brief(task, first, parents=(), feedback=(), seed=0, language=language)
            with declines(task):
                _one(brief, *_design(brief), 0, frozenset())
        except ProposeError as error:
            raise ProposeError(f"the built-in author cannot write this task: {error}{_elsewhere(task)}") from None

    def tuning_key(self, task: Task, language: LanguageName | None) -> TuningKey | None:
        """See `Tuning.tuning_key`."""
        written = next((name for name in names_for(task.target.kind) if name in DESIGNS), None)
        if written is None or language not in (None, written):
            return None
        try:
            with declines(task):
                design = DESIGNS[written](task)
        except ProposeError:
            return None
        return TuningKey(language=written, family=design.family, shape_class=shape_class(task))

    def schedule_of(self, attempt: Attempt) -> dict[str, JsonValue] | None:
        """See `Tuning.schedule_of`."""
        memo = read_memo(attempt.proposal.memo)
        return memo.schedule if memo is not None and memo.language in DESIGNS else None

    def other_sizes(self, task: Task, attempt: Attempt) -> OtherSizes | None:
        """The kernel of an attempt of its own for other sizes of the task's free axes; None: another's, or there is none."""
        memo, judged = read_memo(attempt.proposal.memo), attempt.proposal.candidate
        if memo is None or memo.language not in DESIGNS:
            return None

        elsewhere = _elsewhere_written(memo.language, memo.schedule)

        def write(other: Task) -> Candidate:
            made, own = elsewhere(other)
            made = made.at(judged.defines if own else ())
            return made.model_copy(update={"source": fixed(made)}) if made.language == "triton" else made

        if not task.parts:
            return other_sizes(task, write)
        # Over axes the judged text serves any sizes of a module; in C++ each size is compiled, so others need one text.
        free = declared(task)
        if free is None:
            return None
        text = other_sizes(task.model_copy(update={"free": free}), write) if memo.language == "cpp" else None
        text = text or OtherSizes(axes=(), source="")
        known = {axis.name: axis for axis in text.axes}
        fixed_ones = (a.model_copy(update={"low": a.size, "high": a.size}) for a in free.axes)
        axes = tuple(known.get(axis.name, axis) for axis in fixed_ones) if text.source else free.axes
        return text.model_copy(update={"axes": axes})


def _elsewhere_written(language: str, schedule: Mapping[str, Any]) -> Callable[[Task], tuple[Candidate, bool]]:
    """What writes a kernel of this schedule for a task at other sizes, and says whether the schedule is its own there.

    Where another size makes other kernels of it, the schedule is not theirs: then it is the first one's default.
    """
    own = frozenset(schedule)
    known: dict[frozenset[str], Mapping[str, Any]] = {own: schedule}

    def write(other: Task) -> tuple[Candidate, bool]:
        with declines(other):
            design = DESIGNS[language](other)
            names = frozenset(type(design.default).model_fields)
            fields = known.setdefault(names, design.default.model_dump())
            return design.write(type(design.default).model_validate(fields)), names == own

    return write


def _design(brief: Brief) -> tuple[str, Design]:
    """What is written for the brief's target, and how; each schedule is written once.

    Raises:
        ProposeError: nothing, or not in the language that the run names.
    """
    kind = brief.task.target.kind
    written = next((name for name in names_for(kind) if name in DESIGNS), None)
    if written is None:
        raise ProposeError(f"the built-in author writes {' and '.join(DESIGNS)}, and neither is for {kind}")
    if brief.language not in (None, written):
        raise ProposeError(f"the built-in author writes {written} for {kind} targets, not {brief.language}")
    design = DESIGNS[written](brief.task)
    return written, replace(design, write=functools.cache(_over_axes(brief.task, written) or design.write))


def _over_axes(task: Task, language: str) -> Callable[[Record | Portfolio], Candidate] | None:
    """What writes the kernel of a schedule, or of several, for all workloads; None where there is one workload."""
    if not task.parts:
        return None
    home = DESIGNS[language](task.main).default.model_dump()
    writers: dict[str, Write] = {}

    def way(schedule: Mapping[str, Any], there: Task) -> Write:
        """What writes a schedule: as far as it is not the default, it is the same at all sizes."""
        default, turned = DESIGNS[language](there).default, {n: v for n, v in schedule.items() if home.get(n) != v}
        fields = default.model_dump()
        fields |= {name: value for name, value in turned.items() if name in fields}
        elsewhere = _elsewhere_written(language, fields)
        return writers.setdefault(repr(sorted(fields.items())), lambda other: elsewhere(other)[0])

    def write(plan: Record | Portfolio) -> Candidate:
        with declines(task):
            if not isinstance(plan, Portfolio):
                one = plan.model_dump()
                return over_axes(task, lambda _, there: way(one, there))
            assert task.source.workloads is not None
            tree, members = plan.over(task.source.workloads), plan.members

            def pick(sizes: Sizes, there: Task) -> Write | None:
                number = served(tree, sizes)
                return way(members[number].schedule, there) if number != ORIGINAL else None

            return over_axes(task, pick)

    return write


def _one(brief: Brief, language: str, design: Design, sibling: int, tried: frozenset[str]) -> Proposal:
    """A kernel that the run has not tried, or the last of a few that it has: two ways may lead to one schedule."""
    seed = brief.seed + 1_000_003 * sibling
    past = Past(brief.parents, brief.feedback, brief.proposal_request.number, sibling, brief.proposal_request.count)
    learner = Learner(design.space, language, design.default, seed, lambda s: design.write(s).id, design.cost)
    step = _recalled(brief, sibling, learner) or _step(brief, past, learner)
    # What a hint names is asked for, whether it was tried or not.
    for _ in range(0 if brief.proposal_request.hint else TRIES):
        if design.write(step.schedule).kernel_id not in tried:
            break
        step = learner.another(past)
    memo = step.memo.model_copy(update={"kept": kept(brief.parents) if brief.feedback else ()})
    note = "; ".join(filter(None, (step.note, design.algebra, design.stays(brief.task))))
    if (several := _several(brief, memo, tried)) is not None:
        return several
    return Proposal(candidate=design.write(step.schedule), note=note, memo=memo.model_dump_json())


def _several(brief: Brief, memo: Memo, tried: frozenset[str]) -> Proposal | None:
    """A portfolio of what the lineage has measured, where that is better than each of them and was not tried."""
    workloads, write = brief.task.source.workloads, _over_axes(brief.task, memo.language)
    found = chosen(memo.kept, workloads) if workloads is not None and memo.kept else None
    if found is None or write is None or (candidate := write(found)).kernel_id in tried:
        return None
    note = f"a portfolio of {len(found.members)}: each workload's best so far, and PyTorch where none is faster"
    base = memo.model_copy(update={"schedule": found.members[0].schedule, "turned": (), "portfolio": found})
    return Proposal(candidate=candidate, note=note, memo=base.model_dump_json())


def _elsewhere(task: Task) -> str:
    """Of a task for a CPU, that the author does write most of it for a GPU, and what stays PyTorch's there."""
    gpu = kinds()["cuda"]
    if task.target.kind == gpu.name:
        return ""
    there = task.model_copy(update={"target": Target(kind=gpu.name, arch=gpu.usual, present=False)})
    try:
        with declines(there):
            design = DESIGNS["triton"](there)
    except ProposeError:
        return ""
    if design.share_kept(there) > MOST_KEPT:
        return ""
    kept = list(dict.fromkeys(step.node.op for step in design.program.kept))
    stays = f" ({', '.join(kept)} {'stays' if len(kept) == 1 else 'stay'} PyTorch's)" if kept else ""
    return f". For a GPU it writes it: --target {gpu.usual}{stays}"


def _recalled(brief: Brief, sibling: int, learner: Learner[S]) -> Step[S] | None:
    """What won in an earlier run, as a run's first try."""
    first = (brief.proposal_request.number, sibling) == (0, 0)
    if brief.tuned is None or not first or brief.tuned.key.language != learner.language:
        return None
    return learner.recalled(brief.tuned.schedule, f"won for {brief.tuned.task} in run {brief.tuned.run}")


def _step(brief: Brief, past: Past, learner: Learner[S]) -> Step[S]:
    intent = brief.proposal_request.intent
    if intent == "seed" or not brief.parents:
        # The default is measured and hard to beat by luck, so a run tries it before anything drawn.
        return learner.default() if (past.number, past.sibling) == (0, 0) else learner.start()
    if intent == "repair":
        return learner.repair(past)
    if intent == "apply-technique":
        return learner.apply(past, brief.proposal_request.hint)
    return learner.improve(past)
