"""torch.compile on a CPU, in a reference whose parent has imported the compiler and may not be written to."""

import pytest

from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.mean((x - y) ** 2)
def get_inputs():
    return [torch.randn(64, 128), torch.randn(64, 128)]
"""


@pytest.fixture
def session():
    service, target, policy = (
        EvaluationService(lambda _: None),
        Target(kind="cpu", arch="native", present=True),
        Policy(),
    )
    task = service.admit(TaskSource(name="mse", format="kernelbench", source=SOURCE), target, policy)
    with service.backend(target).host.device_lock:
        yield service._session(task, policy)
    service.close()


def test_it_is_there_to_be_compared_with(session):
    assert baselines.made(session, ["eager", "compile"]) == (["eager", "compile"], ())


def test_the_reason_names_the_exception_and_not_the_advice_behind_it():
    log = "Traceback\n  File a\nInductorError: PermissionError: denied\n\nSet TORCHDYNAMO_VERBOSE=1 for more"
    assert baselines._exception(log) == "InductorError: PermissionError: denied"
