"""Tunables are set in the text, and nothing else changes."""

import pytest

from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.evaluate.triton.model import define, integers, load_module, private_path
from kernelwright.records.candidate import Define

TEXT = """# päge
BLOCK = 1024  # élan
WARPS: tl.constexpr = 4; STAGES = tl.constexpr(2)
NAME = "BLOCK = 1"
def f(BLOCK=BLOCK):
    BLOCK = 3
"""


def test_every_spelling_is_set_and_the_rest_stays():
    new = define(TEXT, [Define(name=n, value=v) for n, v in (("BLOCK", 8), ("WARPS", 16), ("STAGES", 77))])
    assert new == TEXT.replace("= 1024", "= 8").replace("= 4;", "= 16;").replace("constexpr(2)", "constexpr(77)")


def test_what_counts_as_an_integer():
    more = "NEGATIVE = -3\nFLAG = True\nHALF = 0.5\nSUM = 1 + x\n"
    assert [(i.name, i.value) for i in integers(TEXT + more)] == [
        ("BLOCK", 1024), ("WARPS", 4), ("STAGES", 2), ("NEGATIVE", -3),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["NAME", "f", "MISSING"])
def test_a_name_that_is_no_integer_is_refused(name):
    with pytest.raises(BuildError, match=name):
        define(TEXT, [Define(name=name, value=1)])


def test_a_default_argument_sees_the_new_value(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = "BLOCK = 1\ndef f(block=BLOCK):\n    return block\n"
    first, second = (load_module(private_path("kernel"), text, [Define(name="BLOCK", value=v)]) for v in (2, 3))
    assert (first.f(), second.f()) == (2, 3)
    assert tmp_path in __import__("pathlib").Path(first.__file__).parents
