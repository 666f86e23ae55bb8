"""Temporary folders end with their process, and what killed processes left is removed by the next one."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from kernelwright.execution import folder as folder_module
from kernelwright.execution.folder import DRAFT, HELD, LEFT_S, TempFolder, remove_given, sweep

MAKER = """
import time
from kernelwright.execution.folder import TempFolder
print(TempFolder().path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def maker(tmp_path):
    """Another process that has made one."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKER], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    process.folder = tmp_path / os.path.basename(process.stdout.readline().strip())  # noqa: PTH119
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_folder_is_there_until_it_is_removed_and_others_may_pass_through(tmp_path):
    made = TempFolder()
    (made.path / "file").touch()
    assert made.path.parent == tmp_path
    assert made.path.stat().st_mode & 0o777 == 0o711
    made.remove()
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_s_folder_is_swept_and_a_living_one_s_is_not(maker, tmp_path):
    mine = TempFolder()
    (maker.folder / "deep").mkdir()
    sweep(tmp_path)
    assert maker.folder.is_dir() and mine.path.is_dir()
    os.kill(maker.pid, signal.SIGKILL)
    maker.wait()
    sweep(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == [mine.path.name]
    mine.remove()


def test_the_next_one_sweeps_by_itself(maker, tmp_path):
    maker.kill()
    maker.wait()
    folder_module._sweep_once.cache_clear()
    made = TempFolder()
    assert not maker.folder.exists()
    made.remove()


def test_what_is_not_ours_stays(tmp_path, monkeypatch):
    (tmp_path / "kernelwright-training").mkdir()
    (tmp_path / f"{DRAFT}fresh").mkdir()
    (tmp_path / f"{HELD}link").symlink_to(tmp_path / "kernelwright-training")
    (tmp_path / f"{HELD}file").touch()
    old = time.time() - 2 * LEFT_S
    os.utime(tmp_path / "kernelwright-training", (old, old))
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    (tmp_path / f"{HELD}other").mkdir()
    with monkeypatch.context() as another:
        another.setattr(os, "geteuid", lambda: 12345)
        sweep(tmp_path)
    assert (tmp_path / f"{HELD}other").is_dir()
    os.utime(tmp_path / f"{DRAFT}fresh", (old, old))
    sweep(tmp_path)
    assert not (tmp_path / f"{DRAFT}fresh").exists(), "it was never locked, and is old"


def test_whoever_was_given_a_folder_removes_it_and_no_other(tmp_path, monkeypatch):
    remove_given()
    assert tmp_path.is_dir()
    made = TempFolder()
    monkeypatch.setattr(tempfile, "tempdir", str(made.path))
    remove_given()
    assert not made.path.exists()
