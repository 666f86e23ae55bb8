"""The command in process, with scripted parts."""

import json

import pytest

from kernelwright.interfaces.cli.main import invoke
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers


class Said:
    """Exit code, stdout and stderr of one command line."""

    def __init__(self, code, captured):
        self.code, self.out, self.err = code, captured.out, captured.err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "abs.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def kernelwright(tmp_path, monkeypatch, capsys):
    """Runs one command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, evaluator=None, proposer=None):
        suppliers = scripted_suppliers(evaluator or ScriptedEvaluator(outcomes=("measured",)), proposer)
        code = invoke([str(a) for a in arguments], suppliers)
        return Said(code, capsys.readouterr())

    return run
