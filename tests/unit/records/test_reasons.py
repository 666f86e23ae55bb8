"""Why a kernel was not right: what was found reaches whoever asks."""

import pytest

from kernelwright.records.evaluation import BuildFailed, Compiled, Crashed, Incorrect, Refused, TimedOut
from kernelwright.records.measure import BuildFacts
from kernelwright.records.reasons import gist, reason_of

PYTHON = "kernel.py:85 in forward: return _run(*tensors)\nkernel.py:40 in _run: fill[grid](x)\nKeyError: 'complex64'"
COMPILER = "In file included from a.h:1:\nkernel.cpp:3:5: error: 'y' was not declared\n    3 | y[0] = 1;\n      | ^\n"


def test_the_gist_of_a_log_is_its_error_and_not_its_first_line():
    assert gist(PYTHON) == "KeyError: 'complex64' (kernel.py:40 in _run: fill[grid](x))"
    assert gist(COMPILER) == "kernel.cpp:3:5: error: 'y' was not declared"
    assert gist("nvrtc: kernel.cu(3): error C2065: no y\n1 error detected") == "nvrtc: kernel.cu(3): error C2065: no y"
    assert gist("") == ""
    assert len(gist("x" * 10_000)) < 1_000


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Refused(reason="it imports os"), "it imports os"),
        (BuildFailed(log=PYTHON), "KeyError: 'complex64' (kernel.py:40"),
        (Crashed(stage="verify", reason="KeyError", log=PYTHON), "KeyError: 'complex64' (kernel.py:40"),
        (Crashed(stage="verify", reason="killed by SIGSEGV", log="all is right"), "killed by SIGSEGV (while it was"),
        (Crashed(stage="verify", reason="ValueError"), "ValueError (while it was to verify)"),
        (TimedOut(stage="measure", limit_s=30), "still busy after 30 s (while it was to measure)"),
        (Incorrect(because="value", case="times 3", evidence="output 0: 3 wrong"), "output 0: 3 wrong (case times 3)"),
        (
            Compiled(build=BuildFacts(compiler="nvcc", seconds=1.0), why="it needs 9 GB"),
            "it was not run: it needs 9 GB",
        ),
    ],
)
def test_every_reason_is_whole(found, said):
    assert reason_of(found).startswith(said)
