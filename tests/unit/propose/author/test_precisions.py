"""In how many narrower numbers float32 factors are multiplied, by what PyTorch itself was seen to do with the operation."""

from types import SimpleNamespace

import pytest

from kernelwright.propose.author.designs import _precisions
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.records.graph import Ref
from kernelwright.records.numerics import Numerics


class Plan(Product):
    """A product that reads these tensors."""

    def __init__(self, *names):
        object.__setattr__(self, "names", names)

    @property
    def factors(self):
        return [SimpleNamespace(name=name) for name in self.names]


def first(op, plan, present=True, tf32=True, **flags):
    node = SimpleNamespace(op=op, argument=lambda name: Ref(ref="filter") if name == "weight" else None)
    numerics = Numerics(flags={"cudnn.allow_tf32": True, **flags}, tf32=tf32)
    task = SimpleNamespace(
        target=SimpleNamespace(present=present), graph=SimpleNamespace(nodes=[node]), numerics=numerics
    )
    return _precisions(task, SimpleNamespace(plan=plan))[0]


CONVOLUTION, PRODUCT = Plan("x", "filter"), Plan("a", "b")


@pytest.mark.parametrize(
    ("op", "plan", "given", "expected"),
    [
        ("aten.conv2d.default", CONVOLUTION, {}, "tf32"),
        ("aten.conv3d.default", CONVOLUTION, {"tf32": False}, "bf16x6"),
        ("aten.conv_transpose2d.input", CONVOLUTION, {"cudnn.allow_tf32": False}, "bf16x6"),
        ("aten.mm.default", PRODUCT, {}, "bf16x6"),
        ("aten.mm.default", PRODUCT, {"float32_matmul_precision": "high"}, "tf32"),
        ("aten.conv2d.default", PRODUCT, {}, "bf16x6"),
        ("aten.conv2d.default", CONVOLUTION, {"present": False}, "tf32x3"),
        ("aten.scaled_dot_product_attention.default", object(), {}, "tf32x3"),
    ],
)
def test_factors_are_rounded_where_pytorch_was_seen_to_round_them(op, plan, given, expected):
    assert first(op, plan, **given) == expected
