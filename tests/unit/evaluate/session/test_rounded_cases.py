"""What a case allows where flags let products round their factors to TF32, and eager's did not."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference.rounding import Products, Rounded
from kernelwright.evaluate.session import expectations
from kernelwright.evaluate.verify import compare, finer
from kernelwright.records.comparator import Calibrated, Exact

SIZE = 256


@pytest.fixture(params=[torch.rand, torch.randn], ids=["of one sign", "of both"])
def product(request):
    torch.manual_seed(3)
    a, b = request.param(SIZE, SIZE), request.param(SIZE, SIZE)
    with Rounded(Products(convolutions=False, matrices=True)):
        rounded = a.double() @ b.double()
    return SimpleNamespace(a=a, b=b, eager=a @ b, truth=a.double() @ b.double(), rounded=rounded)


class Session:
    """As much of one as an output's expectation needs."""

    calibrated = True

    def __init__(self, comparator=None):
        self.task = SimpleNamespace(
            comparator=lambda output: comparator or Calibrated(),
            workload=SimpleNamespace(outputs=(SimpleNamespace(floating=True, stepped=False),)),
        )

    def lines(self, output):
        return finer.Lines(16, (SIZE, 1))


def seen(product):
    scale = compare.scale_of(product.truth)
    return expectations.Seen(product.truth, compare.largest_error(product.eager, product.truth, scale), scale)


def test_as_much_as_rounded_factors_move_is_allowed_and_bfloat16_is_not(product, monkeypatch):
    monkeypatch.setattr(expectations, "steps", lambda session, output: False)
    found = expectations.or_rounded(Session(), 0, seen(product), product.truth, product.rounded)
    assert found.error > 16 * seen(product).error
    halves = product.a.bfloat16().double() @ product.b.bfloat16().double()
    nearest = product.a.half().double() @ product.b.half().double()
    off = [compare.largest_error(one, product.truth, found.scale) for one in (nearest, halves)]
    k = Calibrated().k
    assert off[0] <= k * found.error < off[1]


def test_what_is_compared_otherwise_is_left_alone(product):
    before = seen(product)
    assert expectations.or_rounded(Session(Exact()), 0, before, product.truth, product.rounded) is before
