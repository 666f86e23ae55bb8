"""Kernels that write over what they were given are told, with the input and the element, however right their results are."""

import pytest
import torch
from judged_calls import judged
from racing_kernels import kernel

from kernelwright.evaluate.sandbox.messages.calls import INPUT_WRITTEN

HOST = "out = torch.empty(x.shape[0])\nkernel[(x.shape[0],)](x, {to}, out, x.shape[1], B=64)\nreturn {gives}\n"
ROW = "k = tl.arange(0, B)\nv = tl.load(x + p * n + k, mask=k < n, other=float('-inf'))\ne = tl.exp(v - tl.max(v, axis=0))\n"
OVER = {
    "a softmax in its place": ("tl.store(out + p * n + k, e / tl.sum(e, axis=0), mask=k < n)", "x", "x * 1"),
    "a gradient over the logits of a loss": (
        "tl.store(work + p, tl.log(tl.sum(e, axis=0)))\ntl.store(x + p * n + k, e / tl.sum(e, axis=0), mask=k < n)",
        "x", "out",
    ),
    "one element through a view": ("tl.store(out + p * n, tl.sum(e, axis=0))", "x.view(-1)", "out"),
    "a sum that is added to a column": ("tl.atomic_add(out + p * n, tl.sum(e, axis=0))", "x[:, -1:]", "x[:, -1].clone()"),
}  # fmt: skip
"""The end of a kernel, where it stores, and what is returned."""


@pytest.mark.parametrize("name", OVER)
def test_a_kernel_that_writes_over_its_input_is_told_with_the_element(repaired, name):
    end, to, gives = OVER[name]
    error, log = repaired(judged, kernel(ROW + end, HOST.format(to=to, gives=gives)), torch.randn(6, 50))
    assert error == INPUT_WRITTEN, log
    assert log.startswith("it writes to its input 'x0': "), log


@pytest.mark.parametrize("name", OVER)
def test_on_a_copy_it_may(repaired, name):
    end, to, gives = OVER[name]
    host = "x = x.clone()\n" + HOST.format(to=to, gives=gives)
    assert repaired(judged, kernel(ROW + end, host), torch.randn(6, 50)) == ("", "")
