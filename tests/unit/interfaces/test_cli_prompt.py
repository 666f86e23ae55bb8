"""`kernelwright prompt`: the messages are those that a run sends, and nobody is asked."""

import json
from dataclasses import replace

import pytest

from kernelwright.engine.suppliers import Suppliers
from kernelwright.interfaces.cli.main import invoke
from kernelwright.search.table import spellings
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "abs.py"
    file.write_text(SOURCE)
    return file


def shown(capsys, *arguments):
    parts = replace(scripted_suppliers(ScriptedEvaluator()), proposer=Suppliers().proposer)
    code = invoke(["prompt", *map(str, arguments)], parts)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_it_prints_both_messages_and_leaves_nothing_behind(task, tmp_path, capsys):
    code, out, err = shown(capsys, task, "--target", "cpu")
    assert code == 0
    assert out.startswith("---- system ----\nYou write fast, correct kernels.") and "---- user ----" in out
    assert SOURCE.strip() in out and "tokens" in err
    assert [path.name for path in tmp_path.iterdir()] == ["abs.py"]


def test_a_named_model_has_a_price_and_a_strategy_its_own_words(task, capsys):
    code, out, err = shown(capsys, task, "--target", "cpu", "--strategy", "cudaforge", "--model", "openai:gpt-5")
    assert code == 0 and "Generate initial kernel for the task." in out
    assert "$0.0" in err and "gpt-5" in err


def test_as_json_every_question_of_a_round_is_there(task, capsys):
    code, out, _ = shown(capsys, task, "--target", "cpu", "--strategy", "fsr", "--json")
    found = json.loads(out)
    assert code == 0 and len(found) == 5 and all(one["tokens"] > 500 for one in found)
    assert len({one["request"]["messages"][-1]["text"] for one in found}) == 5, "each has a direction of its own"


@pytest.mark.parametrize("strategy", spellings())
def test_every_strategy_asks_something_first(strategy, task, capsys):
    code, out, _ = shown(capsys, task, "--target", "cpu", "--strategy", strategy)
    assert code == 0 and "float* out" in out
