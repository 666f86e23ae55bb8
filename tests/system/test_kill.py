"""Runs are killed with SIGKILL at random instants, a hundred times in the long matrix, and resumed until they end.

After every kill: no attempt that was recorded is gone or changed, and nothing that the referee had
answered is asked again. At the end the run equals the one that nobody disturbed.
"""

import random
from pathlib import Path

import pytest
from zygote import Zygote, born

from kernelwright.records.policy import Policy
from kernelwright.store.cache import evaluation_key
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from lanes import sampled

KILLS = [(25, 3), (100, 5)]
"""Kills that hit, and runs that meet them, at least: in every lane, and in the long matrix. Every fourth run is sequential."""
LONGEST_LIFE_S = 0.12
LONGER = 1.03
"""Each life of a run may last longer than the one before it, so that a slow machine gets there too."""
MOST_KILLS = 150
"""Of one run, whose lives are then ten seconds long."""
ZYGOTE = Path(__file__).with_name("kill_zygote.py")


@pytest.fixture(scope="module")
def zygote():
    with born(ZYGOTE) as made:
        yield made


def recorded(folder: Path):
    """Attempts, and what the referee answered as `candidate effort`, in one look."""
    if not (folder / FILE).exists():
        return [], set()
    store = RunStore.open(folder)
    try:
        keys = store.evaluations().keys()
        answered = {
            f"{point.id} {effort}"
            for proposals in store.proposals().values()
            for proposal in proposals
            for point in proposal.candidate.points()
            for effort in ("search", "final")
            if evaluation_key(store.card.task, point, store.card.environment, Policy(), effort) in keys
        }
        assert len(answered) == len(keys)
        return store.attempts(), answered
    finally:
        store.close()


def everything(folder: Path):
    """All that must not depend on interruptions."""
    store = RunStore.open(folder)
    try:
        return (
            store.proposal_requests(),
            store.proposals(),
            store.attempts(),
            store.tells(),
            store.evaluations(),
            store.outcome(),
        )
    finally:
        store.close()


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def killed_until_done(zygote: Zygote, seed: int, folder: Path) -> int:
    """Kill and resume one run until it is complete; returns the number of kills that hit."""
    rng, kills, log = random.Random(seed), 0, folder.with_suffix(".log")
    attempts, answered, asked = [], set(), 0
    while True:
        longest_s = LONGEST_LIFE_S * LONGER**kills
        done = zygote.live(seed, folder, log, life_s=rng.uniform(0.005, longest_s))
        asked_now = lines(log)[asked:]
        context = f"seed {seed}, after {kills} kills"
        assert not answered & set(asked_now), f"{context}: asked again what was answered"
        assert len(set(asked_now)) == len(asked_now), f"{context}: asked twice in one life"
        before, (attempts, answered) = attempts, recorded(folder)
        assert attempts[: len(before)] == before, f"{context}: an attempt was lost or changed"
        asked += len(asked_now)
        if done:
            return kills
        kills += 1
        assert kills < MOST_KILLS, f"{context}: the run makes no progress"


@pytest.mark.parametrize(("least", "runs"), sampled(KILLS, lambda least, runs: least < 100))
def test_a_killed_run_equals_an_undisturbed_one(zygote, tmp_path, record_property, least, runs):
    kills, seed = 0, 0
    while kills < least or seed < runs:
        disturbed, calm = tmp_path / f"disturbed{seed}", tmp_path / f"calm{seed}"
        kills += killed_until_done(zygote, seed, disturbed)
        assert zygote.live(seed, calm, calm.with_suffix(".log"), life_s=None)
        assert everything(disturbed) == everything(calm), f"seed {seed}"
        seed += 1
    record_property("kills", kills)


def test_a_complete_run_is_left_alone(zygote, tmp_path):
    folder, log = tmp_path / "run", tmp_path / "run.log"
    assert zygote.live(0, folder, log, life_s=None)
    before, asked = everything(folder), lines(log)
    assert zygote.live(0, folder, log, life_s=None)
    assert everything(folder) == before
    assert lines(log) == asked
