"""Calls and results come apart into leaves and a tree of plain data, and together again: with their classes or without."""

import dataclasses
import enum
import json
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch

from kernelwright.calltree import arguments, built, flatten, parts, tensors
from kernelwright.export.results import put_together

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


Batch.__module__ = Pair.__module__ = "task"  # as classes of a task's own file are
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


class Mode(enum.Enum):
    LEFT = 1


class Cache:
    """As caches of attention are: its parts are attributes, and it has been built by calls."""

    def __init__(self):
        self.layers, self.seen, self.dtype, self.kind = [], 0, torch.float32, OrderedDict

    def update(self, keys):
        self.layers.append(keys)
        self.seen += keys.shape[-1]
        return self


class Table(OrderedDict):
    """A mapping that is looked up by attribute too."""

    def __getattr__(self, name):
        return self[name]


def same(value):
    """Put together again, from data, and from the text that stands in a kernel's file; they are alike."""
    _, tree = parts({"all": value})
    space = {"torch": torch}
    exec(put_together(tree), space)
    again = space["_as_given"](tensors(value))["all"]
    data = json.loads(json.dumps(tree))
    put = built(data, tensors(value))["all"]
    assert parts(again)[1] == parts(put)[1]
    return again


def test_an_object_is_its_attributes_and_numbers_in_it_say_its_state():
    cache = Cache().update(torch.ones(2, 3)).update(torch.ones(2, 4))
    leaves, _ = parts(cache)
    assert [name for name, _ in leaves] == ["output_layers_0", "output_layers_1"]
    again = same(cache)
    assert (type(again), again.seen, again.dtype, again.kind) == (Cache, 7, torch.float32, OrderedDict)
    assert again.update(torch.ones(2, 2)).seen == 9


def test_mappings_keep_their_class_and_their_keys():
    table = same(Table(hidden=torch.ones(2), inner={3: torch.zeros(1), (1, 2): None}))
    assert (type(table), table.hidden.tolist(), list(table.inner)) == (Table, [1.0, 1.0], [3, (1, 2)])


@pytest.mark.parametrize(
    "constant",
    ["word", None, Mode.LEFT, torch.bfloat16, torch.device("meta"), slice(1, None), range(3), 2j, {1, 2}, torch.Size([2]),
     torch.channels_last, torch.relu, b"ab", dataclasses.dataclass],
)  # fmt: skip
def test_constants_of_a_call_stay_what_they_are(constant):
    again = same({"c": constant, "x": 1, "f": 0.5})
    assert again == {"c": constant, "x": 1, "f": 0.5}
    assert type(again["c"]) is type(constant)


def test_a_number_is_one_again_and_a_complex_tensor_too():
    again = same([3, 0.25, True, torch.ones(2, dtype=torch.complex64), (torch.ones(1),)])
    assert again[:3] == [3, 0.25, True]
    assert again[2] is True
    assert again[3].dtype == torch.complex64
    assert isinstance(again[4], tuple)


def test_arrays_are_taken_as_tensors_and_their_numbers_as_numbers():
    leaves, tree = flatten([np.ones((2, 3), np.float32)], ["x"], {"scale": np.float64(0.5)})
    (args, kwargs) = arguments(tree, [value for _, value in leaves])
    assert (args[0].dtype, args[0].shape, kwargs) == (torch.float32, (2, 3), {"scale": 0.5})


def test_results_of_pytorch_keep_their_form():
    found = same((torch.max(torch.eye(3), 0), torch.nn.utils.rnn.pack_sequence([torch.ones(2)])))
    assert found[0].indices.tolist() == [0, 1, 2]
    assert found[1].batch_sizes.tolist() == [1, 1]
    assert parts((torch.ones(1), torch.ones(2)))[1] is None
    assert parts([torch.ones(1)])[1] == {"list": [0]}


@pytest.mark.parametrize("what", [torch.nn.Linear(1, 1), iter(()), object()])
def test_what_cannot_be_written_down_is_told(what):
    with pytest.raises(TypeError, match=type(what).__name__):
        flatten([what], ["x"])
    circle = Cache()
    circle.layers.append(circle)
    with pytest.raises(TypeError, match="holds itself"):
        parts(circle)
