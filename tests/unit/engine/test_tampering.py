"""Edits of what is stored, one by one, as somebody makes them who knows the formats: the next command that reads it says so.

`docs/store.md` has this as a table.
"""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.journal import Journal
from kernelwright.engine.listing import list_runs
from kernelwright.engine.receipts import VerifyRequest, verify
from kernelwright.engine.run import Parts, run
from kernelwright.engine.session import go_on
from kernelwright.engine.stored_runs import RECEIPT, learn, report
from kernelwright.errors import ReceiptError, StoreError
from kernelwright.records.receipt import content_hash
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.store.secret import find_secret, secret_file
from kernelwright.testing.samples import sample_card, sample_measured
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, scripted_suppliers


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two finished runs with receipts, `run` and `other`, and a cache of three rows."""
    place = tmp_path_factory.mktemp("stored")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(place / "state"))
        patched.setenv("XDG_CACHE_HOME", str(place / "cache"))
        for name, outcomes in {"run": ("measured", "incorrect"), "other": ("incorrect", "measured")}.items():
            card = sample_card().model_copy(update={"id": name})
            with closing(RunStore.create(place / name, card)) as store:
                parts = Parts(ScriptedProposer(), ScriptedEvaluator(outcomes=outcomes))
                asyncio.run(run(store, RunConfig.model_validate({"budget": {"proposals": 4}}), parts))
            resume(place / name)
        cache = EvaluationCache(place / "cache.sqlite")
        for number in range(3):
            cache.keep(str(number), "run", sample_measured(2.0 + number))
        cache.close()
    return place


@pytest.fixture
def stored(place, tmp_path, monkeypatch):
    shutil.copytree(place, tmp_path / "stored", symlinks=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stored" / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "stored" / "cache"))
    list_runs(tmp_path / "stored")  # so that the list knows them
    return tmp_path / "stored"


def resume(folder):
    """What it says: of what it refuses or warns."""
    heard = []
    suppliers = replace(scripted_suppliers(), listener=lambda event: heard.append(getattr(event, "text", "")))
    asyncio.run(go_on(folder, suppliers))
    return " ".join(heard)


def walk(folder):
    """The first step of a resumed run that is not over: it reads everything."""
    with closing(RunStore.open(folder, writing=True)) as store:
        Journal(store, lambda event: None)
        store.events()
        return store.unproved


def page(folder):
    heard = []
    report(folder, None, replace(scripted_suppliers(), listener=lambda event: heard.append(getattr(event, "text", ""))))
    return " ".join(heard)


def listed(folder):
    (found,) = (one for one in list_runs(folder.parent) if one.folder == str(folder))
    return getattr(found, "error", "") or found.unproved


def taught(folder):
    learn([folder], folder / "rows.jsonl")
    return ""


def said_by(command, folder):
    try:
        return command(folder)
    except (StoreError, ReceiptError) as error:
        return str(error)


def sql(script):
    def edit(stored):
        with closing(sqlite3.connect(stored / "run" / FILE)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.executescript(script)

    return edit


def replaced(table, old, new, number=None):
    where = f" WHERE number = {number}" if number is not None else ""
    return sql(f"UPDATE {table} SET body = replace(body, '{old}', '{new}'){where}")


def swap(table, one, other):
    body = f"(SELECT body FROM {table} WHERE rowid = {{}})"
    return sql(
        f"CREATE TEMP TABLE kept AS SELECT body FROM {table} WHERE rowid = {one};"
        f"UPDATE {table} SET body = {body.format(other)} WHERE rowid = {one};"
        f"UPDATE {table} SET body = (SELECT body FROM kept) WHERE rowid = {other}"
    )


def from_other(table, row):
    def edit(stored):
        sql(
            f"ATTACH '{stored / 'other' / FILE}' AS other;"
            f"UPDATE {table} SET body = (SELECT body FROM other.{table} WHERE rowid = {row}) || ' ' WHERE rowid = {row}"
        )(stored)

    return edit


def bytes_of(change):
    def edit(stored):
        file = stored / "run" / FILE
        file.write_bytes(change(file.read_bytes()))

    return edit


def linked(stored):
    (stored / "run" / FILE).rename(stored / "moved")
    (stored / "run" / FILE).symlink_to(stored / "moved")


def mode(bits):
    return lambda stored: (stored / "run" / FILE).chmod(bits)


def new_secret(stored):
    secret_file().write_bytes(bytes(32))


SHOWN = (listed, page, resume, walk)
JOURNAL = {
    "a figure of the final": (replaced("outcomes", '"latency_us":', '"latency_us":1'), SHOWN[:3]),
    "why the run stopped": (replaced("outcomes", '"complete":true', '"complete": true'), SHOWN[:3]),
    "an earlier outcome taken away": (sql("DELETE FROM outcomes"), SHOWN[:3]),
    "an outcome added": (sql("INSERT INTO outcomes SELECT 1, body FROM outcomes"), SHOWN[:3]),
    "a figure of an attempt": (replaced("attempts", '"seconds":', '"seconds":1', 1), SHOWN),
    "a kernel's text": (replaced("attempts", 'source":"', 'source":"//', 0), SHOWN),
    "an outcome's word beside the body": (sql("UPDATE attempts SET outcome = 'measured'"), SHOWN),
    "two attempts swapped": (swap("attempts", 0, 2), SHOWN),
    "an attempt doubled": (sql("INSERT INTO attempts SELECT 4, 3, candidate, outcome, body FROM attempts LIMIT 1"), SHOWN),
    "the first attempt taken away": (sql("DELETE FROM attempts WHERE number = 0"), SHOWN),
    "an attempt in the middle taken away": (sql("DELETE FROM attempts WHERE number = 2"), SHOWN),
    "the last attempt taken away": (sql("DELETE FROM attempts WHERE number = 3"), SHOWN),
    "an attempt taken away with its seal": (
        sql("DELETE FROM attempts WHERE number = 1; DELETE FROM seals WHERE place = 'attempts' AND row = 1"), SHOWN),
    "its seals closed up behind it": (
        sql("CREATE TEMP TABLE gone AS SELECT number FROM seals WHERE place = 'attempts' AND row = 3;"
            "DELETE FROM attempts WHERE number = 3; DELETE FROM seals WHERE number = (SELECT number FROM gone);"
            "UPDATE seals SET number = 1 - number WHERE number > (SELECT number FROM gone);"
            "UPDATE seals SET number = -number WHERE number < 0"), SHOWN),
    "all attempts taken away": (sql("DELETE FROM attempts"), SHOWN),
    "an attempt of another run": (from_other("attempts", 1), SHOWN),
    "the outcome of another run": (from_other("outcomes", 0), SHOWN[:3]),
    "the card of another run": (from_other("card", 0), SHOWN),
    "the card's task": (replaced("card", 'import', 'Import'), SHOWN),
    "the card's budget": (replaced("card", '{', '{ '), SHOWN),
    "a reward": (sql("UPDATE tells SET reward = reward + 1 WHERE number = 1"), (taught, walk)),
    "two rewards swapped": (sql("UPDATE tells SET reward = 5 - reward"), (taught, walk)),
    "a reward taken away": (sql("DELETE FROM tells WHERE number = 3"), (taught, walk)),
    "an evaluation": (replaced("evaluations", '"seconds":', '"seconds":1'), (walk,)),
    "an evaluation's key": (sql("UPDATE evaluations SET key = key || 'x' WHERE rowid = 1"), (walk,)),
    "two evaluations swapped": (swap("evaluations", 1, 2), (walk,)),
    "an evaluation taken away": (sql("DELETE FROM evaluations WHERE rowid = 2"), (walk,)),
    "a proposal": (replaced("proposals", 'source":"', 'source":"//'), (walk,)),
    "a proposal request": (replaced("proposal_requests", 'seed', 'improve'), (walk,)),
    "an event's time": (sql("UPDATE events SET at = '2020' WHERE number = 0"), (walk,)),
    "an event taken away": (sql("DELETE FROM events WHERE number = 2"), (walk,)),
    "a mark": (sql("UPDATE seals SET mark = zeroblob(32) WHERE number = 3"), SHOWN),
    "a digest": (sql("UPDATE seals SET digest = zeroblob(32) WHERE number = 3"), SHOWN),
    "two seals swapped": (sql("UPDATE seals SET number = -1 WHERE number = 2; UPDATE seals SET number = 2 WHERE number = 3;"
                              "UPDATE seals SET number = 3 WHERE number = -1"), SHOWN),
    "all seals taken away": (sql("DELETE FROM seals"), SHOWN),
    "the table of seals taken away": (sql("DROP TABLE seals"), SHOWN),
    "made as if from before seals": (sql("DROP TABLE seals; DROP TABLE sealer; PRAGMA user_version = 2"), SHOWN),
    "a seal of nobody's": (sql("UPDATE sealer SET secret = ''"), SHOWN),
    "a seal of somebody else's": (sql("UPDATE sealer SET secret = 'abc'"), SHOWN),
    "the secret exchanged": (new_secret, SHOWN),
    "cut in the middle": (bytes_of(lambda data: data[: len(data) // 2]), SHOWN),
    "pages overwritten": (bytes_of(lambda data: data[:8192] + bytes(len(data) - 8192)), SHOWN),
    "emptied": (bytes_of(lambda data: b""), SHOWN),
    "a link in its place": (linked, SHOWN),
    "a wide mode": (mode(0o666), SHOWN),
    "a mode for the group": (mode(0o664), SHOWN),
}  # fmt: skip


@pytest.mark.parametrize("edit", JOURNAL)
def test_every_command_that_reads_an_edited_journal_says_so(stored, edit):
    change, commands = JOURNAL[edit]
    change(stored)
    silent = [command.__name__ for command in commands if not said_by(command, stored / "run")]
    assert silent == []


def test_a_list_does_not_believe_an_edited_summary(stored):
    before = list_runs(stored)
    (file,) = (stored / "cache" / "kernelwright").glob("runs-*")
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("UPDATE summaries SET body = replace(body, '\"attempts\":4', '\"attempts\":40')")
        edited = "SELECT COUNT(*) FROM summaries WHERE folder LIKE ? AND body LIKE '%\"attempts\":40%'"
        assert connection.execute(edited, (f"{stored}%",)).fetchone() == (2,)
    assert list_runs(stored) == before


def test_nothing_is_said_of_what_was_not_edited(stored):
    assert [said_by(command, stored / "run") for command in (*SHOWN, taught)] == [""] * 5
    found = verify(VerifyRequest(stored / "run" / RECEIPT), scripted_suppliers())
    assert found.proved


def rewritten(change, rehash=True, unseal=False):
    def edit(stored):
        file = stored / "run" / RECEIPT
        document = json.loads(file.read_text())
        change(document)
        if unseal:
            document["seal"] = ""
        if rehash:
            document["hash"] = content_hash(document)
        file.write_text(json.dumps(document))

    return edit


def faster(document):
    for versus in document["claim"]["evaluation"]["timing"]["versus"]:
        versus["speedup"]["median"] *= 1.01


def other_kernel(document):
    document["claim"]["candidate"]["source"] += "// "


def later(document):
    document["created"] = "2030-01-01T00:00:00+00:00"


def halved(stored):
    file = stored / "run" / RECEIPT
    file.write_text(file.read_text()[:900])


def link_of_receipt(stored):
    (stored / "run" / RECEIPT).rename(stored / "moved")
    (stored / "run" / RECEIPT).symlink_to(stored / "moved")


def judged_again(folder):
    found = verify(VerifyRequest(folder / RECEIPT), scripted_suppliers())
    return "" if found.proved else "unproved"


RECEIPTS = {
    "a figure": (rewritten(faster, rehash=False), (judged_again, resume)),
    "a figure, hashed anew": (rewritten(faster), (judged_again, resume)),
    "a figure, hashed anew, without its seal": (rewritten(faster, unseal=True), (judged_again, resume)),
    "a kernel's text, hashed anew": (rewritten(other_kernel), (judged_again, resume)),
    "its date, hashed anew": (rewritten(later), (judged_again, resume)),
    "half of it": (halved, (judged_again, resume)),
    "another run's": (lambda s: shutil.copy(s / "other" / RECEIPT, s / "run" / RECEIPT), (resume,)),
    "a link in its place": (link_of_receipt, (resume,)),
}  # fmt: skip


@pytest.mark.parametrize("edit", RECEIPTS)
def test_every_command_that_reads_an_edited_receipt_says_so(stored, edit):
    change, commands = RECEIPTS[edit]
    change(stored)
    silent = [command.__name__ for command in commands if not said_by(command, stored / "run")]
    assert silent == []
    assert said_by(resume, stored / "run") == "", "it was written anew"


FORGED = sample_measured(9.0).model_dump_json()
CACHE = {
    "a verdict": f"UPDATE evaluations SET body = '{FORGED}' WHERE number = 1",
    "two verdicts swapped": "UPDATE evaluations SET body = (SELECT body FROM evaluations AS e WHERE e.number = 3 - "
    "evaluations.number) WHERE number < 3",
    "a key": "UPDATE evaluations SET key = 'x' WHERE number = 2; UPDATE evaluations SET key = (SELECT key FROM evaluations "
    "WHERE number = 1) || '' WHERE number = 2 AND 0; DELETE FROM evaluations WHERE number = 1; "
    "UPDATE evaluations SET number = 1 WHERE number = 2",
    "the run that it is from": "UPDATE evaluations SET run = 'another'",
    "a row taken out": "DELETE FROM evaluations WHERE number = 2",
    "the last row taken out": "DELETE FROM evaluations WHERE number = 3",
    "a row doubled": "INSERT INTO evaluations SELECT 9, key || 'x', run, body, before, seal FROM evaluations LIMIT 1",
    "a seal": "UPDATE evaluations SET seal = upper(seal)",
}


@pytest.mark.parametrize("edit", [*CACHE, "cut", "link", "mode"])
def test_the_next_search_says_that_its_cache_was_edited(stored, edit):
    file = stored / "cache.sqlite"
    if edit in CACHE:
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(CACHE[edit])
    elif edit == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    elif edit == "link":
        file.rename(stored / "moved")
        file.symlink_to(stored / "moved")
    else:
        file.chmod(0o666)
    cache = EvaluationCache(file)
    found = [cache.find(str(number)) for number in range(3)]
    cache.close()
    assert cache.trouble and None in found


def test_the_secret_itself_is_refused_where_others_can_read_it(stored):
    secret_file().chmod(0o644)
    assert {"chmod go-rwx" in said_by(command, stored / "run") for command in SHOWN} == {True}
    secret_file().chmod(0o600)
    assert find_secret() is not None
