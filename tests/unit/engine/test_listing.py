"""A list of runs: what was summed up is not read again, and a journal that changed is."""

import sqlite3
from contextlib import closing

import pytest

from kernelwright.engine import listing
from kernelwright.engine.listing import list_runs
from kernelwright.records.run import Outcome
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.store.summaries import summaries_file
from kernelwright.testing.samples import sample_attempt, sample_card


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch):
    """The folders whose journals were read."""
    seen, summed = [], listing._summed
    monkeypatch.setattr(listing, "_summed", lambda folder: seen.append(folder.name) or summed(folder))
    return seen


def run(folder, complete=True):
    with closing(RunStore.create(folder, sample_card())) as store:
        attempt = sample_attempt()
        store.ask(attempt.proposal_request)
        store.append(attempt)
        store.finish(Outcome(best=0, stopped="done", complete=complete))


def test_a_finished_run_is_read_once_and_one_that_goes_on_each_time(tmp_path, read):
    run(tmp_path / "runs/done")
    run(tmp_path / "runs/open", complete=False)
    first = list_runs(tmp_path / "runs")
    assert list_runs(tmp_path / "runs") == first
    assert read == ["done", "open", "open"]


def test_a_journal_that_changed_is_read_again(tmp_path, read):
    run(tmp_path / "runs/a")
    list_runs(tmp_path / "runs")
    with closing(sqlite3.connect(tmp_path / "runs/a" / FILE)) as connection, connection:
        connection.execute("INSERT INTO events VALUES (0, 'now', '{}')")
    list_runs(tmp_path / "runs")
    assert read == ["a", "a"]


def test_a_run_that_moved_says_where_it_is(tmp_path):
    run(tmp_path / "runs/a")
    list_runs(tmp_path / "runs")
    (tmp_path / "runs/a").rename(tmp_path / "runs/b")
    assert [one.folder for one in list_runs(tmp_path / "runs")] == [str(tmp_path / "runs/b")]


def test_other_code_sums_up_again(tmp_path, read, monkeypatch):
    run(tmp_path / "runs/a")
    list_runs(tmp_path / "runs")
    monkeypatch.setattr(listing, "judge_digest", lambda parts: "another")
    list_runs(tmp_path / "runs")
    assert read == ["a", "a"]


def test_a_cache_that_is_no_cache_is_as_good_as_none(tmp_path, read):
    run(tmp_path / "runs/a")
    summaries_file().parent.mkdir(parents=True)
    summaries_file().write_text("no database")
    assert [one.attempts for one in list_runs(tmp_path / "runs")] == [1]
    assert read == ["a"]


def test_nobody_else_may_write_the_cache(tmp_path):
    run(tmp_path / "runs/a")
    list_runs(tmp_path / "runs")
    assert summaries_file().stat().st_mode & 0o077 == 0
