"""Kernels that are one but for names stand in a file once."""

import re

from author_cases import case, model

from kernelwright.propose.author.search.designs import triton_design


def written(layers):
    names = [f"w{n}" for n in range(layers)]
    body = "x"
    for name in names:
        body = f"F.gelu({body} @ {name})"
    inputs = ", ".join(["torch.randn(512, 256)", *["torch.randn(256, 256)"] * layers])
    design = triton_design(case(model(body, inputs, arguments=", ".join(["x", *names])), "layers", "cuda").task)
    return design, design.write(design.default).at(()).source


def test_equal_layers_share_a_kernel_and_each_has_its_launch():
    design, source = written(4)
    kernels = re.findall(r"^def (_kernel\d*)\(", source, re.MULTILINE)
    launched = re.findall(r"^ +(_kernel\d*)\[", source, re.MULTILINE)
    assert len(design.program.kernels) == len(launched) > len(kernels)
    assert set(launched) == set(kernels)


def test_kernels_that_differ_stay_apart():
    _, source = written(1)
    kernels = re.findall(r"^def (_kernel\d*)\(", source, re.MULTILINE)
    assert kernels and len(kernels) == len(set(kernels)) == len(re.findall(r"^ +_kernel\d*\[", source, re.MULTILINE))
