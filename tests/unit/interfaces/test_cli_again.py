"""The verbs that look again: verify, recheck, admit; and the receipts that check and optimize leave."""

import json

import pytest

from kernelwright.records.receipt import content_hash
from kernelwright.records.task import Task
from kernelwright.store.receipt_file import read_receipt
from kernelwright.testing.scripted import ScriptedEvaluator

CPU = ("--target", "cpu")
KERNEL = 'extern "C" void f(const float* x, float* y) {} // quality 3\n'


@pytest.fixture
def receipt(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    assert kernelwright("check", task, "k.cpp", "--receipt", "receipt.json").code == 0
    return tmp_path / "receipt.json"


def test_check_writes_a_receipt_of_a_wrong_kernel_too(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    said = kernelwright("check", task, "k.cpp", "--receipt", "r.json", evaluator=ScriptedEvaluator(refuted=(3,)))
    assert said.code == 1
    claim = read_receipt(tmp_path / "r.json").claim
    assert (claim.evaluation.outcome, claim.effort, claim.candidate.source) == ("incorrect", "final", KERNEL)


def test_a_receipt_that_cannot_be_written_is_said(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    assert kernelwright("check", task, "k.cpp", "--receipt", "no/r.json").code == 5


def test_verify_says_that_it_holds_and_what_was_compared(kernelwright, receipt):
    said = kernelwright("verify", receipt)
    assert said.code == 0
    assert said.out.startswith("holds ")
    assert "outcome: was measured; now measured" in said.out
    assert "speedup over eager" in said.out


def test_verify_says_that_it_does_not_hold_with_a_code_of_its_own(kernelwright, receipt):
    said = kernelwright("verify", receipt, "--json", evaluator=ScriptedEvaluator(refuted=(3,)))
    assert said.code == 9
    assert said.json["comparison"]["holds"] is False


def test_an_edited_receipt_and_none_at_all_end_with_code_8(kernelwright, receipt):
    receipt.write_text(receipt.read_text().replace("quality 3", "quality 4"))
    said = kernelwright("verify", receipt)
    assert (said.code, said.out) == (8, "")
    assert "was changed after it was written" in said.err.replace("\n", " ")
    assert kernelwright("verify", "none.json").code == 8


def test_hostile_text_in_a_receipt_moves_no_cursor_and_is_no_markup(kernelwright, receipt):
    document = json.loads(receipt.read_text())
    document["created"] = "\x1b[2J[bold]now[/]"
    document["claim"]["task"]["source"]["name"] = "\x1b]0;owned\x07[red]abs"
    document["seal"] = ""
    document["hash"] = content_hash(document)
    receipt.write_text(json.dumps(document))
    said = kernelwright("verify", receipt)
    assert said.code == 0
    assert "\x1b" not in said.out + said.err
    assert "[bold]now" in said.out


def test_verify_compares_with_the_task_that_one_means_and_writes_its_own_receipt(kernelwright, receipt, task, tmp_path):
    said = kernelwright("verify", receipt, "--task", task, "--receipt", "mine.json")
    assert said.code == 0
    assert read_receipt(tmp_path / "mine.json").claim.task.id == read_receipt(receipt).claim.task.id
    (tmp_path / "other.py").write_text(task.read_text() + "\n")
    assert kernelwright("verify", receipt, "--task", "other.py").code == 8


def test_the_winner_s_receipt_holds(kernelwright, task, tmp_path):
    assert kernelwright("optimize", task, *CPU, "-o", "fast.py").code == 0
    said = kernelwright("verify", "fast.receipt.json")
    assert said.code == 0
    (run,) = (tmp_path / "runs").iterdir()
    before = (run / "receipt.json").stat().st_mtime_ns
    assert kernelwright("resume", run).code == 0
    assert (run / "receipt.json").stat().st_mtime_ns == before, "nothing new is claimed"
    assert read_receipt(tmp_path / "fast.receipt.json").claim.effort == "final"


def test_recheck_says_that_nothing_changed_and_force_judges_again(kernelwright, task, tmp_path):
    assert kernelwright("optimize", task, *CPU).code == 0
    (run,) = (tmp_path / "runs").iterdir()
    said = kernelwright("recheck", run)
    assert said.code == 0
    assert "nothing changed since the run" in said.out
    forced = kernelwright("recheck", run, "--force", "--all", "--json")
    assert forced.code == 0
    assert len(forced.json["rows"]) > 1
    refuted = ScriptedEvaluator(refuted=range(100))
    broken = kernelwright("recheck", run, "--force", evaluator=refuted)
    assert broken.code == 9
    assert "does not hold" in broken.out
    assert kernelwright("recheck", "none").code == 5


def test_admit_counts_and_names_what_is_not_fit(kernelwright, task, tmp_path):
    said = kernelwright("admit", tmp_path, *CPU)
    assert said.code == 0
    assert "1 of 1 fit on cpu" in said.out
    (tmp_path / "bad.py").write_text("def broken(:\n")
    said = kernelwright("admit", tmp_path, *CPU, "--json", "--html", "page.html")
    assert said.code == 3
    assert [(t["name"], t["reason"]) for t in said.json["tasks"]] == [("abs", None), ("bad", "unreadable")]
    assert Task.model_validate(said.json["tasks"][0]["task"]).name == "abs"
    assert said.json["tasks"][1]["task"] is None
    assert (tmp_path / "page.html").exists()
    assert kernelwright("admit", "none", *CPU).code == 2


def test_no_cache_reaches_the_run(kernelwright, task, tmp_path):
    assert kernelwright("optimize", task, *CPU, "--no-cache", "--budget", "1").code == 0
