"""Whether eager was seen to use TF32: by its error, where flags, operations and results leave that open."""

import pytest

from kernelwright.evaluate.pipeline.admit import used_tf32
from kernelwright.records.graph import OpGraph, OpNode
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

ROUNDED, WHOLE = 2.0**-11, 2.0**-22


def spec(name, dtype="float32", shape=(4, 4)):
    return TensorSpec(name=name, shape=shape, dtype=dtype)


def task(op="aten.conv2d.default", outputs=("float32",), allowed=True, kind="cuda"):
    node = OpNode(name="y", op=op, arguments=(), result=(spec("y"),), bytes=64, flops=0)
    results = tuple(spec(f"out{n}", dtype) for n, dtype in enumerate(outputs))
    return Task(
        source=TaskSource(name="task", format="kernelbench", source=""),
        target=Target(kind=kind, arch="sm_90" if kind == "cuda" else "native", present=True),
        workload=Workload(inputs=(spec("x"),), parameters=(), outputs=results),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(node,), outputs=("y",)),
        numerics=Numerics(flags={"cudnn.allow_tf32": allowed}),
    )


@pytest.mark.parametrize("outputs", [("float32",), ("float32", "float32", "int64")], ids=["one", "with a counter"])
def test_an_error_as_of_rounded_factors_is_noted(outputs):
    assert used_tf32(task(outputs=outputs), ROUNDED)
    assert not used_tf32(task(outputs=outputs), WHOLE)


@pytest.mark.parametrize(
    "other", [{"op": "aten.relu.default"}, {"outputs": ("float16",)}, {"outputs": ("float32", "float16")},
              {"outputs": ("int64",)}, {"allowed": False}, {"kind": "cpu"}],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_tf32_is_not(other):
    assert not used_tf32(task(**other), ROUNDED)
