"""Comparators are inferred where that is safe, and declared otherwise."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.pipeline.rules import comparators
from kernelwright.records.comparator import Calibrated, DeclaredComparator, Exact, Statistical, Ties
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.task import TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

X = TensorSpec(name="x", shape=(4, 8), dtype="float32")


def spec(name, shape, dtype="int64"):
    return TensorSpec(name=name, shape=shape, dtype=dtype)


def node(name, op, results, **arguments):
    given = tuple(Argument(name=k, value=Ref(ref=v) if isinstance(v, str) else v) for k, v in arguments.items())
    return OpNode(name=name, op=op, arguments=given, result=results, bytes=0, flops=0)


def rule(*nodes, declared=(), output=None):
    graph = OpGraph(inputs=("x",), parameters=(), nodes=nodes, outputs=(nodes[-1].name,))
    workload = Workload(inputs=(X,), parameters=(), outputs=(output or nodes[-1].result[0],))
    source = TaskSource(name="t", format="kernelbench", source="", comparators=tuple(declared))
    return comparators(source, workload, graph)[0]


TOPK = node("topk", "aten.topk.default", (spec("topk.0", (4, 2), "float32"), spec("topk.1", (4, 2))), self="x", k=2)


def test_argmax_picks_from_its_input():
    found = rule(node("argmax", "aten.argmax.default", (spec("argmax", (4,)),), self="x", dim=1))
    assert found == Ties(of="x", dim=1)


def test_without_a_dimension_positions_count_in_the_flattened_tensor():
    found = rule(node("argmax", "aten.argmax.default", (spec("argmax", ()),), self="x"))
    assert found == Ties(of="x", dim=None)


def test_what_is_computed_is_named_by_its_node_and_what_is_handed_on_by_its_input():
    chosen = (spec("argmax", (4,)),)
    computed = node("mul", "aten.mul.Tensor", (spec("mul", (4, 8), "float32"),), self="x", other=2)
    copied = node("clone", "aten.clone.default", (spec("clone", (4, 8), "float32"),), self="x")
    assert rule(computed, node("argmax", "aten.argmax.default", chosen, self="mul", dim=1)).of == "mul"
    assert rule(copied, node("argmax", "aten.argmax.default", chosen, self="clone", dim=1)).of == "x"


def test_the_positions_of_topk_are_distinct_and_its_values_calibrated():
    values = node("a", "getitem", (spec("a", (4, 2), "float32"),), arg0="topk", arg1=0)
    positions = node("b", "getitem", (spec("b", (4, 2)),), arg0="topk", arg1=1)
    assert rule(TOPK, values) == Calibrated()
    assert rule(TOPK, positions) == Ties(of="x", dim=-1, distinct=True)


def test_a_cast_of_positions_is_still_one():
    positions = node("b", "getitem", (spec("b", (4, 2)),), arg0="topk", arg1=1)
    cast = node("to", "aten.to.dtype", (spec("to", (4, 2), "int32"),), self="b")
    assert rule(TOPK, positions, cast).kind == "set"


def test_unsorted_values_come_in_any_order():
    topk = TOPK.model_copy(update={"arguments": (*TOPK.arguments, Argument(name="sorted", value=False))})
    values = node("a", "getitem", (spec("a", (4, 2), "float32"),), arg0="topk", arg1=0)
    assert rule(topk, values) == Ties(dim=-1, ordered=False)


def test_the_largest_values_themselves_and_arithmetic_are_calibrated():
    assert rule(node("max", "aten.max.default", (spec("max", (), "float32"),), self="x")) == Calibrated()
    shifted = node("add", "aten.add.Tensor", (spec("add", (4,)),), self="argmax", other=1)
    argmax = node("argmax", "aten.argmax.default", (spec("argmax", (4,)),), self="x", dim=1)
    assert rule(argmax, shifted) == Calibrated(), "positions that were computed with are positions no more"


def test_what_is_declared_wins():
    argmax = node("argmax", "aten.argmax.default", (spec("argmax", (4,)),), self="x", dim=1)
    for comparator in (Exact(), Statistical(draws=20), Calibrated(k=2)):
        assert rule(argmax, declared=[DeclaredComparator(position=0, comparator=comparator)]) == comparator


@pytest.mark.parametrize(
    ("position", "comparator", "told"),
    [(1, Exact(), "there are 1, from 0 on"), (0, Ties(of="scores"), "'scores' is no input or parameter; there are x")],
)
def test_a_declaration_of_what_is_not_there_is_refused(position, comparator, told):
    argmax = node("argmax", "aten.argmax.default", (spec("argmax", (4,)),), self="x", dim=1)
    with pytest.raises(TaskError, match=told):
        rule(argmax, declared=[DeclaredComparator(position=position, comparator=comparator)])
