"""Ties are broken otherwise, and nothing else is done otherwise."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference.ties import Otherwise

CALLS = {
    "topk": lambda x: torch.topk(x, 3, dim=1),
    "smallest": lambda x: torch.topk(x, 3, dim=0, largest=False),
    "sort": lambda x: torch.sort(x, dim=0, descending=True),
    "median": lambda x: torch.median(x, dim=1, keepdim=True),
    "kthvalue": lambda x: torch.kthvalue(x, 2, dim=0),
}


def along(name):
    return 0 if name in ("smallest", "sort", "kthvalue") else 1


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("which", ["first", "last", "any"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_values_and_forms_stay(name, which, dtype):
    x = torch.randint(0, 4, (9, 7)).to(dtype)
    wanted = CALLS[name](x)
    with Otherwise(which):
        found = CALLS[name](x)
    assert torch.equal(found[0], wanted[0])
    assert found[1].shape == wanted[1].shape
    dim = along(name)
    there = found[1] if found[1].dim() == 2 else found[1].unsqueeze(dim)
    assert torch.equal(x.gather(dim, there).view(found[0].shape), found[0])


@pytest.mark.parametrize("name", CALLS)
def test_without_ties_positions_stay(name):
    x = torch.randperm(63).view(9, 7).double()
    for which in ("first", "last", "any"):
        with Otherwise(which):
            assert torch.equal(CALLS[name](x)[1], CALLS[name](x)[1])
        with Otherwise(which):
            found = CALLS[name](x)[1]
        assert torch.equal(found, CALLS[name](x)[1])


def test_of_equal_values_the_first_the_last_or_another_is_picked():
    x = torch.ones(50, 6, dtype=torch.float64)
    with Otherwise("first"):
        assert (torch.topk(x, 1).indices == 0).all()
    with Otherwise("last"):
        assert (torch.topk(x, 1).indices == 5).all()
    with Otherwise("any"):
        assert len(torch.topk(x, 1).indices.unique()) == 6


def test_a_stable_sort_and_the_first_maximum_are_promised():
    x = torch.ones(5, 6, dtype=torch.float64)
    with Otherwise("last"):
        assert torch.equal(torch.sort(x, stable=True).indices, torch.arange(6).expand(5, 6))
        assert (x.argmax(1) == 0).all()
        assert (torch.argsort(x) != torch.arange(6)).any()


def test_what_the_task_draws_itself_stays_what_it_is():
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    with Otherwise("any"):
        torch.topk(torch.ones(8, 8, dtype=torch.float64), 2)
        assert torch.equal(torch.rand(4), wanted)
