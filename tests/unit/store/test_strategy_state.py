"""What strategies remember: one file, whole merges, each run counted once."""

import threading

import pytest

from kernelwright.errors import StoreError
from kernelwright.store.memory import StateKey, StrategyStates, state_file

KEY = StateKey("graph", "Some GPU", "reduction")


@pytest.fixture
def states(tmp_path):
    return StrategyStates(tmp_path / "below" / "states.sqlite")


def test_nothing_is_known_before_the_first_run_and_no_file_is_made(states):
    assert states.read(KEY) is None
    assert not states.file.exists()


def test_what_is_merged_is_read_back_for_its_key_alone(states):
    states.merge(KEY, "run-1", lambda stored: {"was": stored, "edges": [0.1, 2, None, "é"]})
    assert states.read(KEY) == {"was": None, "edges": [0.1, 2, None, "é"]}
    for other in (KEY._replace(strategy="x"), KEY._replace(device="x"), KEY._replace(family="x")):
        assert states.read(other) is None


def test_a_run_counts_once(states):
    for run in ("run-1", "run-2", "run-1"):
        states.merge(KEY, run, lambda stored: (stored or 0) + 1)
    assert states.read(KEY) == 2


def test_a_merge_that_fails_leaves_what_was_there_and_may_be_made_again(states):
    states.merge(KEY, "run-1", lambda stored: 1)
    with pytest.raises(ZeroDivisionError):
        states.merge(KEY, "run-2", lambda stored: 1 / 0)
    assert states.read(KEY) == 1
    states.merge(KEY, "run-2", lambda stored: stored + 1)
    assert states.read(KEY) == 2


def test_runs_that_merge_at_once_lose_nothing(states):
    def work(thread):
        for number in range(10):
            states.merge(KEY, f"{thread}-{number}", lambda stored: (stored or 0) + 1)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states.read(KEY) == 40


def test_a_file_that_is_none_is_said(states):
    states.file.parent.mkdir()
    states.file.write_text("no database " * 100)
    with pytest.raises(StoreError, match="remove the file"):
        states.read(KEY)


def test_the_file_is_this_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_file().parent == tmp_path / "kernelwright"
