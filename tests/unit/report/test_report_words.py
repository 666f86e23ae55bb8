"""Numbers and foreign text into words."""

import pytest

from kernelwright.records.answer import times
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.report import words


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.5, "0.50 µs"), (12.34, "12.3 µs"), (7290, "7.29 ms"), (2.5e6, "2.50 s"), (float("inf"), "inf")],
)
def test_microseconds_choose_their_unit(value, told):
    assert words.microseconds(value) == told


def test_seconds_become_minutes():
    assert words.seconds(0.61) == "610 ms"
    assert words.seconds(0) == "0 s"
    assert words.seconds(144) == "2 min 24 s"


def test_other_numbers():
    assert times(3.1) == "3.10×"
    assert times(123.4) == "123×"
    assert words.error(0) == "0"
    assert words.error(1.23e-8) == "1.2e-08"
    assert words.percent(0.861) == "86 %"
    assert words.percent(0.031) == "3.1 %"
    assert words.size(134_217_732) == "128 MiB"
    assert words.size(12) == "12 B"


def test_every_outcome_has_a_meaning():
    assert tuple(words.OUTCOME_MEANING) == OUTCOMES


@pytest.mark.parametrize("nasty", ["\x1b", "\x00", "\r", "\u202e", "\ud800", "\x9b", "\u2066"])
def test_visible_leaves_nothing_that_acts(nasty):
    shown = words.visible(f"a{nasty}b")
    assert nasty not in shown
    assert f"U+{ord(nasty):04X}" in shown
    shown.encode()


def test_visible_keeps_ordinary_text():
    text = "Grüße, 漢字\tand\nlines"
    assert words.visible(text) == text
    assert words.visible("a\r\nb") == "a\nb"


def test_clip_says_what_is_missing():
    text = "x" * 50 + "y" * 1000 + "z" * 50
    shown = words.clip(text, 100)
    assert shown.startswith("x" * 50)
    assert shown.endswith("z" * 50)
    assert "1,000 characters left out" in shown
    assert words.clip("short", 100) == "short"


def test_line_is_one_line():
    assert words.line(" a\n\tb ") == "a b"
    assert len(words.line("w" * 500, 40)) == 40
