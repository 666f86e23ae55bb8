"""Where processes live and what they leave: any folder for temporary files, no folder and no zombie behind."""

import os
import signal
import subprocess
import sys

import pytest

from lanes import sampled

LIVES = """
import sys
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm
kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # as process 1 is
with Warm() as warm:
    for _ in range(3):
        child = warm.spawn("tool", Jail(directory="/", may_execute=True))
        print(child.ask(Execute(argv=("sh", "-c", "pwd; touch here"), texts={}), 60).answer.reply.status, flush=True)
        child.close()
    kept = warm.spawn("tool", Jail(directory="/", may_execute=True))
    if "killed" in sys.argv:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
kept.ended = True
import os, time
time.sleep(0.5)
print("left", len(kernel._children(os.getpid())))
"""


def lives(place, *arguments):
    environment = {**os.environ, "TMPDIR": str(place)}
    return subprocess.run(
        [sys.executable, "-c", LIVES, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
    )


def test_children_leave_neither_a_folder_nor_a_zombie_to_process_1(tmp_path):
    found = lives(tmp_path)
    assert found.stdout.split() == ["0", "0", "0", "left", "0"], found.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_leaves_the_next_one_removes(tmp_path):
    assert lives(tmp_path, "killed").returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    assert lives(tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("modes", sampled(["700", "700 755", "711 700", "750"], lambda modes: modes == "700 755"))
def test_children_live_where_only_the_referee_s_user_may_enter(tmp_path, modes):
    place = tmp_path
    for number, mode in enumerate(int(one, 8) for one in modes.split()):
        place = place / f"closed {number}"
        place.mkdir()
        place.chmod(mode)
    found = lives(place)
    assert found.stdout.split()[:3] == ["0", "0", "0"], found.stderr + found.stdout
