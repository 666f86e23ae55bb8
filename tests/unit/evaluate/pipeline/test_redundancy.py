"""Redundancy in a graph: each kind found, and a lean reference left in peace."""

import pytest

from kernelwright.evaluate.pipeline.examine import redundancies
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.tensor import TensorSpec

X = TensorSpec(name="x", shape=(4, 1, 8), dtype="float32")
W = TensorSpec(name="w", shape=(8,), dtype="float32")


def node(name, op, *read, **more):
    arguments = [Argument(name=f"a{i}", value=Ref(ref=r)) for i, r in enumerate(read)]
    arguments += [Argument(name=k, value=v) for k, v in more.items()]
    result = X.model_copy(update={"name": name})
    return OpNode(name=name, op=f"aten.{op}", arguments=tuple(arguments), result=(result,), bytes=0, flops=0)


def graph(*nodes, parameters=(), outputs=None):
    outputs = outputs or (nodes[-1].name,)
    return OpGraph(inputs=("x",), parameters=parameters, nodes=nodes, outputs=outputs)


LEAN = (node("e", "exp.default", "x"), node("r", "relu.default", "e"), node("s", "sum.dim_IntList", "r", dim=(0, 2)))
CASES = {
    "no output needs aten.exp.default": graph(node("e", "exp.default", "x"), node("r", "relu.default", "x")),
    "computed twice": graph(
        node("a", "exp.default", "x"), node("b", "exp.default", "x"), node("c", "add.Tensor", "a", "b")
    ),
    "applied to its own result": graph(node("a", "relu.default", "x"), node("b", "relu.default", "a")),
    "over an axis of one element": graph(node("s", "sum.dim_IntList", "x", dim=(1,))),
    "softmax.int reduces over": graph(node("s", "_softmax.int", "x", dim=-2)),
    "nothing reads the parameter w": graph(node("r", "relu.default", "x"), parameters=("w",)),
}


@pytest.mark.parametrize(("words", "found"), CASES.items(), ids=CASES)
def test_each_kind_is_found_and_named(words, found):
    told = redundancies(found, (X, W))
    assert len(told) == 1
    assert words in told[0]


def test_a_lean_reference_has_none():
    assert redundancies(graph(*LEAN), (X, W)) == []
    read = graph(node("m", "mul.Tensor", "x", "w"), parameters=("w",))
    assert redundancies(read, (X, W)) == []


def test_a_write_through_views_of_what_is_returned_is_needed():
    nodes = (node("m", "mul.Tensor", "x", "w"), node("v", "view.default", "m"), node("s", "select.int", "v"))
    written = graph(*nodes, node("f", "fill_.Scalar", "s"), outputs=("m",))
    assert redundancies(written, (X, W)) == []
    dead = graph(*nodes, node("e", "exp.default", "m"), node("f", "fill_.Scalar", "e"), outputs=("m",))
    assert [told.partition(" (")[0] for told in redundancies(dead, (X, W))] == [
        "no output needs aten.exp.default", "no output needs aten.fill_.Scalar",
    ]  # fmt: skip


def test_random_draws_with_equal_arguments_are_not_the_same_operation():
    made = graph(node("a", "rand.default"), node("b", "rand.default"), node("c", "add.Tensor", "a", "b"))
    assert redundancies(made, (X,)) == []
