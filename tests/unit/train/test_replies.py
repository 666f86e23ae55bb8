"""Replies that fine-tuning learns: whole, or as edits that apply to the kernel they change."""

import pytest

from kernelwright.propose.llm.parse import Kernel, NoKernel, apply_edits, parse, scan
from kernelwright.propose.llm.render import EDITS, STANDARD
from kernelwright.records.chat import ChatReply
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
    made = edit_of(KERNEL, KERNEL.replace("def other(x):", "def another(x):"))
    assert made == "<<<<<<< SEARCH\ndef other(x):\n=======\ndef another(x):\n>>>>>>> REPLACE"


SOURCE = "import triton\n\nBLOCK = 64\nWARPS = 4\n\n\nclass ModelNew:\n    BLOCK = 3\n"


def asked(text, finish="stop"):
    return parse(ChatReply(text=text, finish=finish, model="m"), "triton", SOURCE)


def test_other_constants_are_lines_of_their_own():
    wanted = SOURCE.replace("BLOCK = 64\nWARPS = 4", "BLOCK = 32\nWARPS = 8")
    assert edit_of(SOURCE, wanted) == "BLOCK = 32\nWARPS = 8"
    for text in ("WARPS = 8\nBLOCK = 32", "```python\nBLOCK = 32\nWARPS = 8\n```"):
        found = asked(text)
        assert isinstance(found, Kernel)
        assert found.candidate.source.split() == wanted.split()


def test_blanks_around_the_sign_may_be_missing():
    found = asked("BLOCK=32")
    assert isinstance(found, Kernel)
    assert found.candidate.source.split("\n") == SOURCE.replace("BLOCK = 64", "BLOCK=32").split("\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("STAGES = 2", "STAGES is no constant"),
        ("BLOCK = 32\nand so it is faster", "it holds no kernel"),
        ("    BLOCK = 32", "it holds no kernel"),
        ("BLOCK == 32", "it holds no kernel"),
    ],
)
def test_what_is_no_constant_is_told(text, reason):
    found = asked(text)
    assert isinstance(found, NoKernel)
    assert reason in found.reason


def test_a_value_that_was_cut_off_is_not_taken():
    assert isinstance(asked("BLOCK = 3", "length"), NoKernel)


def test_only_a_mid_end_of_that_variant_replies_with_edits():
    parent, kernel = sample_attempt(0), sample_attempt(1).proposal.candidate
    assert reply_with(kernel, parent, STANDARD) == reply_with(kernel, None, EDITS)
    assert reply_with(kernel, None).startswith("```")
    assert "<<<<<<< SEARCH" in reply_with(kernel, parent, EDITS)
