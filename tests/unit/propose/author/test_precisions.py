"""In how many narrower numbers float32 factors are multiplied, by what PyTorch itself does with the operation."""

from types import SimpleNamespace

import pytest

from kernelwright.propose.author.designs import _precisions


def task(op, present=True, tf32=True, **arguments):
    node = SimpleNamespace(op=op, argument=lambda name: arguments.get(name))
    numerics = SimpleNamespace(flags={"cudnn.allow_tf32": tf32})
    return SimpleNamespace(
        target=SimpleNamespace(present=present), graph=SimpleNamespace(nodes=[node]), numerics=numerics
    )


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (task("aten.conv2d.default", groups=4), "bf16x3"),
        (task("aten.conv_transpose2d.input"), "bf16x3"),
        (task("aten.conv_transpose2d.input", groups=1), "bf16x3"),
        (task("aten.conv_transpose2d.input", groups=4), "bf16x6"),
        (task("aten.conv_transpose3d.input", groups=1), "bf16x6"),
        (task("aten.conv2d.default", tf32=False), "bf16x6"),
        (task("aten.mm.default"), "bf16x6"),
        (task("aten.conv2d.default", present=False), "tf32x3"),
    ],
)
def test_three_numbers_are_for_what_pytorch_rounds_itself(given, first):
    assert _precisions(given)[0] == first
