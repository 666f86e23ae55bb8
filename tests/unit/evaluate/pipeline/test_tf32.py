"""Whether products of a task may round to TF32: by its flags, its operations, its results and its device."""

import pytest

from kernelwright.evaluate.pipeline.admit import may_round
from kernelwright.records.graph import UNTRACED, OpGraph, OpNode
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import Target, Workload
from kernelwright.records.tensor import TensorSpec

CONVOLUTIONS, MATRICES = {"cudnn.allow_tf32": True}, {"float32_matmul_precision": "high"}


def spec(name, dtype="float32", shape=(4, 4)):
    return TensorSpec(name=name, shape=shape, dtype=dtype)


def may(op="aten.conv2d.default", outputs=("float32",), flags=CONVOLUTIONS, kind="cuda"):
    node = OpNode(name="y", op=op, arguments=(), result=(spec("y"),), bytes=64, flops=0)
    graph = OpGraph(inputs=("x",), parameters=(), nodes=(node,), outputs=("y",))
    results = tuple(spec(f"out{n}", dtype) for n, dtype in enumerate(outputs))
    target = Target(kind=kind, arch="sm_90" if kind == "cuda" else "native", present=True)
    workload = Workload(inputs=(spec("x"),), parameters=(), outputs=results)
    return may_round(target, workload, graph, Numerics(flags=flags))


@pytest.mark.parametrize(
    "given",
    [{}, {"outputs": ("float32", "float32", "int64")}, {"op": "aten._cudnn_rnn.default"}, {"op": UNTRACED},
     {"op": "aten.linear.default", "flags": MATRICES}, {"op": "aten.baddbmm.default", "flags": MATRICES},
     {"op": "aten.scaled_dot_product_attention.default", "flags": MATRICES}],
    ids=str,
)  # fmt: skip
def test_what_flags_allow_for_an_operation_may_be_rounded(given):
    assert may(**given)


@pytest.mark.parametrize(
    "given",
    [{"op": "aten.relu.default"}, {"outputs": ("float16",)}, {"outputs": ("float32", "float16")}, {"outputs": ("int64",)},
     {"flags": {"cudnn.allow_tf32": False}}, {"flags": MATRICES}, {"op": "aten.mm.default"}, {"kind": "cpu"}],
    ids=str,
)  # fmt: skip
def test_nothing_else_may(given):
    assert not may(**given)
