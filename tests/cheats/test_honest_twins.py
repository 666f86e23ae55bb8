"""Seventy honest C++ kernels over many kinds of tasks: every one is built and verified, and none may be refused.

The folder `honest` holds a task and its kernels in two files of one name: sums in other orders, other blockings, other
precisions inside, other ties, other random numbers. They are not timed here: that costs more than all of the rest, and the
other tests of this folder time their twins.
"""

import re
from pathlib import Path

import pytest

from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.judge import loaded
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, verify_case
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernelbench import read_kernelbench

CPU = Target(kind="cpu", arch="native", present=True)
FOLDER = Path(__file__).parent / "honest"
NAMES = sorted(path.stem for path in FOLDER.glob("*.cpp"))
ENTRY = re.compile(r'^extern "C" void (\w+)\(', re.MULTILINE)
FLAGS = re.compile(r"^// flags: (.+)$", re.MULTILINE)
QUICK = Policy(baselines=("eager",), run_limit_s=20)


def written(name):
    """The kernels of a task: their text, their names, the compiler's flags."""
    text = (FOLDER / f"{name}.cpp").read_text()
    flags = FLAGS.search(text)
    return (FOLDER / "prelude.h").read_text() + text, ENTRY.findall(text), tuple(flags[1].split()) if flags else ()


def verified(session, machine, candidate, library):
    """The outcome of one kernel, or None where it is right in every case."""
    trial = Trial(session, machine, candidate, QUICK, stage="verify")
    contestant = loaded(trial, library)
    try:
        for case in session.cases:
            verify_case(trial, contestant, case)
    except OutcomeReached as reached:
        return reached.outcome
    finally:
        contestant.close()
    return None


@pytest.mark.parametrize("name", NAMES)
def test_no_honest_kernel_is_refused(bench, name):
    source, entries, flags = written(name)
    session = admit.open_session(bench.warm, read_kernelbench(FOLDER / f"{name}.py"), CPU, QUICK, lambda size: None)
    first = Candidate(language="cpp", source=source, entry=entries[0], flags=flags)
    library = cpp.build(bench.warm, first, 60.0)
    assert isinstance(library, cpp.Library), library
    refused = {}
    try:
        for entry in entries:
            found = verified(session, bench.machine, first.model_copy(update={"entry": entry}), library)
            if found is not None:
                refused[entry] = f"{found.because} in case {found.case}: {found.evidence}"
    finally:
        library.close()
        session.close()
    assert not refused


def test_there_are_at_least_sixty_over_many_tasks():
    assert sum(len(written(name)[1]) for name in NAMES) >= 60
    assert len(NAMES) >= 30
