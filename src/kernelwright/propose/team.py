"""Several proposers in one search: each opens once, and then whoever wrote the best kernel goes on from it.

A member sees the memos of its own kernels alone. One that cannot write the task says so, and the next one is asked; as it is
where a member would only repeat kernels of the run, or would open with what the run is ahead of already: asking PyTorch's
compiler what it writes takes longer than judging several kernels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from kernelwright.errors import ProposeError
from kernelwright.propose.proposer import Brief, Informed, Proposer, Selective, Starting, Tuning
from kernelwright.records.attempt import Attempt, Proposal
from kernelwright.records.evaluation import Measured
from kernelwright.records.names import LanguageName
from kernelwright.records.run import TuningKey
from kernelwright.records.task import Task

TOGETHER = "+"
"""Between the names of a team's members."""


class Team:
    """See the module."""

    def __init__(self, members: Mapping[str, Proposer]) -> None:
        self._members = dict(members)
        named = [name for one in members.values() if isinstance(one, Informed) for name in one.held_against]
        if named:  # a team is `Informed` where a member is
            self.held_against = tuple(dict.fromkeys(named))

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """What the member whose turn it is proposes, or the first of the others that can write something new.

        Raises:
            ProposeError: none of them can write the task; the message has each one's reason.
        """
        reasons: list[str] = []
        known: list[Proposal] = []
        for name in self._order(brief):
            try:
                made = await self._members[name].propose(_with_memos_of(brief, name))
            except ProposeError as error:
                reasons.append(f"{name}: {error}")
                continue
            signed = [one.model_copy(update={"writer": name, "note": "; ".join([one.note, *reasons])}) for one in made]
            if not signed or any(_is_new(one, brief) for one in signed):
                return signed
            known = known or signed
            reasons.append(f"{name}: nothing new")
        if known:
            return known
        raise ProposeError("; ".join(reasons))

    def refuse(self, task: Task, language: LanguageName | None) -> None:
        """See `Selective.refuse`: only where every member knows that it cannot."""
        refusals: list[str] = []
        for member in self._members.values():
            if not isinstance(member, Selective):
                return
            try:
                member.refuse(task, language)
            except ProposeError as error:
                refusals.append(str(error))
            else:
                return
        raise ProposeError("; ".join(refusals))

    def tuning_key(self, task: Task, language: LanguageName | None) -> TuningKey | None:
        """See `Tuning.tuning_key`: the first member's that has one."""
        found = (one.tuning_key(task, language) for one in self._members.values() if isinstance(one, Tuning))
        return next((key for key in found if key is not None), None)

    def schedule_of(self, attempt: Attempt) -> dict[str, JsonValue] | None:
        """See `Tuning.schedule_of`."""
        member = self._members.get(attempt.proposal.writer)
        return member.schedule_of(attempt) if isinstance(member, Tuning) else None

    def _order(self, brief: Brief) -> list[str]:
        names, number = list(self._members), brief.proposal_request.number
        opens = number < len(names) and not _is_ahead(brief, self._members[names[number]])
        first = names[number] if opens else _writer_of_best(brief)
        return sorted(names, key=lambda name: name != first)


def _is_ahead(brief: Brief, member: Proposer) -> bool:
    """Whether a parent is surely faster than what the member would open with; withheld feedback tells nobody."""
    if not isinstance(member, Starting) or not brief.feedback:
        return False
    timed = [p.evaluation.timing for p in brief.parents if isinstance(p.evaluation, Measured)]
    found = (timing.against(member.starts_as) for timing in timed)
    return any(versus is not None and versus.verdict == "faster" for versus in found)


def _is_new(made: Proposal, brief: Brief) -> bool:
    """Whether the run has not tried it; a model's answer without a kernel was paid for, and counts each time."""
    return not made.candidate.source or made.candidate.kernel_id not in brief.run.tried


def _writer_of_best(brief: Brief) -> str:
    """Who wrote the fastest of the parents that the feedback tells of, or else the first parent."""
    speedups = {id(p): words.speedup_eager or 0.0 for p, words in zip(brief.parents, brief.feedback, strict=False)}
    best = max(brief.parents, key=lambda parent: speedups.get(id(parent), 0.0), default=None)
    return best.proposal.writer if best is not None else ""


def _with_memos_of(brief: Brief, name: str) -> Brief:
    """The brief with the memos that this member wrote, and none of another's."""
    without = (p.model_copy(update={"proposal": p.proposal.model_copy(update={"memo": ""})}) for p in brief.parents)
    parents = zip(brief.parents, without, strict=True)
    return replace(brief, parents=tuple(p if p.proposal.writer == name else other for p, other in parents))
