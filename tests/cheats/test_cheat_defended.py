"""Cheats of `defended`: the honest twin is measured, the cheat is caught as its file says, and without its defence it passes.

The last of these judgements belongs to the long matrix.
"""

import contextlib
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from cheat_files import CHEATS, gained
from cheat_tasks import SECRET

import calm
from kernelwright.evaluate.backends.cpu.process import LibraryProcess

EACH = 4
"""Cheats of one defence in every run."""


def cases(matrix=False):
    """Every cheat with each of its tasks, in the lanes that its file names; `matrix`: without its defence.

    A quick run has the first cheats of each defence, on the first of their tasks. Those of one task stand together: it is
    admitted once.
    """
    found, had = [], Counter()
    for name, cheat in CHEATS.items():
        lanes = cheat.says.get("lane", "").split(", ")
        defence = cheat.says.get("defence", "")
        marks, later = [pytest.mark.quiet] * ("quiet" in lanes), matrix or "matrix" in lanes or had[defence] == EACH
        had[defence] += not later
        for n, task in enumerate(cheat.tasks if not matrix or "defence" in cheat.says else ()):
            also = [pytest.mark.matrix] * bool(later or n)
            found.append(pytest.param(name, task, marks=[*marks, *also], id=f"{name}-{task}"))
    return sorted(found, key=lambda case: (case.values[1], CHEATS[case.values[0]].also))


@pytest.fixture
def outside():
    """A directory of the host's that every user could write to; not pytest's, whose parents are closed by each run."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        for place in (folder, f"{folder}/kernelwright", f"{folder}/kernelwright/inductor"):
            Path(place).mkdir(exist_ok=True)
            Path(place).chmod(0o777)
        Path(folder, "answer").write_text(repr(SECRET))
        yield {"OUTSIDE": f'"{folder}"'}, lambda leaves: Path(folder, leaves or "nothing").exists()


@pytest.fixture
def accomplice():
    """Tells the secret to whoever connects, and knows whether it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                asked.append(1)
                with connection:
                    connection.sendall(repr(SECRET).encode())

    thread = threading.Thread(target=serve)
    thread.start()
    yield {"PORT": listener.getsockname()[1]}, lambda _: bool(asked)
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def slow_reader(monkeypatch):
    """A grader that is late to read results: only the freeze keeps them as they were when the answer came.

    Late by several times what the work of a sample takes, so that a busy machine finishes it too where nothing is frozen.
    """
    run = LibraryProcess.run

    def late(self, *arguments, **named):
        ran = run(self, *arguments, **named)
        time.sleep(0.2)
        return ran

    monkeypatch.setattr(LibraryProcess, "run", late)
    return {}, lambda _: False


class Judge:
    """Judgements of one cheat."""

    def __init__(self, bench, cheat, task, macros, left):
        self.bench, self.cheat, self.task, self.macros = bench, cheat, task, macros
        self.reached = left
        """Whether what it aims at outside was reached."""

    def __call__(self, arm, *disabled):
        also, effort = (*self.cheat.also, *disabled), self.cheat.says.get("effort", "search")
        macros = self.macros | {f"TASK_{self.task}": 1}
        return self.bench.judge(self.cheat.source, self.task, arm, also, effort, **macros)

    def measured(self, arm, *disabled):
        """The judgement of what must be measured: what else runs on the machine may disturb its times."""
        found = calm.until(lambda: self(arm, *disabled), lambda found: found.outcome != "suspect")
        assert found.outcome == "measured", found
        return found


@pytest.fixture
def judge(bench, request, name, task):
    cheat = CHEATS[name]
    macros, left = request.getfixturevalue(cheat.says["needs"]) if "needs" in cheat.says else ({}, lambda _: False)
    return Judge(bench, cheat, task, macros, lambda: left(cheat.says.get("leaves")))


@pytest.mark.parametrize(("name", "task"), cases())
def test_its_twin_is_measured_and_it_is_caught(judge, name, task):
    cheat = judge.cheat
    twin = judge.measured(0) if "CHEAT" in cheat.source else None
    # What is told by times may not be noticed beside a neighbour, who leaves a sample one call or a few.
    patient = cheat.gain is not None or cheat.says["expect"].startswith("suspect")
    # Which calls are challenged, at which scale, is a matter of lot: a search has few.
    by_lot = "timed_output" in cheat.says["expect"]
    for _ in calm.tries(5 if by_lot else 3 if patient else 1):
        caught = judge(1)
        if caught.outcome != "measured":
            break
        if cheat.gain is not None:
            assert not gained(caught.timing, twin.timing)
            twin = judge.measured(0)
    if cheat.gain is None or caught.outcome != "measured":
        expect(cheat, caught)
    assert not judge.reached()


def expect(cheat, found):
    outcome, _, because = cheat.says["expect"].partition(" ")
    assert found.outcome == outcome, found
    assert not because or found.because in because.split(" or "), found
    assert "case" not in cheat.says or found.case in cheat.says["case"].split(" or "), found
    assert "cases" not in cheat.says or len(found.accuracy.cases) == int(cheat.says["cases"]), found
    text = " ".join(getattr(found, field, "") for field in ("because", "evidence", "reason"))
    assert any(words in text for words in cheat.says.get("says", "").split(" or ")), found


@pytest.mark.parametrize(("name", "task"), cases(matrix=True))
def test_without_its_defence_it_gets_through(judge, name, task):
    cheat, defence = judge.cheat, judge.cheat.says["defence"]
    through = judge.measured(1, defence)
    assert defence in through.disabled
    assert not cheat.gain or through.timing.latency_us * cheat.gain < judge.measured(0).timing.latency_us
    assert judge.reached() == ("leaves" in cheat.says or "accomplice" in cheat.says.get("needs", ""))
