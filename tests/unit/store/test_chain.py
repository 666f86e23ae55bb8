"""Rows prove themselves: what is exchanged, added, lost or moved is named; what was never sealed is said to be unproved."""

import os
import sqlite3
from contextlib import closing

import pytest

from kernelwright.errors import StoreError
from kernelwright.records.attempt import ProposalRequest
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.store.secret import find_secret, make_secret, secret_file
from kernelwright.testing.samples import sample_card


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path):
    with closing(RunStore.create(tmp_path / "run", sample_card())) as store:
        for number in range(4):
            store.ask(ProposalRequest(number=number, intent="seed", hint=f"hint {number}"))
    return tmp_path / "run"


def edit(folder, script):
    """As somebody who knows SQLite: the triggers are no obstacle."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(script)


def read(folder):
    with closing(RunStore.open(folder)) as store:
        return store.unproved, [asked.hint for asked in store.proposal_requests()]


def as_before_seals(folder):
    edit(folder, "DROP TABLE seals; DROP TABLE sealer; PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "UPDATE proposal_requests SET body = replace(body, 'hint 1', 'hint 9')",
            "row 1 of `proposal_requests` is not",
        ),
        ("DELETE FROM proposal_requests WHERE number = 2", "row 2 of `proposal_requests` is missing"),
        ("DELETE FROM proposal_requests WHERE number = 3; DELETE FROM seals WHERE row = 2", "is missing"),
        ("INSERT INTO proposal_requests SELECT 7, body FROM proposal_requests WHERE number = 1", "row 7 of"),
        ("UPDATE seals SET mark = (SELECT mark FROM seals WHERE number = 3) WHERE number = 2", "does not follow"),
        ("UPDATE sealer SET secret = ''", "does not follow"),
        ("DELETE FROM sealer", "who sealed it"),
        ("DROP TABLE seals", "belong together"),
        ("PRAGMA user_version = 2", "belong together"),
    ],
)
@pytest.mark.parametrize("writing", [False, True])
def test_a_broken_row_is_named(folder, script, said, writing):
    edit(folder, script)
    with pytest.raises(StoreError, match=said), closing(RunStore.open(folder, writing=writing)) as store:
        store.proposal_requests()


def test_a_run_from_before_seals_is_read_goes_on_and_is_said_to_be_unproved(folder):
    as_before_seals(folder)
    assert read(folder) == (
        "it was written by a version of kernelwright that did not seal its rows",
        [f"hint {n}" for n in range(4)],
    )
    with closing(RunStore.open(folder, writing=True)) as store:
        store.ask(ProposalRequest(number=4, intent="seed"))
        store.event("{}")
        assert (len(store.proposal_requests()), len(store.events())) == (5, 1)


def test_a_run_of_another_user_s_secret_is_shown_unproved_and_not_where_it_was_plainly_edited(folder):
    secret_file().unlink()
    make_secret()
    unproved, hints = read(folder)
    assert ("another user" in unproved, len(hints)) == (True, 4)
    edit(folder, "UPDATE proposal_requests SET body = replace(body, 'hint 1', 'hint 9')")
    with pytest.raises(StoreError, match="row 1"):
        read(folder)


def test_where_no_secret_can_be_kept_runs_work_and_are_unproved(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    RunStore.create(tmp_path / "run", sample_card()).close()
    assert "no secret could be kept" in read(tmp_path / "run")[0]


def test_a_reader_beside_a_writer_sees_what_was_added_and_believes_it(folder):
    with closing(RunStore.open(folder)) as reader, closing(RunStore.open(folder, writing=True)) as writer:
        assert len(reader.proposal_requests()) == 4
        writer.ask(ProposalRequest(number=4, intent="seed"))
        assert len(reader.proposal_requests()) == 5


def test_the_secret_is_this_user_s_alone_and_lies_outside_of_runs(folder):
    assert secret_file().stat().st_mode & 0o777 == 0o600
    assert folder not in secret_file().parents
    assert make_secret() == find_secret()
    assert find_secret().key.hex() not in str(find_secret().id)


def test_what_others_could_have_changed_is_refused_with_the_cure(folder):
    (folder / FILE).chmod(0o666)
    with pytest.raises(StoreError, match="chmod go-w"):
        read(folder)
    (folder / FILE).chmod(0o644)
    secret_file().chmod(0o640)
    with pytest.raises(StoreError, match="chmod go-rwx"):
        read(folder)


def test_a_link_is_not_followed(folder, tmp_path):
    (folder / FILE).rename(tmp_path / "elsewhere")
    (folder / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="link"):
        read(folder)


def test_a_file_of_another_user_is_refused(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(StoreError, match="another user"):
        read(folder)
