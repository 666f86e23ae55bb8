"""Seventy honest C++ kernels over many kinds of tasks: every one is built and verified, and none may be refused.

They are not timed here: that costs more than all of the rest, and the other tests of this folder time their twins.
"""

import honest_kernels
import pytest

from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.judge import _load
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, verify_case
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.kernelbench import read_kernelbench

CPU = Target(kind="cpu", arch="native", present=True)
QUICK = Policy(baselines=("eager",), run_limit_s=20)


def admitted(bench, name, honest, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(honest.task)
    source = read_kernelbench(path)
    assert isinstance(source, TaskSource)
    return admit.open_session(bench.warm, source, CPU, QUICK, 1)


def verified(session, machine, candidate, library):
    """The outcome of one kernel, or None where it is right in every case."""
    trial = Trial(session, machine, candidate, stage="verify")
    contestant = Contestant(machine.warm.spawn("cpp", trial.jail()), QUICK.run_limit_s)
    try:
        _load(trial, contestant, library)
        for case in session.cases:
            verify_case(trial, contestant, case)
    except OutcomeReached as reached:
        return reached.outcome
    finally:
        contestant.close()
    return None


@pytest.mark.parametrize("name", honest_kernels.HONEST)
def test_no_honest_kernel_is_refused(bench, name, tmp_path):
    honest = honest_kernels.HONEST[name]
    session = admitted(bench, name, honest, tmp_path)
    first = Candidate(language="cpp", source=honest.source, entry=next(iter(honest.kernels)), flags=honest.flags)
    library = cpp.build(bench.warm, first, 60.0)
    assert isinstance(library, cpp.Library), library
    refused = {}
    try:
        for entry in honest.kernels:
            found = verified(session, bench.machine, first.model_copy(update={"entry": entry}), library)
            if found is not None:
                refused[entry] = f"{found.because} in case {found.case}: {found.evidence}"
    finally:
        library.close()
        session.close()
    assert not refused


def test_there_are_sixty_over_many_tasks():
    assert sum(len(h.kernels) for h in honest_kernels.HONEST.values()) >= 60
    assert len(honest_kernels.HONEST) >= 30
