"""Work done ahead: in processes of its own, waited for, and never more than a hint."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys, threading
from pathlib import Path
from kernelwright.evaluate.triton.capture import ahead

def leave(number):
    if number == 2:
        raise ValueError
    Path(f"{number}").write_text(str(os.getpid()))

os.chdir(sys.argv[2])
if sys.argv[1] == "threads":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
ahead([lambda n=n: leave(n) for n in range(5)])
print(os.getpid(), flush=True)
"""


@pytest.mark.parametrize(("how", "left"), [("alone", ["0", "1", "3", "4"]), ("threads", [])])
def test_jobs_are_done_elsewhere_and_only_where_that_is_safe(tmp_path, how, left):
    argv = [sys.executable, "-c", SCRIPT, how, str(tmp_path)]
    # NumPy's library starts a thread for every core.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    assert sorted(p.name for p in tmp_path.iterdir()) == left
    assert done.stdout.count("\n") == 1, "a fork came back"
    assert done.stdout.strip() not in {p.read_text() for p in tmp_path.iterdir()}
    assert os.getpid() != int(done.stdout)
