"""What a kernel tells the compiler of its offsets, and orders that nobody promises, in the interpreter."""

import pytest
import torch
from triton_candidates import HEAD, NO_TASK, candidate

from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, interpret

TEXT = HEAD + (
    "@triton.jit\n"
    "def kernel(x, out, n, WIDE: tl.constexpr):\n"
    "    begin = tl.program_id(0) * WIDE\n"
    "    at = begin + tl.arange(0, WIDE)\n"
    "    BODY\n"
    "class ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        out = torch.empty_like(x)\n"
    "        kernel[(x.numel() // 16,)](x, out, x.numel(), WIDE=16)\n"
    "        return out\n"
)
COPY = "tl.store(out + at, tl.load(x + {}))"


@pytest.fixture
def run(repaired):
    return lambda body: repaired(
        interpret, candidate(TEXT.replace("BODY", body)), NO_TASK, Arguments([torch.arange(64.0)], {}), "sm_90"
    )


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ("tl.multiple_of(63 - at, 16)", "the first offset is 63, no multiple of 16"),
        ("tl.max_contiguous((at % 8) * 8 + at // 8, 16)", "no two offsets follow each other"),
    ],
)
def test_a_hint_that_no_size_makes_true_is_refused(run, offsets, words):
    found = run(COPY.format(offsets))
    assert isinstance(found, Fault)
    assert words in found.log


@pytest.mark.parametrize("offsets", ["tl.max_contiguous(tl.multiple_of(at, 16), 16)", "tl.max_contiguous(at % 24, 16)"])
def test_a_hint_that_is_true_or_may_be_at_another_size_is_believed(run, offsets):
    assert not isinstance(run(COPY.format(offsets)), Fault)


def test_what_may_be_reordered_is(run):
    (kept,) = run("tl.store(out + at, tl.reshape(tl.reshape(tl.load(x + at), (4, 4)), (16,)))")
    assert torch.equal(kept, torch.arange(64.0))
    (free,) = run("tl.store(out + at, tl.reshape(tl.load(x + at), (16,), can_reorder=True))")
    assert not torch.equal(free, kept)
    assert torch.equal(free.sort().values, kept)


def test_a_sum_over_all_dimensions_asks_for_no_order(run):
    (found,) = run("tl.store(out + at, tl.load(x + at) * 0 + tl.sum(tl.reshape(tl.load(x + at), (4, 4))))")
    assert torch.equal(found, torch.arange(64.0).view(4, 16).sum(1).repeat_interleave(16))
