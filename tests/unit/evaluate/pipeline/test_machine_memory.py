"""What is left of the memory of a machine, or of a container on it; and that tasks nobody asks for make room."""

import pytest

from kernelwright.evaluate.pipeline import machine, service
from kernelwright.evaluate.pipeline.service import EvaluationService

MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:   8388608 kB\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "meminfo").write_text(MEMINFO)
    return [tmp_path / name for name in ("meminfo", "max", "current")]


def test_a_machine_says_what_is_left(files):
    assert machine.memory(*files) == (16 << 30, 8 << 30)
    assert machine.words(machine.memory(*files)) == "16.0 GiB, of which 8.0 are free now"


def test_a_container_has_less(files):
    files[1].write_text(f"{4 << 30}\n")
    files[2].write_text(f"{7 << 29}\n")
    assert machine.memory(*files) == (4 << 30, 1 << 29)
    assert machine.is_short(machine.memory(*files))


def test_one_without_a_limit_is_the_machine(files):
    files[1].write_text("max\n")
    files[2].write_text("1\n")
    assert machine.memory(*files) == (16 << 30, 8 << 30)
    assert not machine.is_short(machine.memory(*files))


def test_where_nothing_is_known_nothing_is_short(tmp_path):
    assert machine.memory(tmp_path / "none") is None
    assert not machine.is_short(None)
    assert machine.words(None) == "too little left"


@pytest.mark.parametrize(("left", "stay"), [(15, 3), (1, 0)])
def test_tasks_that_nobody_asks_for_make_room(monkeypatch, left, stay):
    monkeypatch.setattr(service.machine, "memory", lambda: (16 << 30, left << 30))
    made = EvaluationService(lambda _: None)
    open_tasks = [1, 2, 3]
    made._sessions = {str(n): object() for n in open_tasks}
    monkeypatch.setattr(made, "_close_oldest", lambda _: bool(made._sessions) and bool(made._sessions.popitem()))
    made._make_room(None)
    assert len(made._sessions) == stay
