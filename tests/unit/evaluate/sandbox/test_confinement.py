"""A child that was really confined: what it can see, reach, write, start and use up."""

import os
import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.jail import LOST, SEEN, Jail, system_trees
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm

TRIED = """
import mmap, os, socket, subprocess, threading
from pathlib import Path

def tried(action):
    try:
        action()
    except (OSError, MemoryError, ValueError) as error:
        return type(error).__name__
    return "done"
"""


def as_python(text, **values):
    """Text with the values that it needs in front of it."""
    return TRIED + "".join(f"{name} = {value!r}\n" for name, value in values.items()) + text


def test_nothing_of_the_sandbox_is_denied_here(spawn):
    """Otherwise the tests below prove nothing about a host that grants all of it."""
    missing = set(spawn("tool", may_execute=True).denied)
    assert missing <= ({"nobody"} if os.getuid() else set())
    assert missing <= set(LOST)


def test_the_environment_is_cleared(inside):
    found = inside(
        as_python("""
try:
    born_with = Path("/proc/self/environ").read_text(errors="replace")
except OSError:
    born_with = ""
found = {"names": sorted(os.environ), "home": os.environ["HOME"], "here": os.getcwd(), "born": born_with}
""")
    )
    assert set(found["names"]) <= {"HOME", "TMPDIR", "LOGNAME", "PATH", "TRITON_CACHE_DIR", *SEEN}
    assert found["home"] == found["here"]
    assert "hunter2" not in found["born"]


def test_a_child_has_the_referees_gpu(monkeypatch):
    """On another one it could map nothing of what the grader hands to it."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with Warm() as warm, closing(warm.spawn("reference", Jail(directory="/"))) as child:
        code = as_python("raise RuntimeError('sees ' + os.environ['CUDA_VISIBLE_DEVICES'])")
        assert "sees 1" in child.ask(LoadTask(source=code, threads=1), 20.0).answer.raised.log


def test_its_user_has_a_name_though_the_machine_knows_none(inside):
    """torch 2.11 asks for it while it is imported."""
    assert inside(as_python("import getpass\nfound = getpass.getuser()")) == "candidate"


def test_what_a_jail_sets_is_there(inside):
    assert inside(as_python("found = os.environ['CHOSEN']"), environment={"CHOSEN": "yes"}) == "yes"


def test_it_holds_its_log_and_its_line_to_the_grader_and_nothing_else(inside):
    found = inside(
        as_python("""
found = {}
for name in os.listdir("/proc/self/fd"):
    if os.path.exists(f"/proc/self/fd/{name}"):
        found[name] = os.readlink(f"/proc/self/fd/{name}")
""")
    )
    assert found.pop("0") == "/dev/null"
    assert found.pop("1") == found.pop("2")
    (control,) = found.values()
    assert control.startswith("socket:")


def test_its_directory_is_its_own_and_empty(inside, put, tmp_path):
    child, _ = put(as_python("Path('mine').write_text('x' * 1000); raise ValueError"))
    assert list(child.directory.iterdir()) == [], "it was written to a tmpfs of the child's"
    assert inside(as_python("found = os.listdir('.')")) == []


def test_its_directory_has_a_size(inside):
    code = as_python("""
def fill():
    for n in range(64):
        Path(f"file{n}").write_bytes(b"x" * (1 << 20))
found = tried(fill)
""")
    assert inside(code, tmpfs_bytes=8 << 20) == "OSError"
    assert inside(code, tmpfs_bytes=128 << 20) == "done"


def test_the_directory_goes_with_the_child(spawn):
    child = spawn()
    assert child.directory.exists()
    child.close()
    assert not child.directory.exists()
    child.close()


def test_nobody_can_be_reached(inside):
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = inside(
            as_python(
                """
found = {
    "here": tried(lambda: socket.create_connection(("127.0.0.1", port), 2)),
    "far": tried(lambda: socket.create_connection(("192.0.2.1", 80), 2)),
    "devices": Path("/proc/net/dev").read_text().count(":"),
}
""",
                port=server.getsockname()[1],
            )
        )
        assert found["here"] != "done"
        assert found["far"] != "done"
        assert found["devices"] == 1, "its loopback is its own, and down"


def test_it_is_nobody_and_alone(inside, as_root):
    found = inside(
        as_python("""
found = {
    "user": [*os.getresuid(), *os.getresgid()], "groups": os.getgroups(), "process": os.getpid(),
    "seen": [name for name in os.listdir("/proc") if name.isdigit()],
    "becomes root": tried(lambda: os.setuid(0)),
}
""")
    )
    assert found["process"] == 1
    assert found["seen"] == ["1"]
    if as_root:
        (user,) = set(found["user"])
        assert user != 0
        assert not any(line.split(":")[2] == str(user) for line in Path("/etc/passwd").read_text().splitlines())
        assert found["groups"] == []
        assert found["becomes root"] == "PermissionError"


def test_it_writes_nowhere_and_reads_nothing_of_ours(inside, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid() and str(folder) != "/":
            folder.chmod(folder.stat().st_mode | 0o055)
    code = as_python(
        """
