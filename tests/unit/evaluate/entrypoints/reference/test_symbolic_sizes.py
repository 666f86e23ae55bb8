"""Which sizes of a reference are free: what torch.export leaves open, what can be written down, and what runs."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "propose" / "author"))
from author_cases import case, model

from kernelwright.evaluate.entrypoints.reference.symbolic import Reference

SDPA = "F.scaled_dot_product_attention(q, k, v)"
TENSORS = ", ".join(["torch.randn(2, 3, 24, 16)"] * 3)
LINEAR = "self.u = nn.Linear(24, 40)"


def free(source):
    found = case(source)
    return Reference(found.module, found.inputs, found.task.workload.inputs, found.task.graph, None).free_sizes()


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        (model("self.u(x)", "torch.randn(3, 7, 24)", init=LINEAR), [3, 7]),
        (model("x.mean(dim=-1, keepdim=True) * x", "torch.randn(5, 24)"), [5, 24]),
        (model("x / x.shape[0]", "torch.randn(5, 24)"), [5, 24]),
        (model("x.reshape(x.size(0), -1) * 2", "torch.randn(5, 4, 6)"), [5, 4, 6]),
        (model(SDPA, TENSORS, arguments="q, k, v"), [2, 3, 24, 16]),
        (model("F.max_pool2d(x, 3)", "torch.randn(4, 6, 17, 19)"), [4, 6]),
        (model("x + self.u", "torch.randn(5, 24)", init="self.u = nn.Parameter(torch.ones(5, 24))"), []),
        (model("x * 2 if x.shape[0] == 5 else x * 3", "torch.randn(5, 24)"), [24]),
        (model("x.view(5, 12, 2)", "torch.randn(5, 24)"), []),
    ],
)
def test_a_size_is_free_where_nothing_fixes_it(source, sizes):
    found = free(source)
    assert [axis.size for axis in found.axes] == sizes if sizes else found is None


def test_sizes_that_must_be_alike_are_one_axis():
    found = free(model(SDPA, TENSORS, arguments="q, k, v"))
    assert {found.places[f"inputs.{n}.shape.2"] for n in range(3)} == {"size2"}


def test_what_the_graph_does_not_show_is_found_by_running_it():
    source = model("x * float(len(x.tolist()))", "torch.randn(5, 24)")
    assert free(source) is None or [axis.size for axis in free(source).axes] == [24]
