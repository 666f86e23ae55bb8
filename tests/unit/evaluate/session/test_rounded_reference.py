"""The reference with rounded factors, through the real sandbox: it rounds where PyTorch may, and is otherwise fp64's."""

import pytest
import torch

from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.sandbox.messages.calls import ROUNDED
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
SOURCE = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3)
        self.register_buffer("calls", torch.zeros(1))
    def forward(self, x, v):
        self.calls += 1
        return self.conv(x), v.float() @ v.T
def get_inputs():
    return [torch.randn(2, 3, 50), torch.randn(8, 16)]
"""


@pytest.fixture
def session(backend, request):
    source = TaskSource(name="both", format="kernelbench", source=SOURCE)
    policy = Policy(numerics=getattr(request, "param", "as-is"))
    opened = admit.open_session(backend, source, CPU, policy, lambda size: None)
    yield opened
    opened.close()


def test_convolutions_are_rounded_as_cudnn_may_and_matrix_products_as_cublas_may_not(session):
    offsets = session.cases[1].offsets
    exact, product, calls = session.results("fp64", offsets)
    found = [session.results(ROUNDED, offsets) for _ in range(4)]
    for moved, same, again in found:
        assert moved.dtype == torch.float64
        assert 0 < (moved - exact).abs().max() < 0.01
        assert torch.equal(same, product)
        assert torch.equal(again, calls), "what a call changes is put back before the next"
    assert len({tuple(moved.flatten().tolist()) for moved, _, _ in found}) > 1
    assert torch.equal(session.results("fp64", offsets)[0], exact)


def test_it_takes_the_parameters_of_its_case(session):
    exact = [session.results("fp64", session.cases[i].offsets)[0] for i in (0, 1)]
    for i in (0, 1, 0):
        torch.testing.assert_close(
            session.results(ROUNDED, session.cases[i].offsets)[0], exact[i], rtol=0.01, atol=0.01
        )
    assert not torch.allclose(*exact, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("session", ["strict"], indirect=True)
def test_nothing_is_rounded_where_a_policy_forbids_it(session):
    offsets = session.cases[0].offsets
    for exact, same in zip(session.results("fp64", offsets), session.results(ROUNDED, offsets), strict=True):
        assert torch.equal(exact, same)
