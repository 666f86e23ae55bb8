"""The search cache: found again, never a suspicion or a weakened verdict, and no trouble ends anything."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from types import SimpleNamespace

import pytest

from kernelwright.records.evaluation import EVALUATION, OUTCOMES
from kernelwright.records.measure import Load
from kernelwright.store import cache as cache_module
from kernelwright.store.cache import KEPT, EvaluationCache, Kept, cache_file, judge_digest
from kernelwright.testing.samples import sample_evaluation, sample_measured


@pytest.fixture
def file(tmp_path):
    return tmp_path / "below" / "evaluations.sqlite"


@pytest.fixture
def cache(file):
    made = EvaluationCache(file)
    yield made
    made.close()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_a_kernel_is_is_kept_and_what_a_machine_may_have_caused_is_not(cache, file, outcome):
    found = sample_evaluation(outcome)
    cache.keep("key", "run", found)
    again = EvaluationCache(file)
    assert again.find("key") == (Kept("run", found) if outcome in KEPT else None)
    again.close()
    assert outcome in KEPT or outcome in {"suspect", "crashed", "timed_out"}


def test_a_verdict_without_a_defence_and_one_with_known_seeds_are_not_kept(cache):
    cache.keep("weak", "run", sample_measured().model_copy(update={"disabled": ("poison",)}))
    cache.keep("final", "run", sample_measured().model_copy(update={"seeds": (1, 2)}))
    assert cache.find("weak") is None
    assert cache.find("final") is None


@pytest.mark.parametrize(
    ("low", "high", "kept"), [(1.0, 1.5, True), (1.0, 1.6, False), (0.0, 0.0, True), (0.0, 2.0, False)]
)
def test_a_time_that_a_busy_machine_blurred_is_not_kept(cache, low, high, kept):
    found = sample_measured()
    blurred = found.timing.against("eager").speedup.model_copy(update={"low": low, "high": high})
    versus = (found.timing.against("eager").model_copy(update={"speedup": blurred}),)
    cache.keep("key", "run", found.model_copy(update={"timing": found.timing.model_copy(update={"versus": versus})}))
    assert (cache.find("key") is not None) == kept


@pytest.mark.parametrize(("during", "kept"), [(0.05, True), (1.0, False)])
def test_a_time_beside_other_work_is_not_kept(cache, during, kept):
    found = sample_measured()
    load = Load(cores=2, during=during)
    cache.keep("key", "run", found.model_copy(update={"timing": found.timing.model_copy(update={"load": load})}))
    assert (cache.find("key") is not None) == kept


def test_a_trainer_s_cache_keeps_time_limits_and_times_beside_neighbours(file):
    trainer = EvaluationCache(file, doubtful=True)
    found = sample_measured()
    load = Load(cores=2, neighbours=3, on_device=True)
    beside = found.model_copy(update={"timing": found.timing.model_copy(update={"load": load})})
    for key, evaluation in {"beside": beside, "late": sample_evaluation("timed_out")}.items():
        trainer.keep(key, "training", evaluation)
        assert trainer.find(key) == Kept("training", evaluation)
    for key, evaluation in {
        "weak": found.model_copy(update={"disabled": ("poison",)}),
        "crash": sample_evaluation("crashed"),
    }.items():
        trainer.keep(key, "training", evaluation)
        assert trainer.find(key) is None
    trainer.close()


def test_the_first_one_stays(cache):
    cache.keep("key", "first", sample_measured(2.0))
    cache.keep("key", "second", sample_measured(3.0))
    assert cache.find("key") == Kept("first", sample_measured(2.0))


def test_another_referee_does_not_take_over(cache, monkeypatch):
    cache.keep("key", "run", sample_measured())
    assert len(judge_digest()) == 16
    monkeypatch.setattr(cache_module, "judge_digest", lambda: "another")
    assert cache.find("key") is None


def test_the_file_is_this_user_s_alone_and_where_caches_are(cache, file, monkeypatch, tmp_path):
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file().parent == cache_file("training").parent == tmp_path / "kernelwright"
    assert cache_file() != cache_file("training")


@pytest.mark.parametrize("body", ["{", '{"outcome": "measured"}', '{"outcome": "of another version"}'])
def test_a_row_that_cannot_be_read_is_not_there(cache, body, monkeypatch):
    written = SimpleNamespace(dump_json=lambda _: body.encode(), validate_json=EVALUATION.validate_json)
    monkeypatch.setattr(cache_module, "EVALUATION", written)
    cache.keep("key", "run", sample_measured())
    assert cache.find("key") is None
    assert cache.trouble is None


FORGED = EVALUATION.dump_json(sample_measured(9.0)).decode()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (f"UPDATE evaluations SET body = '{FORGED}' WHERE number = 1", "row 1 is not"),
        ("UPDATE evaluations SET body = (SELECT body FROM evaluations WHERE number = 2) WHERE number = 1", "row 1 is not"),
        ("UPDATE evaluations SET run = 'another'", "row 1 is not"),
        ("UPDATE evaluations SET key = key || 'x' WHERE number = 1; UPDATE evaluations SET key = (SELECT rtrim(key, 'x') "
         "FROM evaluations WHERE number = 1) WHERE number = 2", "row 2 is not"),
        ("DELETE FROM evaluations WHERE number = 2", "taken out"),
        ("DELETE FROM evaluations WHERE number = 3", "taken out"),
        ("UPDATE evaluations SET number = number + 7", "taken out"),
    ],
)  # fmt: skip
def test_a_forged_file_is_not_believed_and_the_next_reader_says_so(cache, file, script, said):
    for number in range(3):
        cache.keep(str(number), "run", sample_measured(2.0 + number))
    connection = sqlite3.connect(file)
    connection.executescript(script)
    connection.close()
    again = EvaluationCache(file)
    assert again.find("0") is None or again.find("1") is None
    assert said in again.trouble


def test_what_another_user_s_secret_sealed_is_not_there_and_no_trouble(cache, file, tmp_path, monkeypatch):
    cache.keep("key", "run", sample_measured())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    other = EvaluationCache(file)
    assert other.find("key") is None
    other.keep("key", "other", sample_measured(3.0))
    assert other.find("key").run == "other"
    assert cache.find("key").run == "run"
    assert (cache.trouble, other.trouble) == (None, None)


def test_two_versions_share_a_file_and_take_over_nothing_of_each_other(cache, file, monkeypatch):
    other = EvaluationCache(file)
    for number in range(5):
        cache.keep(str(number), "one", sample_measured())
        with monkeypatch.context() as version:
            version.setattr(cache_module, "judge_digest", lambda: "another version")
            assert other.find(str(number)) is None
            other.keep(str(number), "two", sample_measured(3.0))
            assert other.find(str(number)).run == "two"
        assert cache.find(str(number)).run == "one"
    assert (cache.trouble, other.trouble, EvaluationCache(file).trouble) == (None, None, None)


@pytest.mark.parametrize("harm", ["link", "mode", "owner"])
def test_a_file_that_others_can_change_is_refused_with_the_cure(cache, file, harm, monkeypatch):
    cache.keep("key", "run", sample_measured())
    cache.close()
    if harm == "link":
        file.rename(file.with_suffix(".moved"))
        file.symlink_to(file.with_suffix(".moved"))
    elif harm == "mode":
        file.chmod(0o666)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    again = EvaluationCache(file)
    assert again.find("key") is None
    assert {"link": "put the file itself", "mode": "chmod go-w", "owner": "another user"}[harm] in again.trouble


def test_a_corrupt_file_is_a_trouble_to_tell_and_no_error(file):
    file.parent.mkdir()
    file.write_bytes(b"not a database" * 1000)
    cache = EvaluationCache(file)
    assert "not a database" in cache.trouble
    assert "--no-cache" in cache.trouble
    cache.keep("key", "run", sample_measured())
    assert cache.find("key") is None
    assert file.read_bytes().startswith(b"not a database"), "nothing is repaired in silence"


def test_a_place_that_cannot_be_written_is_a_trouble(tmp_path):
    (tmp_path / "file").write_text("")
    cache = EvaluationCache(tmp_path / "file" / "evaluations.sqlite")
    assert "could not be opened" in cache.trouble
    cache.close()


def test_a_full_disk_is_a_trouble_and_what_was_kept_stays(cache, file, monkeypatch):
    cache.keep("key", "run", sample_measured())
    cache._connection.execute("PRAGMA max_page_count = 1")
    for number in range(50):
        cache.keep(f"more {number}", "run", sample_measured())
    assert "full" in cache.trouble
    again = EvaluationCache(file)
    assert again.find("key") is not None
    again.close()


def test_the_oldest_tenth_goes_when_the_file_is_large(cache, monkeypatch):
    for number in range(20):
        cache.keep(str(number), "run", sample_measured())
    monkeypatch.setattr(cache_module, "MOST_BYTES", 1)
    cache.keep("20", "run", sample_measured())
    assert [cache.find(str(n)) is None for n in range(21)] == [True] * 3 + [False] * 18


def test_many_writers_at_once_lose_nothing(file):
    def write(number):
        cache = EvaluationCache(file)
        for key in range(10):
            cache.keep(f"{number} {key}", "run", sample_measured())
        trouble = cache.trouble
        cache.close()
        return trouble

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, range(4))) == [None] * 4
    cache = EvaluationCache(file)
    assert all(cache.find(f"{number} {key}") for number in range(4) for key in range(10))
    cache.close()


def test_it_is_opened_behind_somebody_who_is_about_to_write_to_a_new_file(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    other = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    later = Timer(0.3, other.rollback)
    later.start()
    cache = EvaluationCache(file)
    later.join()
    assert cache.trouble is None
    cache.close()
    other.close()


KILLED = """
import sys
from pathlib import Path
from kernelwright.store.cache import EvaluationCache
from kernelwright.testing.samples import sample_measured
cache = EvaluationCache(Path(sys.argv[1]))
number = 0
while True:
    cache.keep(str(number), "run", sample_measured())
    print(number, flush=True)
    number += 1
"""


def test_a_writer_that_is_killed_leaves_a_whole_cache(file):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True)
    last = [int(process.stdout.readline()) for _ in range(20)][-1]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    cache = EvaluationCache(file)
    assert all(cache.find(str(number)) for number in range(last + 1))
    assert cache.trouble is None
    cache.close()
