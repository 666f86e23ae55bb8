"""What kernels are held against, measured on a real reference before any kernel is written."""

import pytest

from kernelwright.evaluate.pipeline import yardstick
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.pipeline.yardstick import _agree
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.testing.samples import SOURCE, sample_task

POLICY = Policy(baselines=("eager",), final_baselines=())
HERE = Target(kind="cpu", arch="native", present=True)


@pytest.fixture(scope="module")
def measured():
    service = EvaluationService(note=lambda text: None)
    busy = pytest.MonkeyPatch()
    # A busy machine's blocks are told too: what is looked at is which figures there are.
    busy.setattr(yardstick, "_agree", bool)
    try:
        larger = sample_task().source.model_copy(update={"source": SOURCE.replace("1024", "262144")})
        task = service.admit(larger, HERE, POLICY)
        yield task, service.yardstick(task, POLICY, ("eager", "compile"))
    finally:
        busy.undo()
        service.close()


def test_only_what_was_asked_for_is_timed_and_nothing_is_below_the_floor(measured):
    _, found = measured
    assert set(found.times_us) == {"eager"}
    assert found.floor_us > 0
    assert all(time >= found.floor_us for time in found.times_us.values())


def test_the_strictest_case_is_one_that_admits_an_error(measured):
    _, found = measured
    assert 0 < found.strictest.allowed < 1e-5


def test_blocks_that_disagree_tell_no_time():
    assert _agree([1.0, 1.1, 1.2, 1.1])
    assert not _agree([1.0, 1.0, 9.0, 9.0])
    assert not _agree([])
