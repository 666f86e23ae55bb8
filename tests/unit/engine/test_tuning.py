"""What a run takes from the tuning cache and leaves there: an order of trial, and only what a clock has seen."""

import asyncio

import pytest

from kernelwright.engine.config import load_config
from kernelwright.engine.run import keep_schedule, with_tuned_schedule
from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.candidate import Define
from kernelwright.records.run import TuningEntry, TuningKey
from kernelwright.records.task import Target
from kernelwright.store.memory import TuningCache
from kernelwright.testing.samples import sample_attempt, sample_card, sample_task

KEY = TuningKey(language="cpp", family="rows(block)", shape_class="float32")
CONFIG = load_config(None, {})


class Tuner:
    """One key for every task, one schedule for every attempt."""

    async def propose(self, brief):
        return []

    def tuning_key(self, task, language):
        return KEY

    def schedule_of(self, attempt):
        return {"block": 1024, "order": "rows"}


@pytest.fixture
def cache(tmp_path):
    return TuningCache(tmp_path / "tuning.json")


@pytest.fixture
def card():
    return sample_card(sample_task(Target(kind="cpu", arch="native", present=True)))


def attempt(outcome="measured"):
    made = sample_attempt(0, outcome)
    candidate = made.proposal.candidate.model_copy(update={"defines": (Define(name="BLOCK", value=4096),)})
    return made.model_copy(update={"proposal": made.proposal.model_copy(update={"candidate": candidate})})


def test_what_won_is_on_the_card_of_the_next_run(cache, card):
    assert with_tuned_schedule(card, CONFIG, Tuner(), cache).tuned is None
    assert keep_schedule(card, CONFIG, Tuner(), attempt(), cache) is None
    found = with_tuned_schedule(card, CONFIG, Tuner(), cache).tuned
    assert (found.run, found.task, found.schedule) == (card.id, card.task.name, {"block": 4096, "order": "rows"})


@pytest.mark.parametrize("settings", [{"cache": False}, {"withhold_feedback": True}])
def test_a_run_that_keeps_to_itself_takes_nothing(cache, card, settings):
    keep_schedule(card, CONFIG, Tuner(), attempt(), cache)
    assert with_tuned_schedule(card, load_config(None, settings), Tuner(), cache).tuned is None


def test_what_was_not_measured_or_has_no_schedule_is_not_kept(cache, card):
    keep_schedule(card, CONFIG, Tuner(), attempt("verified"), cache)
    keep_schedule(card, CONFIG, Tuner(), None, cache)
    assert not cache.file.exists()


def test_a_cache_that_cannot_be_written_is_told_and_loses_no_run(tmp_path, card):
    (tmp_path / "file").write_text("")
    told = keep_schedule(card, CONFIG, Tuner(), attempt(), TuningCache(tmp_path / "file" / "tuning.json"))
    assert "later runs will not try this schedule first" in told


def author_first(schedule):
    entry = TuningEntry(
        key=KEY, device="d", schedule=schedule, speedup=2.0, task="other", run="r7"
    )  # fmt: skip
    task = sample_task(Target(kind="cpu", arch="native", present=True))
    brief = Brief(task, ProposalRequest(number=0, intent="seed"), (), (), seed=0, tuned=entry)
    return asyncio.run(Author().propose(brief))[0], Author().schedule_of


def test_the_author_tries_it_first_where_it_fits_its_space():
    made, _ = author_first({"prefetch": "next", "unroll": "loops"})
    assert made.note.startswith("won for other in run r7")
    assert '"prefetch":"next"' in made.memo
    assert not author_first({"prefetch": "sometimes"})[0].note.startswith("won")
