"""The family of a task's operations: the most telling one names it."""

import pytest

from kernelwright.records.graph import OpGraph, OpNode


def graph(*operations):
    nodes = (OpNode(name=f"n{i}", op=op, arguments=(), result=(), bytes=0, flops=0) for i, op in enumerate(operations))
    return OpGraph(inputs=(), parameters=(), nodes=tuple(nodes), outputs=())


@pytest.mark.parametrize(
    ("operations", "family"),
    [
        ((), "pointwise"),
        (("aten.add.Tensor", "aten.maximum.default", "aten.addcmul.default", "aten.meshgrid.default"), "pointwise"),
        (("aten.sub.Tensor", "aten.pow.Tensor_Scalar", "aten.mean.default"), "reduction"),
        (("aten.max.dim",), "reduction"),
        (("aten.native_layer_norm.default", "aten.sum.dim_IntList"), "normalisation"),
        (("aten._softmax.default", "aten.nll_loss_forward.default"), "loss"),
        (("aten.max_pool2d_with_indices.default",), "pooling"),
        (("aten.index_select.default", "aten.add.Tensor"), "indexing"),
        (("aten.cumsum.default",), "scan"),
        (("aten.topk.default",), "sorting"),
        (("aten.addmm.default", "aten.relu.default"), "contraction"),
        (("aten.convolution.default", "aten.addmm.default"), "convolution"),
        (("aten._scaled_dot_product_flash_attention.default",), "attention"),
    ],
)
def test_the_most_telling_family_names_the_task(operations, family):
    assert graph(*operations).family == family
