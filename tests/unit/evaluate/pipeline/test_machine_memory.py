"""What is left of the memory of a machine, or of a container on it; and that tasks nobody asks for make room."""

import pytest

from kernelwright.evaluate.pipeline import machine, service
from kernelwright.evaluate.pipeline.service import EvaluationService

MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:   8388608 kB\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "meminfo").write_text(MEMINFO)
    return tmp_path / "meminfo", tmp_path


def contained(folder, version, limit, used, freed):
    """The files of a control group."""
    *names, key = machine.VERSIONS[version]
    for name, text in zip(names, (limit, used, f"file 3\n{key} {freed}"), strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{text}\n")


def test_a_machine_says_what_is_left(files):
    assert machine.memory(*files) == (16 << 30, 8 << 30)
    assert machine.words(machine.memory(*files)) == "16.0 GiB, of which 8.0 are free now"


@pytest.mark.parametrize("version", [0, 1])
def test_a_container_has_less(files, version):
    """What is read from disk and no longer needed is not taken."""
    contained(files[1], version, 4 << 30, 15 << 28, 1 << 28)
    assert machine.memory(*files) == (4 << 30, 1 << 29)
    assert machine.is_short(machine.memory(*files))


@pytest.mark.parametrize(("version", "limit"), [(0, "max"), (1, (1 << 63) - 4096)])
def test_one_without_a_limit_is_the_machine(files, version, limit):
    contained(files[1], version, limit, 1, 0)
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
