"""Domains are told from what was drawn."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference.domains import evidence, with_domain
from kernelwright.evaluate.entrypoints.reference.export import spec_of
from kernelwright.records.tensor import Domain


def found(draw):
    values = [draw(torch.Generator().manual_seed(seed)) for seed in (1, 2)]
    return with_domain(spec_of("x", values[0]), [evidence(v) for v in values])


SIZE = (40, 8)


@pytest.mark.parametrize(
    ("draw", "domain"),
    [
        (lambda g: torch.randn(SIZE, generator=g), Domain.REAL),
        (lambda g: torch.rand(SIZE, generator=g), Domain.NON_NEGATIVE),
        (lambda g: torch.softmax(torch.randn(SIZE, generator=g), -1), Domain.PROBABILITY),
        (lambda g: torch.randint(0, 9, SIZE, generator=g), Domain.INDEX),
        (lambda g: torch.randn(SIZE, generator=g) > 0, Domain.MASK),
        (lambda g: torch.randint(0, 2, SIZE, generator=g).float() * 2 - 1, Domain.LABEL),
        (lambda g: torch.randint(0, 2, SIZE, generator=g).half(), Domain.LABEL),
        (lambda g: torch.randint(0, 40, SIZE, generator=g).float(), Domain.NON_NEGATIVE),
        (lambda g: torch.ones(SIZE), Domain.NON_NEGATIVE),
        (lambda g: torch.randint(0, 2, (3,), generator=g).float(), Domain.NON_NEGATIVE),
        (lambda g: torch.nn.functional.one_hot(torch.randint(0, 8, (40,), generator=g), 8).float(), Domain.PROBABILITY),
    ],
    ids=["normal", "uniform", "softmax", "integers", "booleans", "signs", "zeros and ones", "many whole values", "ones",
         "too few to tell", "one hot"],
)  # fmt: skip
def test_the_domain_of_what_was_drawn(draw, domain):
    assert found(draw).domain == domain


def test_an_index_knows_its_bound():
    assert found(lambda g: torch.arange(12)).bound == 12
