"""The life of a child: its answers, its silence, its death, and who dies with whom."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.backends import table
from kernelwright.evaluate.sandbox import kernel, wire
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm


def state(pid):
    """One letter from the kernel; empty when there is no such process, or nothing but its number is left."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if found == "Z" else found


def soon(true, limit_s=10.0):
    """Whether something becomes true within a generous limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def execute(*argv, **more):
    return Execute(argv=argv, **{"texts": {}, **more})


def test_a_tool_runs_beside_its_files_and_hands_its_result_over(spawn):
    child = spawn("tool", may_execute=True)
    executed = child.ask(execute("cp", "a", "b", texts={"a": "text"}, result="b"), 20).answer.reply
    assert (executed.status, executed.made.nbytes) == (0, 4)
    assert child.ask(execute("sh", "-c", "echo said; exit 3"), 20).answer.reply.status == 3


def test_time_is_told_from_outside(spawn):
    child = spawn("tool", may_execute=True)
    child.ask(execute("true"), 20)
    assert child.ask(execute("sleep", "0.2"), 20).outside_ns >= 200_000_000


def test_a_child_stands_still_while_nobody_asks(spawn):
    child = spawn("tool", may_execute=True)
    child.ask(execute("true"), 20)
    assert soon(lambda: state(child.pid) == "T")
    child.ask(execute("true"), 20, freeze=False)
    assert state(child.pid) not in ("", "T")


def test_a_slow_child_is_killed_with_all_it_started(spawn):
    child = spawn("tool", may_execute=True)
    with pytest.raises(ChildSlowError):
        child.ask(execute("sh", "-c", "sleep 1000 & sleep 1000"), 0.3)
    assert soon(lambda: not state(child.pid))
    sleeping = [p for p in Path("/proc").iterdir() if p.name.isdigit() and b"sleep\x001000" in cmdline(p)]
    assert soon(lambda: not any(state(p.name) for p in sleeping))


def test_while_others_have_the_processors_a_patient_limit_waits(spawn, monkeypatch):
    monkeypatch.setattr(kernel, "waited_s", lambda pid: time.monotonic())
    child = spawn("tool", may_execute=True)
    child.patience = 50.0
    assert child.ask(execute("sleep", "0.5"), 0.1).answer.reply.status == 0
    child.patience = 2.0
    with pytest.raises(ChildSlowError):
        child.ask(execute("sleep", "1000"), 0.1)


def test_what_sleeps_by_itself_is_not_waited_for(spawn):
    child = spawn("tool", may_execute=True)
    child.patience = 1000.0
    with pytest.raises(ChildSlowError):
        child.ask(execute("sleep", "1000"), 0.2)


def cmdline(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_foreign_exceptions_are_answers(put):
    _, raised = put("import nowhere_to_be_found")
    assert raised.error == "ModuleNotFoundError"
    assert "nowhere_to_be_found" in raised.log


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os._exit(0)", "exited with status 0 before it answered"),
        ("import os; os._exit(7)", "exited with status 7 before it answered"),
        ("raise SystemExit(0)", "exited with status 70 before it answered"),
        ("import ctypes; ctypes.string_at(8)", "killed by SIGSEGV"),
    ],
)
def test_a_death_is_told_with_its_cause(put, code, reason):
    with pytest.raises(ChildGoneError) as gone:
        put(f"print('last words', flush=True)\n{code}")
    assert gone.value.reason == reason == str(gone.value)
    assert "last words" in gone.value.log


@pytest.mark.parametrize("said", [b"[1]", b"null", b"garbage"])
def test_what_is_no_answer_ends_the_child(spawn, said):
    code = f"""
import os, socket, stat
for number in range(3, 16):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            socket.socket(fileno=os.dup(number)).send({said!r})
    except OSError:
        pass
"""
    child = spawn()
    with pytest.raises(ChildGoneError, match="sent something that is no answer"):
        child.ask(LoadTask(source=code, threads=1), 20)
    assert soon(lambda: not state(child.pid))


def test_a_dead_child_answers_nothing_more(spawn):
    child = spawn("tool", may_execute=True)
    child.kill()
    with pytest.raises(ChildGoneError, match=r"killed by SIGKILL|keeper"):
        child.ask(execute("true"), 20)


def test_the_log_is_bounded_and_its_end_is_kept(put):
    code = """
import sys
try:
    for n in range(40):
        sys.stdout.write(("x" * 1023 + chr(10)) * 1024)
        sys.stdout.flush()
except OSError:
    pass
