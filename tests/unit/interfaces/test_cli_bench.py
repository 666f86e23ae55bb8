"""`kernelwright bench` on the command line, with scripted parts."""

import json

import pytest

from kernelwright.testing.samples import SOURCE

FLAGS = ("--strategies", "best_of_n,tritongym", "--budget", "2", "--target", "cpu", "--run-dir", "bench")


@pytest.fixture
def tasks(tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "abs.py").write_text(SOURCE)
    return folder


def test_it_ends_with_a_table_and_two_files(kernelwright, tasks, tmp_path):
    said = kernelwright("bench", tasks, *FLAGS)
    assert said.code == 0
    assert "best_of_n" in said.out and "tritongym" in said.out
    assert "bench/bench.html" in said.out
    assert "2/2 abs/tritongym-author-tritongym-s0" in said.err
    assert (tmp_path / "bench" / "bench.json").exists()


def test_the_json_is_all_of_stdout_and_what_is_recorded_is_said(kernelwright, tasks, tmp_path):
    kernelwright("bench", tasks, *FLAGS)
    said = kernelwright("bench", tasks, *FLAGS, "--json")
    assert said.json == json.loads((tmp_path / "bench" / "bench.json").read_text())
    assert said.json["plan"]["config"]["budget"]["proposals"] == 2


def test_a_checkout_of_kernelbench_in_a_precision(kernelwright, tmp_path):
    folder = tmp_path / "kb" / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for number in (1, 2, 3):
        (folder / f"{number}_Abs.py").write_text(SOURCE)
    chosen = ("--kernelbench", "kb", "--level", "1", "--problems", "1,3", "--precision", "bf16")
    said = kernelwright("bench", *chosen, *FLAGS, "--json")
    assert [task["name"] for task in said.json["plan"]["tasks"]] == ["l1_1_Abs", "l1_3_Abs"]
    assert said.json["plan"]["precision"] == "bf16"


def planned(tmp_path):
    """The arms of a bench whose models cannot answer: a record that is not there."""
    return [tuple(arm.values()) for arm in json.loads((tmp_path / "bench" / "plan.json").read_text())["arms"]]


def test_where_models_write_direct_is_a_column_unless_it_is_refused(kernelwright, tasks, tmp_path):
    (tmp_path / "talk.jsonl").write_text("")
    flags = ("--strategy", "fsr", "--budget", "1", "--target", "cpu", "--model", "replay:talk.jsonl")
    said = kernelwright("bench", tasks, *flags, "--run-dir", "bench")
    assert "direct is compared too" in said.err
    assert [arm[0] for arm in planned(tmp_path)] == ["direct", "fsr"]
    said = kernelwright("bench", tasks, *flags, "--run-dir", "other", "--no-direct")
    assert "direct is compared too" not in said.err
    assert len(json.loads((tmp_path / "other" / "plan.json").read_text())["arms"]) == 1


def test_where_nobody_is_asked_nothing_is_added_or_priced(kernelwright, tasks):
    said = kernelwright("bench", tasks, *FLAGS)
    assert "direct is compared too" not in said.err
    assert "2 cells to run\n" in said.err


def test_several_models_are_compared(kernelwright, tasks, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text("")
    said = kernelwright(
        "bench", tasks, *FLAGS, "--no-direct", "--model", "replay:one.jsonl", "--model", "replay:two.jsonl"
    )
    assert [arm[3] for arm in planned(tmp_path)] == ["one.jsonl", "two.jsonl"] * 2
    assert "4 cells to run; models: about 8 calls" in said.err
    assert "best_of_n · one.jsonl" in (tmp_path / "bench" / "bench.html").read_text()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--seeds", "x"), "whole numbers"),
        (("--kernelbench", "kb"), "either a directory of tasks or --kernelbench"),
        (("--strategies", "nonsense"), "must be one of"),
        (("--seeds", "0,1"), "begun with another plan"),
        (("--rewards", "tritongym,log_speedup"), "read no reward"),
        (("--max-usd-total", "3"), "needs --max-usd"),
    ],
)
def test_flags_that_cannot_work_are_one_message(kernelwright, tasks, flags, told):
    kernelwright("bench", tasks, *FLAGS)
    said = kernelwright("bench", tasks, *FLAGS, *flags)
    assert said.code == 2
    assert told in said.err
