"""What a session leaves beside the journal: whole files, or those that were there."""

from dataclasses import replace

import pytest

from kernelwright.engine import listing
from kernelwright.engine.events import Warned
from kernelwright.engine.listing import list_runs
from kernelwright.engine.run import Ending
from kernelwright.engine.session import wind_up
from kernelwright.engine.stored_runs import learn, report
from kernelwright.errors import ProposeError, StoreError
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

FOUR = {"budget": {"proposals": 4}}


@pytest.fixture
def run(play):
    return play(**FOUR)


@pytest.fixture
def suppliers():
    return scripted_suppliers(ScriptedEvaluator())


def test_a_full_disk_leaves_the_page_the_kernel_and_the_experience_that_were_there(run, suppliers, full_disk):
    wind_up(run.store, Ending(run.outcome), suppliers)
    learn([run.folder], run.folder / "experience.jsonl")
    before = {file.name: file.read_bytes() for file in run.folder.iterdir()}
    full_disk()
    for write in (
        lambda: wind_up(run.store, Ending(run.outcome), suppliers),
        lambda: report(run.folder, None, suppliers),
        lambda: learn([run.folder], run.folder / "experience.jsonl"),
    ):
        with pytest.raises(StoreError, match="No space left"):
            write()
    after = {file.name: file.read_bytes() for file in run.folder.iterdir()}
    assert {"report.html", "model_new.py", "experience.jsonl"} <= before.keys()
    assert after == before


def test_a_kernel_that_can_be_no_drop_in_ends_the_run_with_its_source(run, suppliers):
    heard = []

    def wrap(task, candidate, other):
        raise ProposeError("a cuda kernel cannot be written as a ModelNew file yet")

    ended = wind_up(run.store, Ending(run.outcome), replace(suppliers, wrap=wrap, listener=heard.append))
    assert ended.kernel is None
    assert ended.exit_code == 0
    assert ended.source.name == "kernel.cpp"
    assert ended.source.read_text() == ended.summary.best.kernel
    assert [e.text for e in heard if isinstance(e, Warned) and "no drop-in is written: a cuda kernel" in e.text]
    assert ended.report.exists()


def test_a_run_that_ended_is_listed_without_being_read(run, suppliers, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    summary = wind_up(run.store, Ending(run.outcome), suppliers).summary
    assert list_runs(run.folder.parent)[0].complete
    run.store.close()
    read = []
    monkeypatch.setattr(listing, "_summed", read.append)
    assert list_runs(run.folder.parent) == [summary]
    assert read == []


def test_the_report_is_told_that_a_module_without_guards_has_none(run, suppliers):
    seen = []

    def render(card, attempts, outcome, messages, files):
        seen.append(files)
        return "page"

    wind_up(run.store, Ending(run.outcome), replace(suppliers, render=render))
    assert (seen[0].kernel, seen[0].guarded) == (str(run.folder / "model_new.py"), False)
