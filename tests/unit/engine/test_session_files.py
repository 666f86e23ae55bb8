"""What a session leaves beside the journal: whole files, or those that were there."""

import pytest

from kernelwright.engine.run import Ending
from kernelwright.engine.session import wind_up, write_experience, write_report
from kernelwright.errors import StoreError
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
    write_experience([run.folder], run.folder / "experience.jsonl")
    before = {file.name: file.read_bytes() for file in run.folder.iterdir()}
    full_disk()
    for write in (
        lambda: wind_up(run.store, Ending(run.outcome), suppliers),
        lambda: write_report(run.folder, None, suppliers),
        lambda: write_experience([run.folder], run.folder / "experience.jsonl"),
    ):
        with pytest.raises(StoreError, match="No space left"):
            write()
    after = {file.name: file.read_bytes() for file in run.folder.iterdir()}
    assert {"report.html", "model_new.py", "experience.jsonl"} <= before.keys()
    assert after == before
