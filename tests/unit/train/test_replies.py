"""Replies that fine-tuning learns: whole, or as edits that apply to the kernel they change."""

import pytest

from kernelwright.propose.llm.parse import apply_edits, scan
from kernelwright.propose.llm.render import EDITS, STANDARD
from kernelwright.testing.samples import sample_attempt
from kernelwright.train.data.prompts import edit_of, reply_with

KERNEL = """import torch

BLOCK = 64
WARPS = 4


def kernel(x):
    a = x
    return a


def other(x):
    a = x
    return a
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BLOCK = 64", "BLOCK = 128"),
        ("BLOCK = 64\nWARPS = 4", "BLOCK = 32\nWARPS = 8"),
        ("WARPS = 4\n", "WARPS = 4\nSTAGES = 2\n"),
        ("import torch\n", ""),
        ("def other(x):\n    a = x\n", "def other(x):\n    a = x + 1\n"),
        ("    return a\n", "    return a + 1\n"),
    ],
)
def test_an_edit_makes_one_text_of_the_other(old, new):
    wanted = KERNEL.replace(old, new)
    assert wanted != KERNEL
    assert apply_edits(KERNEL, scan(edit_of(KERNEL, wanted).split("\n"))) == wanted


def test_an_edit_is_as_short_as_it_can_be_found_by():
    made = edit_of(KERNEL, KERNEL.replace("64", "128"))
    assert made == "<<<<<<< SEARCH\nBLOCK = 64\n=======\nBLOCK = 128\n>>>>>>> REPLACE"


def test_only_a_mid_end_of_that_variant_replies_with_edits():
    parent, kernel = sample_attempt(0), sample_attempt(1).proposal.candidate
    assert reply_with(kernel, parent, STANDARD) == reply_with(kernel, None, EDITS)
    assert reply_with(kernel, None).startswith("```")
    assert "<<<<<<< SEARCH" in reply_with(kernel, parent, EDITS)
