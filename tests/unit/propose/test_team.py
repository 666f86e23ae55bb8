"""Several proposers in one search: who has which turn, who sees which memo, and what one that cannot leads to."""

import asyncio
from dataclasses import replace

import pytest

from kernelwright.errors import ProposeError
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.propose.team import Team
from kernelwright.records.attempt import Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.feedback import Feedback
from kernelwright.testing.samples import sample_attempt, sample_task


class Member:
    """Writes its name, and remembers whose memos it was shown."""

    def __init__(self, name, error=""):
        self.name, self.error, self.seen = name, error, []

    async def propose(self, brief):
        self.seen.append([parent.proposal.memo for parent in brief.parents])
        if self.error:
            raise ProposeError(self.error)
        return [Proposal(candidate=Candidate(language="cpp", source=self.name), note="made", memo=f"of {self.name}")]

    def refuse(self, task, language):
        if self.error:
            raise ProposeError(self.error)


def told(speedup):
    return Feedback.model_construct(speedup_eager=speedup)


def ask(team, number, *parents, tried=()):
    """What the team makes of a request whose parents are (writer, memo, speedup)."""
    attempts = []
    for n, (writer, memo, _) in enumerate(parents):
        made = sample_attempt(n, "measured")
        attempts.append(
            made.model_copy(update={"proposal": made.proposal.model_copy(update={"writer": writer, "memo": memo})})
        )
    request = ProposalRequest(
        number=number, intent="improve" if parents else "seed", parents=tuple(range(len(parents)))
    )
    brief = Brief(sample_task(), request, tuple(attempts), tuple(told(s) for *_, s in parents), seed=0)
    brief = replace(
        brief, run=RunFacts(tried=frozenset(Candidate(language="cpp", source=text).kernel_id for text in tried))
    )
    (made,) = asyncio.run(team.propose(brief))
    return made


@pytest.fixture
def pair():
    return Member("one"), Member("two")


@pytest.fixture
def team(pair):
    return Team({member.name: member for member in pair})


def test_each_opens_once_and_then_the_best_parent_s_writer_goes_on(team):
    assert ask(team, 0).candidate.source == "one"
    assert ask(team, 1, ("one", "x", 1.5)).candidate.source == "two"
    assert ask(team, 2, ("two", "y", 1.2), ("one", "x", 1.5)).candidate.source == "one"
    assert ask(team, 3, ("two", "y", 1.9), ("one", "x", 1.5)).candidate.source == "two"


@pytest.mark.parametrize(("speedup", "opens"), [(1.0, True), (2.0, True), (3.0, False)])
def test_what_starts_behind_a_kernel_of_the_run_does_not_open(pair, speedup, opens):
    """A sample's kernel is half as much faster than torch.compile as than eager."""
    pair[1].starts_as = "compile"
    team = Team({member.name: member for member in pair})
    parent = sample_attempt(0, "measured", speedup)
    parent = parent.model_copy(update={"proposal": parent.proposal.model_copy(update={"writer": "one"})})
    request = ProposalRequest(number=1, intent="improve", parents=(0,))
    brief = Brief(sample_task(), request, (parent,), (told(speedup),), seed=0)
    assert asyncio.run(team.propose(brief))[0].writer == ("two" if opens else "one")
    assert asyncio.run(team.propose(replace(brief, feedback=())))[0].writer == "two"


def test_a_member_sees_its_own_memos_alone(team, pair):
    assert ask(team, 5, ("two", "y", 1.2), ("one", "x", 1.5)).memo == "of one"
    assert pair[0].seen == [["", "x"]]


def test_one_that_cannot_says_so_and_the_next_one_goes_on():
    made = ask(Team({"one": Member("one"), "two": Member("two", "no lowering")}), 1, ("one", "x", 1.5))
    assert made.candidate.source == "one"
    assert made.writer == "one"
    assert made.note == "made; two: no lowering"


def test_one_that_has_nothing_new_gives_way_to_the_next_and_repeats_itself_where_nobody_has(team):
    made = ask(team, 3, ("one", "x", 1.5), tried=("one",))
    assert (made.candidate.source, made.note) == ("two", "made; one: nothing new")
    again = ask(team, 4, ("one", "x", 1.5), tried=("one", "two"))
    assert (again.candidate.source, again.note) == ("one", "made")


def test_an_answer_without_a_kernel_is_kept_each_time():
    empty = Member("")
    assert ask(Team({"one": empty, "two": Member("two")}), 3, ("one", "x", 1.5), tried=("",)).writer == "one"


def test_where_nobody_can_every_reason_is_told():
    with pytest.raises(ProposeError, match=r"one: no fft; two: no lowering"):
        ask(Team({"one": Member("one", "no fft"), "two": Member("two", "no lowering")}), 0)


def test_it_refuses_only_what_every_member_refuses():
    Team({"one": Member("one", "no fft"), "two": Member("two")}).refuse(sample_task(), None)
    with pytest.raises(ProposeError, match="no fft; no lowering"):
        Team({"one": Member("one", "no fft"), "two": Member("two", "no lowering")}).refuse(sample_task(), None)
