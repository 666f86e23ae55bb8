"""Parts of a result that lies in an outbox: the same elements as from a frozen child, as a copy."""

import pytest
import torch

from kernelwright.evaluate.backends.cuda.outbox import Outbox, PlacedOutbox
from kernelwright.evaluate.sandbox.messages.calls import Found


@pytest.mark.parametrize("kind", [Outbox, PlacedOutbox])
def test_parts_are_copied_one_behind_the_other(kind):
    there = torch.arange(12.0).view(3, 4)
    side = kind.__new__(kind)
    side._window = lambda found: there
    found = Found(address=0, dtype="float32", shape=(3, 4))
    parts = side.read_parts(found, [(2, 3), (9, 2), (0, 1)])
    assert parts.tolist() == [2, 3, 4, 9, 10, 0]
    everything = side.read_parts(found, [(0, 12)])
    assert everything.data_ptr() != there.data_ptr()
    assert torch.equal(side.read(found), there)
