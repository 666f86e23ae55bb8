"""What a module keeps is told from its last result, which is another tensor after each call."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.candidate.poison import OwnResults


class Keeps(torch.nn.Module):
    """Keeps a buffer, a table that its first call makes, and its last result."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(3))
        self.tables = {}

    def forward(self, x):
        self.tables.setdefault("all", torch.zeros(3))
        self.last = x * 2
        return self.mask[1:], self.tables["all"], self.last


@pytest.fixture
def model():
    return Keeps()


def asked(model, own, looked):
    """Of the results of two calls, which would be copied: where nothing is timed it is looked for anew."""
    if looked:
        own.look(model)
    held = []
    for _ in range(2):
        results = model(torch.ones(3))
        own.called(model)
        held.append([own.holds(result) for result in results])
    own.asked()
    return held


def test_where_it_is_looked_for_all_that_is_kept_is_copied(model):
    own = OwnResults()
    assert asked(model, own, looked=True)[0] == [True, True, True]


def test_later_only_what_stays_is_copied(model):
    own = OwnResults()
    for _ in range(2):
        asked(model, own, looked=True)
    kept = model.last
    for held in asked(model, own, looked=False):
        assert held == [True, True, False]
    assert not own.holds(kept)


def test_nothing_is_copied_of_what_was_never_looked_at(model):
    own = OwnResults()
    own.asked()
    assert asked(model, own, looked=False) == [[False] * 3] * 2
