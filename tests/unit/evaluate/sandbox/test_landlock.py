"""Landlock in a process of its own: what is not among the trees can be neither read nor written."""

import json
import subprocess
import sys

import pytest

from kernelwright.evaluate.sandbox import kernel, landlock

PROBES = """
import json, os, sys
from pathlib import Path
from kernelwright.evaluate.sandbox import kernel, landlock

readable, writable, outside = map(Path, sys.argv[1:])
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
held = (outside / "held").open("w")
landlock.restrict([str(readable), "/nowhere"], [str(writable), "/dev/null"])

def tried(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"

print(json.dumps({
    "read inside": tried((readable / "a").read_text),
    "list inside": tried(lambda: os.listdir(readable)),
    "write to what is readable": tried(lambda: (readable / "a").write_text("x")),
    "make in what is readable": tried(lambda: (readable / "new").write_text("x")),
    "write": tried(lambda: (writable / "a").write_text("x")),
    "make": tried(lambda: (writable / "new" / "deep").mkdir(parents=True)),
    "remove": tried((writable / "a").unlink),
    "device": tried(lambda: Path("/dev/null").write_text("x")),
    "read outside": tried((outside / "a").read_text),
    "list outside": tried(lambda: os.listdir(outside)),
    "write outside": tried(lambda: (outside / "a").write_text("x")),
    "make outside": tried(lambda: (outside / "new").write_text("x")),
    "truncate outside": tried(lambda: os.truncate(outside / "a", 0)),
    "remove outside": tried((outside / "a").unlink),
    "move out": tried(lambda: os.rename(writable / "new", outside / "new")),
    "link in": tried(lambda: os.link(outside / "a", writable / "linked")),
    "symbolic link": tried(lambda: os.symlink(outside / "a", writable / "way")),
    "through it": tried((writable / "way").read_text),
    "held open before": tried(lambda: held.write("x") and held.flush()),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    trees = [tmp_path_factory.mktemp(name) for name in ("readable", "writable", "outside")]
    for tree in trees:
        (tree / "a").write_text("text")
    done = subprocess.run([sys.executable, "-c", PROBES, *map(str, trees)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (trees[2] / "a").read_text() == "text"
    assert sorted(p.name for p in trees[2].iterdir()) == ["a", "held"]
    return json.loads(done.stdout)


@pytest.mark.parametrize("action", ["read inside", "list inside", "write", "make", "remove", "device"])
def test_what_was_given_can_be_used(found, action):
    assert found[action] == "done"


@pytest.mark.parametrize(
    "action",
    [
        "write to what is readable", "make in what is readable", "read outside", "list outside", "write outside",
        "make outside", "truncate outside", "remove outside", "through it",
    ],
)  # fmt: skip
def test_everything_else_is_denied(found, action):
    assert found[action] == "PermissionError"


@pytest.mark.parametrize("action", ["move out", "link in"])
def test_files_do_not_cross_the_border(found, action):
    assert found[action] in ("PermissionError", "OSError")


def test_what_was_open_before_stays_open(found):
    """So a child's descriptors are closed by whoever forks it."""
    assert found["held open before"] == "done"
    assert found["symbolic link"] == "done"


def test_a_kernel_without_it_is_told_apart(monkeypatch):
    def nothing(*arguments):
        raise OSError(38, "Function not implemented")

    assert landlock.abi() > 0
    monkeypatch.setattr(kernel, "syscall", nothing)
    assert landlock.abi() == 0
    with pytest.raises(OSError, match="not implemented"):
        landlock.restrict([], [])
