"""The journal keeps what it is given, refuses what would change it, and explains its failures."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kernelwright.errors import StoreError
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.records.run import Message, Outcome
from kernelwright.store.database import FILE, Database
from kernelwright.store.run import RunStore, Tell
from kernelwright.testing.samples import sample_attempt, sample_card, sample_evaluation, sample_measured

TABLES = (
    "card",
    "proposal_requests",
    "proposals",
    "evaluations",
    "attempts",
    "tells",
    "messages",
    "events",
    "outcomes",
)


@pytest.fixture
def store(tmp_path: Path):
    made = RunStore.create(tmp_path / "run", sample_card())
    yield made
    made.close()


def fill(store: RunStore) -> None:
    """One row in every table."""
    attempt = sample_attempt()
    store.ask(attempt.proposal_request)
    store.propose(0, [attempt.proposal])
    store.evaluate("key", attempt.evaluation)
    store.append(attempt)
    store.tell(0, 1.5)
    store.message(Message(number=0, proposal_request=0, role="author", kind="prompt", text="write"))
    store.event("{}")
    store.finish(Outcome(best=0, stopped="done"))


def test_everything_is_read_back_equal(store):
    fill(store)
    attempt = sample_attempt()
    with_reader = RunStore.open(store.folder)
    assert with_reader.card == sample_card()
    assert with_reader.attempts() == [attempt]
    assert with_reader.proposal_requests() == [attempt.proposal_request]
    assert with_reader.proposals() == {0: (attempt.proposal,)}
    assert with_reader.evaluations() == {"key": (attempt.evaluation,)}
    assert with_reader.tells() == [Tell(0, 1.5)]
    assert with_reader.messages()[0].text == "write"
    assert with_reader.events() == ["{}"]
    assert with_reader.outcome() == Outcome(best=0, stopped="done")
    with_reader.close()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_attempt_of_every_outcome_survives(store, outcome):
    attempt = sample_attempt(0, outcome)
    store.ask(attempt.proposal_request)
    store.append(attempt)
    assert store.attempts() == [attempt]


def test_a_repeated_evaluation_is_a_numbered_sample(store):
    samples = (sample_measured(2.0), sample_measured(3.0), sample_evaluation("incorrect"))
    for sample in samples:
        store.evaluate("key", sample)
    assert store.evaluations() == {"key": samples}


def test_an_attempt_number_is_taken_once(store):
    fill(store)
    with pytest.raises(StoreError, match="UNIQUE"):
        store.append(sample_attempt())


def test_an_attempt_needs_its_expansion(store):
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.append(sample_attempt())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", ["DELETE FROM {0}", "UPDATE {0} SET rowid = rowid + 1"])
def test_no_row_is_ever_changed(store, table, change):
    fill(store)
    store.close()
    with (
        closing(sqlite3.connect(store.folder / FILE)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(change.format(table))


def test_the_last_outcome_counts(store):
    assert store.outcome() is None
    store.finish(Outcome(best=None, stopped="interrupted", complete=False))
    store.finish(Outcome(best=None, stopped="done"))
    assert store.outcome() == Outcome(best=None, stopped="done")


def test_a_missing_run_says_where_to_look(tmp_path):
    with pytest.raises(StoreError, match="no run at"):
        RunStore.open(tmp_path)


def test_a_second_run_in_the_same_folder_is_refused(store):
    with pytest.raises(StoreError, match="kernelwright resume"):
        RunStore.create(store.folder, sample_card())


def test_one_writer_at_a_time_and_readers_beside_it(store):
    with pytest.raises(StoreError, match="another process"):
        RunStore.open(store.folder, writing=True)
    RunStore.open(store.folder).close()
    store.close()
    RunStore.open(store.folder, writing=True).close()


def test_garbage_is_called_corrupt(store):
    store.close()
    (store.folder / FILE).write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match="corrupt"):
        RunStore.open(store.folder)


def test_an_empty_file_is_no_run(tmp_path):
    (tmp_path / FILE).touch()
    with pytest.raises(StoreError, match="schema 0"):
        RunStore.open(tmp_path)


def test_overwritten_pages_are_called_corrupt(store):
    fill(store)
    store.close()
    path = store.folder / FILE
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="corrupt"):
        RunStore.open(store.folder).attempts()


def test_another_schema_version_is_refused(store):
    store.close()
    with closing(sqlite3.connect(store.folder / FILE)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="schema 99"):
        RunStore.open(store.folder)


def test_a_row_of_another_shape_is_explained(store):
    store._database.add("proposal_requests", 0, "{}")
    with pytest.raises(StoreError, match="cannot read"):
        store.proposal_requests()


def test_a_row_of_another_hand_is_not_believed(store):
    store.close()
    with closing(sqlite3.connect(store.folder / FILE)) as connection:
        connection.execute("INSERT INTO proposal_requests VALUES (0, '{}')")
        connection.commit()
    with pytest.raises(StoreError, match="added by another hand"):
        RunStore.open(store.folder).proposal_requests()


def test_a_card_that_cannot_be_read_leaves_no_lock_behind(tmp_path):
    Database.create(tmp_path, "{}").close()
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot read"):
            RunStore.open(tmp_path, writing=True)


@pytest.mark.parametrize("writing", [False, True])
def test_a_file_that_may_not_be_read_is_explained_and_leaves_no_lock_behind(store, monkeypatch, writing):
    store.close()

    def refused(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", refused)
        with pytest.raises(StoreError, match="check the folder's permissions"):
            RunStore.open(store.folder, writing=writing)
    RunStore.open(store.folder, writing=True).close()


def test_a_full_disk_says_so_and_loses_nothing(store):
    store.ask(ProposalRequest(number=0, intent="seed"))
    (pages,) = store._database.read("PRAGMA page_count")[0]
    store._database.read(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"is full.*kernelwright resume"):
        for number in range(1, 10_000):
            store.ask(ProposalRequest(number=number, intent="seed", hint="x" * 1000))
    kept = len(store.proposal_requests())
    store.close()
    assert len(RunStore.open(store.folder).proposal_requests()) == kept >= 1


def test_a_disk_that_is_full_at_the_start_leaves_nothing_to_go_on_with_and_says_so(tmp_path, monkeypatch):
    class Full(sqlite3.Connection):
        def executescript(self, _):
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=Full))
        with pytest.raises(StoreError, match=r"is full.*had not begun.*start again") as raised:
            RunStore.create(tmp_path / "run", sample_card())
    assert "resume" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        RunStore.create(tmp_path / "file" / "run", sample_card())


def test_a_run_whose_creation_was_killed_is_made_again(tmp_path):
    for suffix in ("", "-journal", "-wal", "-shm"):
        (tmp_path / f"{FILE}.new{suffix}").write_bytes(b"half")
    RunStore.create(tmp_path, sample_card()).close()
    assert RunStore.open(tmp_path).card == sample_card()
    assert [file.name for file in tmp_path.iterdir() if ".new" in file.name] == []


def test_a_reader_cannot_write(store):
    with pytest.raises(StoreError, match="readonly"):
        RunStore.open(store.folder).append(sample_attempt())
