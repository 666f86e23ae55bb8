"""The command ends as it is told: SIGTERM is Ctrl-C, and above process 1 nobody reaps."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE

SEARCH = """
import signal, sys
{before}
from kernelwright.interfaces.cli.main import invoke
from kernelwright.interfaces.cli.signals import terminate_as_interrupt
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers
terminate_as_interrupt()
suppliers = scripted_suppliers(ScriptedEvaluator(outcomes=("measured",), delay_s=0.2, log=__import__("pathlib").Path("log")))
sys.exit(invoke(["optimize", "abs.py", "--budget", "5000"], suppliers))
"""


IGNORED = "signal.signal(signal.SIGINT, signal.SIG_IGN)"


@pytest.mark.parametrize(("number", "before"), [(signal.SIGTERM, ""), (signal.SIGINT, ""), (signal.SIGTERM, IGNORED)])
def test_a_search_that_is_told_to_end_keeps_its_best_and_says_how_to_go_on(tmp_path, number, before):
    (tmp_path / "abs.py").write_text(SOURCE)
    process = subprocess.Popen(
        [sys.executable, "-c", SEARCH.format(before=before)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not (
        (tmp_path / "log").exists() and (tmp_path / "log").read_text().count("\n") > 4
    ):
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"kernelwright resume runs/{folder.name}" in out + err
    with closing(RunStore.open(folder)) as store:
        outcome = store.outcome()
        assert outcome is None or not outcome.complete
        assert len(store.attempts()) >= 1
    assert (folder / "report.html").exists()


INIT = """
import os, signal, sys, time
from kernelwright.evaluate.sandbox import kernel
from kernelwright.interfaces.cli.signals import under_init
kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)

def run():
    for _ in range(5):  # orphans that end later
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(0.1)
            os._exit(0)
        os.wait()
    time.sleep(0.5)
    left = [pid for pid in kernel._children(os.getppid()) if pid != os.getpid()]
    print(len(left), flush=True)
    {end}
    return 7

sys.exit(under_init(run))
"""


@pytest.mark.parametrize(("end", "code"), [("", 7), ("os.kill(os.getpid(), signal.SIGKILL)", 137)])
def test_process_1_reaps_what_is_left_to_it_and_ends_as_the_command_does(end, code):
    found = subprocess.run(
        [sys.executable, "-c", INIT.format(end=end)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (found.stdout.strip(), found.returncode) == ("0", code), found.stderr


def test_process_1_passes_signals_on():
    text = INIT.format(
        end="signal.signal(signal.SIGTERM, lambda *_: os._exit(9)); print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    while process.stdout.readline().strip() != "ready":
        pass
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 9
    process.stdout.close()
