"""Arguments come apart into leaves and a tree of plain data, and together again: with their classes or without."""

import dataclasses
import json
from collections import namedtuple

import pytest
import torch

from kernelwright.evaluate.triton.calltree import arguments, flatten

Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Batch:
    tokens: object
    pair: Pair
    scale: float = 1.0

    def __post_init__(self):
        assert self.scale > 0

    @property
    def doubled(self):
        return self.scale * 2


DRAWN = [Batch("a word", Pair(1, [2.0, None]), 3.0), {"k": (4, Pair(5, 6))}]
LEAVES = [1, 2.0, 3.0, 4, 5, 6]


def test_leaves_are_numbered_from_left_to_right_and_the_tree_is_plain_data():
    leaves, tree = flatten(DRAWN, ["batch", "more"])
    assert [value for _, value in leaves] == LEAVES
    assert leaves[0][0] == "batch_pair_left"
    assert json.loads(json.dumps(tree)) == tree


def test_whoever_has_the_classes_gets_instances_of_them():
    _, tree = flatten(DRAWN, ["batch", "more"])
    args, kwargs = arguments(tree, LEAVES, globals())
    assert (args, kwargs) == (DRAWN, {})
    assert args[0].doubled == 6.0


@pytest.mark.parametrize("classes", [{}, {"Batch": "no class", "Pair": 7}])
def test_whoever_has_none_reads_the_same_fields(classes):
    _, tree = flatten(DRAWN, ["batch", "more"])
    batch, more = arguments(tree, LEAVES, classes)[0]
    assert (batch.tokens, batch.pair.left, batch.pair.right, batch.scale) == ("a word", 1, [2.0, None], 3.0)
    left, right = more["k"][1]
    assert (left, right) == (5, 6)
    assert type(batch) is not Batch


def test_fresh_leaves_take_the_places_of_those_that_were_drawn():
    _, tree = flatten(DRAWN, ["batch", "more"])
    args, _ = arguments(tree, [10 * value for value in LEAVES], globals())
    assert args[0] == Batch("a word", Pair(10, [20.0, None]), 30.0)


def test_complex_numbers_are_pairs_in_the_same_memory():
    z = torch.randn(3, 2, dtype=torch.complex64)
    leaves, tree = flatten([z, 2.0], ["z", "s"])
    ((_, pairs), _) = leaves
    assert (pairs.shape, pairs.dtype, pairs.data_ptr()) == ((3, 2, 2), torch.float32, z.data_ptr())
    (back, scale), _ = arguments(tree, [pairs.double(), 3.0])
    assert torch.equal(back, z.to(torch.complex128))
    assert scale == 3.0


def test_a_flat_list_needs_no_tree():
    leaves, tree = flatten([1, 2], ["x"])
    assert (tree, [name for name, _ in leaves]) == (None, ["x", "input1"])
    assert arguments(None, [3, 4]) == ([3, 4], {})