raise ValueError
"""
    child, raised = put(code)
    assert raised.error == "ValueError"
    assert os.fstat(child.log).st_size <= 16 << 20
    tail = child.tail(1000)
    assert tail.startswith("[")
    assert "bytes left out]" in tail
    assert len(tail) < 1100


def test_a_traceback_of_any_length_fits_an_answer(put):
    _, raised = put("raise ValueError('x' * 3_000_000)")
    assert raised.error == "ValueError"
    assert len(raised.log) < 20_000


def test_an_exception_s_text_is_sent_whatever_it_is_made_of(put):
    _, raised = put("raise ValueError('half a pair: ' + chr(0xDFFF))")
    assert "half a pair: ?" in raised.log


def test_a_child_is_asked_nothing_that_its_kind_does_not_take(spawn):
    child = spawn("tool", may_execute=True)
    with pytest.raises(RefereeError, match="the side 'tool' takes no command 'load_task'"):
        child.ask(LoadTask(source="", threads=1), 20)
    assert child.ask(execute("true"), 20).answer.reply.status == 0


# --- warm parents of their own, quick because what they import is empty --------------------------------------------


@pytest.fixture
def empty_torch(tmp_path, monkeypatch):
    """A folder in which torch and numpy are empty modules: a child that compiles needs neither."""
    for name in ("torch", "numpy"):
        (tmp_path / f"{name}.py").write_text("")
    source = Path(wire.__file__).parents[3]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{source}")
    return tmp_path


def test_a_warm_parent_that_cannot_start_says_why(empty_torch):
    (empty_torch / "torch.py").write_text("raise ImportError('libtorch.so is nowhere')")
    warm = Warm()
    with pytest.raises(MachineError, match=r"libtorch\.so is nowhere[\s\S]*Check that"):
        warm.start()
    warm.close()


def test_a_warm_parent_that_died_is_the_referee_s_own_trouble(empty_torch):
    with Warm() as warm:
        warm._process.kill()
        warm._process.wait()
        with pytest.raises(RefereeError, match="warm parent is gone"):
            warm.spawn("tool", Jail(directory="/"))


def test_closing_ends_every_child_and_leaves_nothing_behind(empty_torch):
    with Warm() as warm:
        children = [warm.spawn("tool", Jail(directory="/", may_execute=True)) for _ in range(3)]
        base = children[0].directory.parent
        for child in children:
            child.ask(execute("true"), 20)
    assert soon(lambda: not any(state(c.pid) or state(c.group) for c in children))
    assert not base.exists()
    for child in children:
        child.close()


def test_a_warm_parent_that_has_begun_is_the_one_that_is_started_and_closed(empty_torch):
    warm, idle = Warm(), Warm()
    warm.begin()
    idle.begin()
    first, unused = warm._process, idle._process
    warm.start()
    assert warm._process is first
    for one in (warm, idle):
        one.close()
    assert first.returncode is not None
    assert unused.returncode is not None


def test_a_parent_that_was_begun_is_given_once_and_others_are_new(empty_torch):
    table.begin_parent("cpu")
    table.begin_parent("cpu")
    table.begin_parent("plug-in")
    begun, new = table.parent_of("cpu"), table.parent_of("cpu")
    assert begun._process is not None
    assert new._process is None
    begun.close()
    new.close()
    table.begin_parent("cpu")
    left = table._begun["cpu"]
    table.close_parents()
    assert left._process.returncode is not None
    assert not table._begun


def test_the_warm_parent_starts_itself_at_the_first_child(empty_torch):
    warm = Warm()
    child = warm.spawn("tool", Jail(directory="/", may_execute=True))
    assert child.ask(execute("true"), 20).answer.reply.status == 0
    child.close()
    warm.close()


GRADER = """
import json, time
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm

warm = Warm()
warm.start()
idle, busy = (warm.spawn("tool", Jail(directory="/", may_execute=True)) for _ in range(2))
for child in (idle, busy):
    child.ask(Execute(argv=["true"], texts={}), 20)
print(json.dumps([warm._process.pid, idle.pid, idle.group, busy.pid, busy.group]), flush=True)
busy.ask(Execute(argv=["sleep", "1000"], texts={}), 1000)
"""


def test_when_the_grader_is_killed_all_that_it_started_dies(empty_torch):
    grader = subprocess.Popen([sys.executable, "-c", GRADER], stdout=subprocess.PIPE, text=True)
    try:
        pids = json.loads(grader.stdout.readline())
        assert all(state(pid) for pid in pids)
        grader.send_signal(signal.SIGKILL)
        assert soon(lambda: not any(state(pid) for pid in pids))
    finally:
        grader.kill()
        grader.communicate()
