"""All calls of a round compared in one go: as strict as one by one, each by its own scale."""

import pytest
import torch

from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.finer import SPARED, Finer


def one_by_one(got, wanted, allowed):
    scales = [compare.scale_of(w) for w in wanted]
    return all(compare.largest_error(g, w, s) <= allowed for g, w, s in zip(got, wanted, scales, strict=True))


@pytest.mark.parametrize("off", [0.0, 1e-6, 1e-3, 1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("row", [0, 2])
def test_it_agrees_with_one_by_one(off, row):
    wanted = torch.randn(3, 1000, generator=torch.Generator().manual_seed(1)) * torch.tensor([[1e-3], [1.0], [1e3]])
    got = wanted.clone()
    got[row, 17] += off * float(wanted[row].abs().median())
    for allowed in (1e-7, 1e-5, 1e-2):
        assert compare.all_within(got, wanted, allowed) == one_by_one(got, wanted, allowed)


def test_a_wrong_zero_among_large_values_is_seen():
    wanted = torch.full((2, 64), 5.0)
    got = wanted.clone()
    got[1, 3] = 0.0
    assert not compare.all_within(got, wanted, 0.1)


def test_neighbours_that_are_small_beside_others_are_seen_in_every_row():
    wanted = torch.randn(2, 1024, generator=torch.Generator().manual_seed(1))
    wanted[1, 256:512] *= 1e-9
    got = wanted.clone()
    got[1, 256:512] = 0.0
    assert compare.all_within(got, wanted, 1e-6)
    assert not compare.all_within(got, wanted, 1e-6, Finer(local=1e-3))
    assert compare.all_within(wanted * (1 + 1e-7), wanted, 1e-6, Finer(local=1e-6))


def test_lines_that_are_small_among_large_ones_are_seen_in_every_row():
    wanted = torch.randn(2, 4096, generator=torch.Generator().manual_seed(1))
    lines = wanted.view(2, 64, 4, 16)[:, :, 1]
    lines *= 1e-9
    got = wanted.clone()
    got.view(2, 64, 4, 16)[1, :, 1] = 0.0
    assert compare.all_within(got, wanted, 1e-6, Finer(local=1e-6))
    assert not compare.all_within(got, wanted, 1e-6, Finer(lost=SPARED))
    assert compare.all_within(wanted * (1 + 1e-7), wanted, 1e-6, Finer(lost=SPARED))


def test_too_few_elements_that_are_not_zero_are_not_surely_right():
    wanted = torch.zeros(1, 1 << 18)
    wanted[0, 1::4096] = 1.0
    wanted[0, 0] = 1e9
    got = wanted.clone()
    got[0, 1::4096] = 0.0
    assert not compare.all_within(got, wanted, 1e-6), "by the largest element, all others would be nothing"
