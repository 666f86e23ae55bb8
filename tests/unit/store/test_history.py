"""A store's attempts and messages, read as far as they are asked for."""

import sqlite3
from contextlib import closing

import pytest

from kernelwright.errors import StoreError
from kernelwright.records.brief import brief_of, briefs, numbered
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.records.run import Message
from kernelwright.store import database
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_attempt, sample_card


@pytest.fixture
def store(tmp_path):
    with closing(RunStore.create(tmp_path / "run", sample_card())) as made:
        for number, outcome in enumerate(OUTCOMES):
            attempt = sample_attempt(number, outcome)
            made.ask(attempt.proposal_request)
            made.append(attempt)
        yield made


def test_the_history_is_the_list_of_attempts(store):
    assert list(store.history()) == store.attempts()
    assert store.history()[-1] == store.attempts()[-1]
    assert store.history()[1:3] == store.attempts()[1:3]
    assert len(store.history()) == len(OUTCOMES)


def test_its_briefs_are_those_of_the_attempts_and_grow_with_the_run(store):
    assert list(store.history().briefs()) == [brief_of(a) for a in store.attempts()]
    more = sample_attempt(len(OUTCOMES))
    store.ask(more.proposal_request)
    store.append(more)
    assert briefs(store.history())[-1] == brief_of(more)


def test_what_is_not_there_is_none_of_its_attempts(store):
    assert numbered(store.history(), 99) is None
    assert numbered(store.attempts(), 99) is None
    with pytest.raises(IndexError):
        store.history()[99]


def test_only_the_attempt_that_is_asked_for_is_read(store):
    store.history().briefs()
    read = []
    proved = store._database._proved
    store._database._proved = lambda *asked: read.append(found := proved(*asked)) or found
    assert store.history()[4].number == 4
    assert [row for found in read for row, _ in found] == [4]


def test_one_attempt_is_proved_and_one_that_was_taken_away_is_missed(store):
    file = store.folder / FILE
    with closing(sqlite3.connect(file)) as connection, connection:
        for verb in ("UPDATE", "DELETE"):
            connection.execute(f"DROP TRIGGER attempts_no_{verb}")
        connection.execute("UPDATE attempts SET body = replace(body, '1.0', '9.0') WHERE number = 0")
        connection.execute("DELETE FROM attempts WHERE number = 3")
    with pytest.raises(StoreError, match="row 0 of `attempts` is not what was written"):
        store.history()[0]
    with pytest.raises(StoreError, match="row 3 of `attempts` is missing"):
        store.history()[3]
    assert store.history()[1].number == 1
    with pytest.raises(StoreError, match="was changed after it was written"):
        store.history().briefs()


def test_a_long_table_is_proved_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "AT_ONCE", 4)
    with closing(RunStore.create(tmp_path / "long", sample_card())) as made:
        for number in range(11):
            made.message(Message(number=number, proposal_request=0, role="coder", kind="diagnosis", text=str(number)))
        assert [m.number for m in made.conversations()] == list(range(11))
        with closing(sqlite3.connect(made.folder / FILE)) as connection, connection:
            connection.execute("DROP TRIGGER messages_no_DELETE")
            connection.execute("DELETE FROM messages WHERE number = 6")
        with pytest.raises(StoreError, match="row 6 of `messages` is missing"):
            list(made.conversations())


def test_conversations_can_be_gone_through_again(store):
    for number in range(3):
        store.message(Message(number=number, proposal_request=0, role="coder", kind="diagnosis", text=str(number)))
    assert list(store.conversations()) == list(store.conversations()) == store.messages()
