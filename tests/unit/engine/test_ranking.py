"""The ranking: more is asked for than is evaluated, what is dropped is on record, and what is told is learned."""

import json

from kernelwright.engine.stored_runs import learn
from kernelwright.reward.predictor.experience import read_rows
from kernelwright.testing.scripted import ScriptedProposer, quality, source_quality

FOUR = {"budget": {"proposals": 4}}


class Prefers:
    """Likes small qualities."""

    def __init__(self):
        self.learned, self.built = [], []

    def scores(self, task, candidates):
        self.built += [built for _, built in candidates]
        return [-source_quality(candidate) for candidate, _ in candidates]

    def learn(self, task, attempt, reward):
        self.learned.append((attempt.number, reward))


RANKED = FOUR | {"predictor": {"oversample": 5}, "strategy": {"name": "best_of_n"}}


def test_a_predictor_chooses_among_more_proposals_than_are_evaluated_and_learns(play):
    predictor, proposer = Prefers(), ScriptedProposer()
    played = play(proposer=proposer, forecaster=predictor, **RANKED)
    assert [brief.proposal_request.count for brief in proposer.briefs] == [5] * 4
    assert len(played.attempts) == 4
    assert {e.outcome for e in predictor.built} == {"compiled"}
    assert predictor.learned == [(tell.attempt, tell.reward) for tell in played.store.tells()]
    assert len(predictor.learned) == 4
    plain = play(**RANKED | {"predictor": None})
    assert sum(map(quality, played.attempts)) < sum(map(quality, plain.attempts))


def test_a_ranking_is_journaled_with_the_compilers_time(play):
    played = play(forecaster=Prefers(), **RANKED)
    rankings = [message for message in played.store.messages() if message.role == "predictor"]
    assert len(rankings) == 4
    rows = [json.loads(message.text) for message in rankings]
    assert [ranking[0]["note"] for ranking in rows] == [attempt.proposal.note for attempt in played.attempts]
    assert all([row["dropped"] for row in ranking] == [False] + [True] * 4 for ranking in rows)
    assert all("source" not in ranking[0] and all(row["source"] for row in ranking[1:]) for ranking in rows)
    booked = played.of("spent")[-1].spent.device_s
    assert booked >= sum(a.cost.device_s for a in played.attempts)


def test_an_agent_is_asked_for_one_since_its_tools_run_before_any_ranking(play):
    predictor, proposer = Prefers(), ScriptedProposer()
    agent = {"strategy": {"name": "tritongym", "workflow": "agent"}}
    played = play(proposer=proposer, forecaster=predictor, **RANKED | agent)
    assert [brief.proposal_request.count for brief in proposer.briefs] == [1] * 4
    assert not predictor.built, "one proposal needs no ranking"
    assert len(predictor.learned) == len(played.attempts) == 4


def test_what_a_search_was_told_is_in_its_experience(play, tmp_path):
    played = play(**FOUR)
    fresh = [attempt.number for attempt in played.attempts if attempt.known is None]
    assert learn([played.folder], tmp_path / "past.jsonl") == len(fresh) > 0
    told = dict(played.store.tells())
    assert [row.reward for row in read_rows(tmp_path / "past.jsonl")] == [told[number] for number in fresh]


def test_a_resumed_run_ranks_as_it_did(play):
    whole = play(forecaster=Prefers(), **RANKED)
    again = play(forecaster=Prefers(), folder=whole.folder, **RANKED)
    assert again.attempts == whole.attempts
    assert len(again.store.messages()) == 4
