"""A run on a real, small, full tmpfs: one message with the cure, no attempt lost, and it goes on after."""

import subprocess
import sys

CHILD = """
import sys
from pathlib import Path

from kernelwright.interfaces.cli.main import invoke
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer
from kernelwright.testing.scripted import scripted_suppliers

disk = Path(sys.argv[1])
task = disk / "abs.py"
task.write_text(SOURCE)
ballast = disk / "ballast"
ballast.write_bytes(bytes(11400 << 10))


def command(*arguments):
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    return invoke(arguments, scripted_suppliers(evaluator, ScriptedProposer()))


def attempts(run):
    store = RunStore.open(run)
    try:
        return store.attempts()
    finally:
        store.close()


code = command("optimize", str(task), "--target", "cpu", "--run-dir", str(disk / "runs"), "--budget", "40")
assert code == 5, f"exit code {code} on a full disk"
(run,) = (disk / "runs").iterdir()
ballast.unlink()
kept = attempts(run)
assert kept, "the disk was full before the first attempt"
assert command("resume", str(run)) == 0
assert attempts(run)[: len(kept)] == kept
assert len(attempts(run)) == 40
"""


def test_a_full_disk_ends_with_its_cure_and_the_run_goes_on(tmp_path):
    mount = f"mount -t tmpfs -o size=12m none {tmp_path} && exec {sys.executable} -c '{CHILD}' {tmp_path}"
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "is full" in ended.stderr
    assert "free some space, then continue with `kernelwright resume" in ended.stderr.replace("\n", " ")
