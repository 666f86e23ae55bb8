"""A machine that lacks something: one message with the cure, from the referee and from the command."""

import subprocess
import sys

import pytest
from bad_input import AFFINE, GOOD, Asked

from kernelwright.errors import MachineError


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    asked = Asked()
    try:
        task = asked.admit(AFFINE)
        with pytest.raises(MachineError, match=r"no C\+\+ compiler was found: install one, .*apt-get install g\+\+"):
            asked.judge(task, GOOD)
        with pytest.raises(MachineError, match="no C\\+\\+ compiler"):
            asked.environment()
    finally:
        asked.close()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "task.py").write_text(AFFINE)
    (tmp_path / "kernel.cpp").write_text(GOOD)
    return tmp_path


def command(folder, *arguments, before=()):
    line = [*before, sys.executable, "-m", "kernelwright", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=250)


def only_error(done):
    """What the command said on its way out, without line breaks; the rest of it where that is not one message."""
    told = " ".join(done.stderr.split())
    return told if told.count("error:") == 1 and "Traceback" not in told else f"not one message: {done.stderr}"


@pytest.mark.matrix
def test_the_command_without_a_compiler(files, monkeypatch):
    monkeypatch.setenv("PATH", "")
    done = command(files, "check", "task.py", "kernel.cpp", "--quick")
    assert done.returncode == 4, done.stderr
    assert "no C++ compiler was found: install one" in only_error(done)
    assert "not one message" not in only_error(done)


def test_the_command_and_a_task_that_is_none(files):
    (files / "task.py").write_text(AFFINE.replace("x * 3 + 1", "x + torch.randn_like(x)"))
    done = command(files, "check", "task.py", "kernel.cpp", "--quick")
    assert done.returncode == 3, done.stderr
    assert "not one message" not in only_error(done)
    assert "not deterministic" in only_error(done)
    assert "Remove the randomness" in only_error(done)


def test_the_command_and_a_file_that_is_not_there(files):
    done = command(files, "check", "task.py", "colonel.cpp", "--quick")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "colonel.cpp" in done.stderr


@pytest.mark.matrix
def test_the_command_on_a_host_that_denies(files):
    denied = (sys.executable, "-m", "kernelwright.testing.deny", "namespaces")
    line = ("check", "task.py", "kernel.cpp", "--quick", "--isolation", "strict")
    done = command(files, *line, before=denied)
    assert done.returncode == 4, done.stderr
    assert "not one message" not in only_error(done)
    assert "this host denies namespaces" in only_error(done)
    assert "isolation auto" in only_error(done)