found = {
    "read": tried(lambda: Path(secret).read_text()),
    "list": tried(lambda: os.listdir(Path(secret).parent)),
    "tmp": tried(lambda: Path("/tmp/escaped").write_text("x")),
    "shared memory": tried(lambda: Path("/dev/shm/escaped").write_text("x")),
    "root": tried(lambda: os.listdir("/root")),
    "shadow": tried(lambda: Path("/etc/shadow").read_text()),
    "library": tried(lambda: Path(os.__file__).write_text("x")),
}
""",
        secret=str(secret),
    )
    found = inside(code)
    assert "done" not in found.values(), found
    # Landlock it was, and not the file's mode, that denied the first.
    assert inside(code, off=("landlock", "nobody"))["read"] == "done"
    for place in ("/tmp/escaped", "/dev/shm/escaped"):
        Path(place).unlink(missing_ok=True)


def test_a_folder_of_packages_can_be_read_wherever_it_lies(monkeypatch, tmp_path):
    """Packages need not be installed: PYTHONPATH may name them. Other folders that it names stay closed."""
    libraries, own = tmp_path / "libraries", tmp_path / "own"
    (libraries / "pydantic").mkdir(parents=True)
    own.mkdir()
    monkeypatch.setattr(sys, "path", ["", str(own), str(libraries), *sys.path])
    trees = system_trees()
    assert str(libraries) in trees
    assert not {"", str(own)} & set(trees)


def test_it_starts_threads_and_no_processes(inside):
    code = as_python("""
seen = []
def threaded():
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
def forked():
    if os.fork() == 0:
        os._exit(0)
    os.wait()
found = {"thread": tried(threaded), "ran": len(seen), "fork": tried(forked),
         "program": tried(lambda: subprocess.run(["true"], check=True))}
""")
    assert inside(code) == {"thread": "done", "ran": 1, "fork": "PermissionError", "program": "PermissionError"}
    assert inside(code, may_execute=True) == {"thread": "done", "ran": 1, "fork": "done", "program": "done"}


def test_processes_are_counted_and_a_bomb_s_remains_do_not_harm_the_next_child(spawn):
    def begin(count):
        child = spawn("tool", may_execute=True)
        script = f"i=0; while [ $i -lt {count} ]; do sleep 60 >/dev/null 2>&1 & i=$((i+1)); done"
        executed = child.ask(Execute(argv=["sh", "-c", script], texts={}), 60).answer.reply
        child.close()
        return executed

    bomb = begin(512 + 8 * (os.cpu_count() or 1))
    assert bomb.status != 0
    assert "fork" in bomb.log.lower()
    assert begin(8).status == 0


def test_memory_has_a_limit(inside):
    code = as_python("found = tried(lambda: mmap.mmap(-1, 3 << 29))")
    assert inside(code, memory_bytes=1 << 30) in ("MemoryError", "OSError")


@pytest.mark.parametrize(("part", "code"), [
    ("seccomp", "found = tried(lambda: os.fork() or os._exit(0))"),
    ("landlock", "found = tried(lambda: os.listdir('/var'))"),
    ("limits", "found = tried(lambda: mmap.mmap(-1, 3 << 29))"),
])  # fmt: skip
def test_each_part_is_what_denies(inside, part, code):
    """Switched off, as only the tests of the defences do, it lets through what it denies otherwise."""
    assert inside(as_python(code), memory_bytes=1 << 30, off=(part,)) == "done"
    assert inside(as_python(code), memory_bytes=1 << 30) != "done"


WENT_FAR = """
found = os.fork()
if found == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        time.sleep(60)
    os._exit(0)
os.waitpid(found, 0)
"""
"""Leaves behind a process that has no more to do with it: another session's, and of a parent that is gone."""


@pytest.mark.parametrize("ends", ["it is closed", "it ends by itself"])
def test_what_it_leaves_behind_ends_with_it_where_it_has_no_process_namespace(put, ends):
    child, _ = put(as_python(WENT_FAR) + "raise RuntimeError", off=("namespaces",), may_execute=True)
    left = [pid for pid in kernel.descendants(child.group) if pid != child.pid]
    assert len(left) == 1
    assert child.has_strays()
    if ends == "it is closed":
        child.close()
    else:
        os.kill(child.pid, signal.SIGKILL)
        last = time.monotonic() + 5
        while kernel.is_alive(child.group) and time.monotonic() < last:
            time.sleep(0.01)
    assert not any(map(kernel.is_alive, left))


def test_who_has_no_other_process_has_no_strays(put):
    child, _ = put(as_python("raise RuntimeError"), off=("namespaces",), may_execute=True)
    assert not child.has_strays()
