"""The evaluation's key changes with every circumstance that may change a verdict, and with no other."""

import pytest

from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.store.cache import evaluation_key
from kernelwright.testing.samples import sample_environment, sample_task

CANDIDATE = Candidate(language="cpp", source="int x;", entry="kernel")
BASE = {
    "task": sample_task(),
    "candidate": CANDIDATE,
    "environment": sample_environment(),
    "policy": Policy(),
    "effort": "search",
}


@pytest.mark.parametrize(
    "change",
    [
        {"task": sample_task(Target(kind="cuda", arch="sm_90", present=False))},
        {"candidate": CANDIDATE.at((Define(name="BLOCK", value=4),))},
        {"environment": sample_environment().model_copy(update={"versions": {"python": "3.12"}})},
        {"policy": Policy(seeds=6)},
        {"effort": "final"},
    ],
)
def test_each_circumstance_counts(change):
    assert evaluation_key(**(BASE | change)) != evaluation_key(**BASE)


def test_a_measured_ceiling_is_an_answer_and_does_not_count():
    here = sample_environment()
    again = here.model_copy(update={"device": here.device.model_copy(update={"memory_gbps": 21.0})})
    assert evaluation_key(**(BASE | {"environment": again})) == evaluation_key(**BASE)


def test_a_renamed_task_is_the_same_question():
    assert evaluation_key(**(BASE | {"task": sample_task(name="other")})) == evaluation_key(**BASE)
