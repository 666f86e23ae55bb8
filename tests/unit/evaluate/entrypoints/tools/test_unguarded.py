"""Indexing without a device guard is what PyTorch's own indexing is."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.tools.unguarded import unguarded

MASK = torch.arange(12).view(3, 4) % 3 == 0
INDICES = [
    1, -1, slice(1, None), slice(None, None, 2), None, Ellipsis, (), (0, 2), (Ellipsis, 1), (slice(None), None, -1),
    (Ellipsis, slice(None, -1)), (None, Ellipsis, None, 0), (1, Ellipsis, slice(1, 3)), [0, 2],
    torch.tensor([2, 0]), (slice(None), torch.tensor([3, 1])), (torch.tensor([0, 1]), torch.tensor([1, 2])),
    (torch.tensor([0, 1]), slice(None), torch.tensor([1, 2])), torch.tensor(1), (torch.tensor([[0], [2]]), None, 1),
    MASK, (MASK, 2), (Ellipsis, torch.tensor([True, False, True, False, True])), MASK[:, 0], True, (slice(0, 0),),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_what_is_got_and_set_is_the_same(index):
    tensor = torch.arange(60.0).view(3, 4, 5)
    expected, changed = tensor[index], tensor.clone()
    changed[index] = -1.0
    mine = tensor.clone()
    with unguarded():
        found = tensor[index]
        mine[index] = -1.0
    assert torch.equal(found, expected)
    assert found.shape == expected.shape
    assert torch.equal(mine, changed)


def test_a_slice_is_a_view_and_takes_a_tensor():
    tensor = torch.zeros(2, 3)
    with unguarded():
        part = tensor[:, 1:]
        tensor[:, 0] = torch.tensor([1.0, 2.0])
        part[0] = 5
    assert tensor.tolist() == [[1, 5, 5], [2, 0, 0]]
    assert part.data_ptr() == tensor.data_ptr() + 4


def test_copies_and_what_is_contiguous_stay_what_they_are():
    tensor = torch.arange(6.0).view(2, 3)
    with unguarded():
        moved = tensor.t().contiguous()
        nested = torch.empty(1, 2, 1, 3).contiguous(memory_format=torch.channels_last)
        same = torch.empty(2, 3).copy_(tensor)
    assert moved.is_contiguous()
    assert torch.equal(moved, tensor.t())
    assert nested.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(same, tensor)
    assert torch.Tensor.contiguous is torch._C.TensorBase.contiguous
