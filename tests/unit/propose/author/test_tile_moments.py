"""What the tiles of a product leave for the norm behind it: no kernel reads the product's result for its moments alone."""

from dataclasses import replace
from math import inf

import pytest
from author_cases import case, model

from kernelwright.propose.author.families.table import TRITON
from kernelwright.propose.author.ir.expr import Const
from kernelwright.propose.author.lower.partition import partition
from kernelwright.propose.author.read.read import read
from kernelwright.propose.author.rules.moments import Stretches, grouped
from kernelwright.propose.author.rules.rule import Rule
from kernelwright.propose.author.rules.table import TRITON as RULES
from kernelwright.propose.author.search.designs import cpp_design, triton_design
from kernelwright.records.numerics import Numerics

X = "torch.randn(16, 16, 68, 68), torch.randn(32, 16, 3, 3)"
NORMS = {
    "batch norm": ("F.batch_norm(F.conv2d(x, k), None, None, training=True)", X),
    "batch norm of what becomes of it": ("F.batch_norm(F.silu(F.conv2d(x, k)), None, None, training=True) * 2", X),
    "instance norm": ("F.instance_norm(F.conv2d(x, k)) / 2", "torch.randn(2, 16, 200, 200), torch.randn(64, 16, 3, 3)"),
    "group norm": ("F.group_norm(F.conv2d(x, k), 4)", X),
    "group norm beside what it reads": ("(lambda c: torch.tanh(F.group_norm(c, 4)) + c)(F.conv2d(x, k))", X),
    "behind a transposed convolution": (
        "F.batch_norm(F.conv_transpose2d(x, k, stride=2, padding=1), None, None, training=True)",
        "torch.randn(16, 16, 32, 32), torch.randn(16, 32, 4, 4)",
    ),
    "behind a linear layer": (
        "F.batch_norm(x @ k, None, None, training=True)", "torch.randn(16000, 64), torch.randn(64, 256)",
    ),
}  # fmt: skip


def made(forward, inputs, kind="cuda", design=triton_design):
    """The product's kernel, and all that read its result."""
    found = case(model(forward, inputs, arguments="x, k"), "norm", kind)
    kernels = design(found.task).program.kernels
    product = next(kernel for kernel in kernels if kernel.family == "product")
    (result, *_) = product.part.writes
    return product, [kernel for kernel in kernels if result.name in {t.name for t in kernel.part.reads}]


@pytest.mark.parametrize("name", NORMS)
def test_a_products_result_is_read_once_by_the_norm_behind_it(name):
    product, readers = made(*NORMS[name])
    assert len(product.part.roots) == 3
    assert len(readers) == 1
    assert product.plan.held


STAY = {
    "of half precision": (
        "(lambda c: torch.tanh(F.group_norm(c, 4)) + c)(F.conv2d(x, k))",
        "torch.randn(16, 16, 68, 68).half(), torch.randn(32, 16, 3, 3).half()",
    ),
    "of rows that a program holds": ("F.instance_norm(F.conv2d(x, k))", X),
    "of tiles that would waste half": (
        "F.group_norm(F.conv2d(x, k), 1)", "torch.randn(8, 16, 5, 13), torch.randn(640, 16, 1, 1)",
    ),
    "of another tensor as well": ("F.group_norm(torch.cat([F.conv2d(x, k), x[..., 1:-1, 1:-1]], 1), 2)", X),
}  # fmt: skip


@pytest.mark.parametrize("name", STAY)
def test_moments_stay_a_reading_of_their_own(name):
    product, _ = made(*STAY[name])
    assert len(product.part.roots) == 1


def test_they_do_where_the_tiles_take_longer_by_estimate(monkeypatch):
    monkeypatch.setattr(Rule, "pays", lambda _, cut: cut.before == inf)
    product, readers = made(*NORMS["batch norm"])
    assert len(product.part.roots) == 1
    assert len(readers) == 2


@pytest.mark.parametrize(("longer", "worth"), [(0.0, True), (1.0, True), (3.0, False)])
def test_the_result_need_not_be_read_for_what_the_tiles_take_longer(longer, worth):
    family = next(one for one in TRITON if one.name == "product")
    changed = replace(family, cost=lambda plan, _: 10.0 + longer * bool(plan.reductions))
    families = [changed if one is family else one for one in TRITON]
    task = case(model(*NORMS["batch norm"], arguments="x, k"), "norm", "cuda").task
    product = next(k for k in partition(task, read(task), families, RULES).kernels if k.family == "product")
    assert bool(product.plan.reductions) == worth  # to read the result takes 2.2 us


def test_a_cpu_reads_its_result_again():
    product, _ = made(*NORMS["batch norm"], kind="cpu", design=cpp_design)
    assert len(product.part.roots) == 1


def test_tiles_of_an_odd_length_are_stored_as_neighbours():
    product, _ = made(*NORMS["batch norm"])
    result, total, squares = product.part.roots
    assert result.element.sizes[-1] == 66 * 66
    tiles = -(-66 * 66 // 128)
    assert total.tensor.shape == squares.tensor.shape == (16, 32, tiles)


def test_what_the_product_reads_lies_as_it_did():
    forward = "F.batch_norm(F.conv2d(F.relu(F.conv2d(x, k)), w), None, None, training=True)"
    inputs = "torch.randn(16, 16, 65, 65), torch.randn(32, 16, 3, 3), torch.randn(64, 32, 1, 1)"
    task = case(model(forward, inputs, arguments="x, k, w"), "laid", "cuda").task
    numerics = Numerics(flags={"cudnn.allow_tf32": True}, tf32=True)
    program = triton_design(task.model_copy(update={"numerics": numerics})).program
    second = [kernel for kernel in program.kernels if kernel.family == "product"][1]
    assert len(second.part.roots) == 3
    assert [t.shape for t in second.part.reads if t.rounded] == [(16, 63, 63, 32)]


@pytest.mark.parametrize(
    ("rows", "across", "first"),
    [
        (64, (64, 505), (1,)),
        (512, (64, 505), ()),
        (64, (8, 505), ()),
        (64, (30000,), ()),
        (32, (8, 32, 2, 2, 16), (2, 3, 4)),
    ],
)
def test_many_stretches_of_few_rows_are_put_together_in_groups(rows, across, first):
    cut = Stretches((9,), tuple(range(len(across))), Const(128.0))
    assert grouped(cut, rows, lambda axis: across[axis]) == first
