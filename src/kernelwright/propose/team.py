"""Several proposers in one search: each opens once, and then whoever wrote the best kernel goes on from it.

A member sees the memos of its own kernels alone. One that cannot write the task says so, and the next one is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.errors import ProposeError
from kernelwright.propose.proposer import Brief, Informed, Proposer, Selective
from kernelwright.records.attempt import Attempt, Proposal
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

TOGETHER = "+"
"""Between the names of a team's members."""
_MARK = "\n"
"""Behind the member's name in a memo of the team."""


class Team:
    """See the module."""

    def __init__(self, members: Mapping[str, Proposer]) -> None:
        self._members = dict(members)
        named = [name for one in members.values() if isinstance(one, Informed) for name in one.held_against]
        if named:  # a team is `Informed` where a member is
            self.held_against = tuple(dict.fromkeys(named))

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """What the member whose turn it is proposes, or the first of the others that can.

        Raises:
            ProposeError: none of them can write the task; the message has each one's reason.
        """
        reasons: list[str] = []
        for name in self._order(brief):
            try:
                made = await self._members[name].propose(_own(brief, name))
            except ProposeError as error:
                reasons.append(f"{name}: {error}")
                continue
            return [_marked(one, name, reasons) for one in made]
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

    def _order(self, brief: Brief) -> list[str]:
        names, number = list(self._members), brief.proposal_request.number
        first = names[number] if number < len(names) else _owner(brief)
        return sorted(names, key=lambda name: name != first)


def _owner(brief: Brief) -> str:
    """Who wrote the fastest of the parents that the feedback tells of, or else the first parent."""
    told = {id(p): words.speedup_eager or 0.0 for p, words in zip(brief.parents, brief.feedback, strict=False)}
    best = max(brief.parents, key=lambda parent: told.get(id(parent), 0.0), default=None)
    return best.proposal.memo.partition(_MARK)[0] if best is not None else ""


def _own(brief: Brief, name: str) -> Brief:
    """The brief with the memos that this member wrote, and none of another's."""
    return replace(brief, parents=tuple(_unmarked(parent, name) for parent in brief.parents))


def _unmarked(parent: Attempt, name: str) -> Attempt:
    owner, _, memo = parent.proposal.memo.partition(_MARK)
    mine = parent.proposal.model_copy(update={"memo": memo if owner == name else ""})
    return parent.model_copy(update={"proposal": mine})


def _marked(made: Proposal, name: str, reasons: Sequence[str]) -> Proposal:
    note = "; ".join([made.note, *reasons])
    return made.model_copy(update={"memo": f"{name}{_MARK}{made.memo}", "note": note})
