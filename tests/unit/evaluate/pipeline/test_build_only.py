"""A build alone: the compiler's facts or its complaints, and nothing of the candidate is run."""

import pytest

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Compiled, Refused
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(64, 1000)]
"""
CRASHES = 'extern "C" void kernel(const float* x, float* y) { *(volatile int*)0 = 1; }'
TRITON = """
import torch
raise RuntimeError("run")
"""


@pytest.fixture(scope="module")
def service():
    service = EvaluationService(note=lambda _: None)
    yield service
    service.close()


def built(service, target, **candidate):
    policy = Policy(seeds=2)
    task = service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), target, policy)
    return service.build(task, Candidate(**candidate), policy)


def cpu():
    return Target(kind="cpu", arch="native", present=True)


def test_what_would_crash_is_built_all_the_same(service):
    found = built(service, cpu(), language="cpp", source=CRASHES, entry="kernel")
    assert isinstance(found, Compiled)
    assert found.build.binary_bytes > 0
    assert [s.stage for s in found.seconds] == ["compile"]


def test_what_the_compiler_refuses_comes_back_in_its_words(service):
    source = 'extern "C" void kernel(const float* x, float* y) { missing(); }'
    found = built(service, cpu(), language="cpp", source=source, entry="kernel")
    assert isinstance(found, BuildFailed)
    assert "missing" in found.log


def test_another_number_of_pointers_than_the_tasks_is_refused(service):
    source = 'extern "C" void kernel(float* y) { missing(); }'
    found = built(service, cpu(), language="cpp", source=source, entry="kernel")
    assert found == Refused(reason="kernel takes 1 pointer, the task hands over 2: x, out")
    assert found == service.evaluate(
        service.admit(TaskSource(name="relu", format="kernelbench", source=SOURCE), cpu(), Policy(seeds=2)),
        Candidate(language="cpp", source=source, entry="kernel"), Policy(seeds=2), "search",
    )  # fmt: skip


def test_another_language_than_the_targets_is_refused(service):
    assert isinstance(built(service, cpu(), language="triton", source=TRITON), Refused)
