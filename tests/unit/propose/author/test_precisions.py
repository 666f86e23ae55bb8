"""In how many narrower numbers float32 factors are multiplied, by what PyTorch itself was seen to do with the operation."""

from types import SimpleNamespace

import pytest
from author_cases import case, model

from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.search.designs import DESIGNS, _precisions, triton_design
from kernelwright.records.graph import Ref
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import Target


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
        target=SimpleNamespace(present=present, kind="cuda", arch="sm_90"),
        graph=SimpleNamespace(nodes=[node]),
        numerics=numerics,
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
        ("aten.scaled_dot_product_attention.default", object(), {}, "bf16x6"),
    ],
)
def test_factors_are_rounded_where_pytorch_was_seen_to_round_them(op, plan, given, expected):
    assert first(op, plan, **given) == expected


def rows_of_eight_bits(kind, arch):
    forward = "(x / (x.abs().amax(-1, keepdim=True) / 448)).to(torch.float8_e4m3fn)"
    task = case(model(forward, "torch.randn(6, 40)"), "t", kind).task
    design = DESIGNS["cpp" if kind == "cpu" else "triton"](
        task.model_copy(update={"target": task.target.model_copy(update={"arch": arch})})
    )
    return design.write(design.default).source


def test_rows_are_rounded_to_eight_bits_in_the_kernel_that_finds_their_scale():
    source = rows_of_eight_bits("cuda", "sm_89")
    assert source.count("tl.store(") == 1
    assert "torch.ops" not in source


@pytest.mark.parametrize(("kind", "arch"), [("cuda", "sm_86"), ("hip", "gfx942")])
def test_a_device_without_the_instruction_leaves_it_to_pytorch(kind, arch):
    assert "torch.ops.aten" in rows_of_eight_bits(kind, arch)


def test_cpp_reads_numbers_of_eight_bits_with_functions_of_its_own():
    source = rows_of_eight_bits("cpu", "native")
    assert "from_float8_e4m3fn(fast::to_float8_e4m3fn(" in source
    assert "torch.ops.aten" not in source


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("forward", ["x @ x", "F.scaled_dot_product_attention(x[None], x[None], x[None])"])
def test_products_for_amd_are_in_no_precision_that_its_compiler_lacks(forward, present):
    task = case(model(forward, "torch.randn(64, 64)"), "t", "cuda").task
    elsewhere = Target(kind="hip", arch="gfx942", present=present)
    design = triton_design(task.model_copy(update={"target": elsewhere}))
    assert "tf32x3" not in design.space.by_name["precision"].values
    assert design.default.precision == ("bf16x6" if present else "ieee")
