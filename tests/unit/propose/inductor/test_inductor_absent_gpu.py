"""What `torch.compile` writes for a GPU that is not here: made plain, judged by the interpreter."""

import pytest

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.propose.inductor.inductor import usual, write
from kernelwright.propose.inductor.schedule import options_of
from kernelwright.records.evaluation import Verified
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.train.data.collect import plain
from lanes import sampled

TARGET = Target(kind="cuda", arch="sm_90", present=False)
POLICY = Policy(seeds=1)
MODULE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.{result}
def get_inputs():
    return [torch.randn(8, 96)]
"""


@pytest.fixture(scope="module")
def service():
    service = EvaluationService(note=lambda _: None)
    yield service
    service.close()


RESULTS = [
    "logsumexp(torch.sigmoid(x), dim=-1)",
    "expm1(torch.abs(x))",
    "relu(x[:, 1:].t().contiguous() + x[:1, :1])",
    "cumsum(x, dim=-1)",
    "nn.functional.dropout(x, 0.2)",
]


@pytest.mark.parametrize("result", sampled(RESULTS, RESULTS[:3].__contains__))
def test_its_kernels_stand_alone_and_are_right(service, result):
    """They have constants that Inductor would fold on the GPU, calls of two libraries of Triton's, views, scans, and dice."""
    source = TaskSource(name="task", format="kernelbench", source=MODULE.format(result=result))
    task = service.admit(source, TARGET, POLICY)
    lowering = service.lower(source, TARGET, POLICY, options_of(usual(task))[0])
    assert lowering.missing == ""
    kernel = plain(task, write(task, lowering, usual(task)))
    assert "_run" not in kernel.source
    found = service.evaluate(task, kernel, POLICY, "verify")
    assert isinstance(found, Verified), found
