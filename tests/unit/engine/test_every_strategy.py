"""Each strategy through the real loop: with the scripted proposer, and with the built-in author, whatever the outcomes."""

import pytest

from kernelwright.propose.author.author import Author
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.search.table import spelled, spellings
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer

STRATEGIES = [
    *(spelled(text) for text in spellings()),
    {"name": "fsr", "n": 3},
    {"name": "fsr", "n": 3, "requests": "separate"},
]
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: "-".join(map(str, s.values())))


class RecordingAuthor(Author):
    """The author, with its briefs kept."""

    def __init__(self):
        super().__init__()
        self.briefs = []

    async def propose(self, brief):
        self.briefs.append(brief)
        return await super().propose(brief)


@each_strategy
def test_the_budget_is_never_passed_and_every_attempt_is_told(play, strategy):
    evaluator = ScriptedEvaluator(outcomes=OUTCOMES, seed=4)
    played = play(evaluator, strategy=strategy, in_flight=3, budget={"proposals": 11})
    assert played.ending.error is None
    assert 1 <= len(played.attempts) <= 11
    assert len(played.store.tells()) == len(played.attempts)
    assert played.outcome.stopped


@each_strategy
def test_the_author_finds_a_measured_kernel(play, strategy):
    played = play(proposer=RecordingAuthor(), strategy=strategy, budget={"proposals": 6})
    assert played.outcome.final.evaluation.outcome == "measured"
    assert {b.proposal_request.role for b in played.briefs} <= {"coder", "frontend", "midend", "agent"}


@each_strategy
def test_a_resumed_search_goes_where_it_went(play, strategy):
    settings = {"strategy": strategy, "in_flight": 2, "budget": {"proposals": 9}}
    first = play(ScriptedEvaluator(seed=2), **settings)
    again = play(ScriptedEvaluator(seed=2), folder=first.folder, **settings)
    assert (again.calls, again.briefs) == ([], [])
    assert again.attempts == first.attempts
    assert again.outcome == first.outcome


@each_strategy
def test_a_proposer_that_never_answers_ends_the_search(play, strategy):
    played = play(proposer=ScriptedProposer(answers=0), strategy=strategy, budget={"proposals": 5})
    assert played.attempts == []
    assert played.outcome.best is None


def test_each_agent_of_the_pair_is_paid_by_its_own_reward(play):
    settings = {"strategy": {"name": "frontend_midend"}, "reward": "frontend_midend", "budget": {"proposals": 6}}
    played = play(ScriptedEvaluator(outcomes=("measured",)), **settings)
    rewards = [tell.reward for tell in played.store.tells()]
    assert [a.proposal_request.role for a in played.attempts] == ["frontend"] + ["midend"] * 5
    assert rewards[0] == 1.0
    assert all(0 < reward <= 3.0 for reward in rewards[1:])
