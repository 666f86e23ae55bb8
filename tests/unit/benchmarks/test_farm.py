"""The simulated farm: it plays the real pool, gets through what was recorded, and loses no job with its nodes."""

import asyncio
import importlib
import json
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the bench by its name; the warm-up is short."""
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(importlib.import_module("farming.scene"), "WARM_S", 60.0)
    return importlib.import_module


@pytest.fixture
def played(bench):
    """Figures of a case."""
    farm = bench("farm")
    return lambda *case, **more: farm.simulated(farm.Case("case", *case, **more), farm.recorded())


def test_hours_pass_at_once_and_in_order(bench):
    async def scene():
        clock, seen = asyncio.get_running_loop().time, []
        for hours in (3, 1, 2):
            asyncio.get_running_loop().call_later(3600 * hours, lambda h=hours: seen.append((h, clock())))
        assert await asyncio.to_thread(len, "four") == 4
        await asyncio.sleep(4 * 3600)
        return seen

    begun = time.monotonic()
    assert bench("farming.clock").play(scene()) == [(h, 3600.0 * h) for h in (1, 2, 3)]
    assert time.monotonic() - begun < 60


def test_who_waits_for_nothing_is_told(bench):
    with pytest.raises(RuntimeError, match="everybody waits"):
        bench("farming.clock").play(asyncio.Event().wait())


def test_one_gpu_gets_through_what_one_did(played):
    then = json.loads((BENCH / "results" / "mix-nvidia-h200.json").read_text())["summary"]["per_minute"]
    assert played(1, 9, 1200.0)["verdicts_an_hour"] / 60 == pytest.approx(then, rel=0.15)


def test_workers_keep_to_the_tasks_that_they_know(played):
    found = played(8, 32, 90.0)
    assert found["utilisation"] + found["admitting"] > 0.9
    assert found["admitting"] < 0.4


def test_lost_nodes_lose_no_job_and_hold_nobody_up(played):
    found = played(16, 32, 120.0, lose_every_s=60.0, back_s=30.0)
    assert found["nodes_lost"] > 1
    assert (found["jobs_unanswered"], found["jobs_failed"]) == (0, 0)
    assert max(user["worst_s"] for user in found["users"].values()) < 120


def test_a_search_beside_a_thousand_jobs_goes_on(played):
    users = played(8, 2, 60.0, at_once=1000)["users"]
    assert users["B"]["median_s"] < users["A"]["median_s"] / 2


def test_the_driver_bounds_the_rate(played):
    assert played(16, 64, 60.0, driver_s=1.0)["verdicts_an_hour"] == pytest.approx(3600, rel=0.05)
