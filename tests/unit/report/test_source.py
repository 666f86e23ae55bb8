"""Highlighting and differences of hostile sources."""

import pytest

import fake_runs as fake
from kernelwright.report import tally


def test_both_languages_are_coloured():
    assert '<span class="kt">float</span>' in tally.highlighted(fake.KERNEL, "cpp")
    assert '<span class="k">class</span>' in tally.highlighted(fake.REFERENCE, None)


@pytest.mark.parametrize("language", ["cpp", "cuda", "cuda_host"])
def test_what_a_c_compiler_reads_is_coloured_as_c(language):
    assert '<span class="c1">// one</span>' in tally.highlighted("// one\n", language)


def test_a_span_for_each_line():
    assert tally.highlighted(fake.KERNEL, "cpp").count('<span class="l">') == fake.KERNEL.count("\n")


def test_hostile_source_is_escaped():
    for shown in (
        tally.highlighted(fake.NASTY, "cpp"),
        tally.highlighted(fake.NASTY * 4000, "triton"),
        tally.difference("x", fake.NASTY),
    ):
        assert "<img" not in shown
        assert "<script" not in shown
        assert "\x1b" not in shown
        str(shown).encode()


def test_difference_marks_lines():
    shown = tally.difference("a\nb\nc", "a\nB\nc")
    assert '<span class="d del">-b</span>' in shown
    assert '<span class="d add">+B</span>' in shown
    assert tally.difference("same", "same") == ""


def test_a_long_difference_is_cut_and_says_so():
    old = "\n".join(f"old {i}" for i in range(2000))
    new = "\n".join(f"new {i}" for i in range(2000))
    shown = tally.difference(old, new)
    assert shown.count('class="d') == tally.DIFF_LINES + 1
    assert "more lines" in shown
