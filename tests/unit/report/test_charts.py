"""Charts: positions, text alternatives, and that hostile numbers and names break nothing."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

import fake_runs as fake
from kernelwright.records.measure import Accuracy, CaseError, Load, Roofline, Side, Timing
from kernelwright.report.charts.evaluation import errors, roofline, ruler, samples, share
from kernelwright.report.charts.run import Share, progress, shares
from kernelwright.report.charts.svg import NARROW, WIDE, Scale, around, dot, frame, text


def parsed(markup):
    """The drawing as XML; also asserts that no coordinate is broken or outside."""
    root = ET.fromstring(str(markup))
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    assert root.get("aria-label")
    assert "nan" not in re.sub(r'>[^<]*<|aria-label="[^"]*"', "><", str(markup)).lower()
    for node in root.iter():
        for name, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if node.get(name):
                assert -1 <= float(node.get(name)) <= limit + 1, ET.tostring(node)
    return root


def kinds(root, kind):
    return [n for n in root.iter() if kind in (n.get("class") or "").split()]


def test_scale_maps_and_clamps():
    log = Scale(0.1, 10, 0, 100, log=True)
    assert log(1) == pytest.approx(50)
    assert log(0) == 0
    assert log(math.inf) == 100
    assert log(math.nan) == 100
    assert Scale(0, 10, 100, 0)(2.5) == 75


@pytest.mark.parametrize("scale", [Scale(0, 26, 0, 1), Scale(0.5, 4, 0, 1, log=True), Scale(1e-9, 1e9, 0, 1, log=True)])
def test_ticks_are_few_and_inside(scale):
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 9
    assert all(scale.low <= t * 1.001 and t <= scale.high * 1.001 for t in ticks)


def test_around_survives_what_is_no_number():
    scale = around([math.inf, math.nan, 0, -1], 0, 100)
    assert scale.low < 1 < scale.high


def test_what_no_xml_takes_is_replaced():
    drawn = dot(1, 2, 3, "ref", title="a\x1b]0;t\x07<b>\x9b") + frame(1, 1, "c\x00d", [text(0, 0, "e\x0bf")])
    assert ET.fromstring(f"<g>{drawn}</g>")[0][0].text == "a\ufffd]0;t\ufffd<b>\ufffd"
    assert not any(ord(letter) < 32 for letter in drawn)


@pytest.mark.parametrize("absurd", [1e308, 5e-324, 1.7e308])
def test_around_survives_the_absurd(absurd):
    scale = around([absurd, 1.5], 0, 100)
    assert len(scale.ticks(6)) <= 9
    assert 0 <= scale(absurd) <= 100


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("count", [0, 1, 60, 1000])
def test_progress_has_a_mark_for_each_attempt(width, count):
    run = fake.long_run(count)
    root = parsed(progress(run, fake.ratio(3.1), width))
    assert len(kinds(root, "pt")) == count


def test_progress_puts_no_wrong_kernel_on_the_speed_axis():
    root = parsed(progress(fake.one_of_each(), None, WIDE))
    assert len(kinds(root, "o-measured")) == 1
    for name in ("verified", "compiled", "incorrect", "suspect"):
        (mark,) = kinds(root, f"o-{name}")
        assert mark.tag == "rect"


def test_progress_in_words():
    label = parsed(progress(fake.long_run(), fake.ratio(3.1), WIDE)).get("aria-label")
    assert label.startswith("60 attempts: 49 measured")
    assert label.endswith("Final measurement: 3.10×.")


def test_samples_draws_every_block():
    timing = fake.measured(final=True).timing
    root = parsed(samples(timing, NARROW))
    assert len(kinds(root, "sample")) == 180
    assert len(kinds(root, "median")) == 3
    assert "logarithmic" not in str(samples(timing, WIDE))


def test_samples_far_apart_are_logarithmic_and_say_so():
    arms = (Side(name="candidate", samples_us=(1.0, 1.1)), Side(name="eager", samples_us=(90.0,)))
    timing = Timing(latency_us=1, arms=arms, versus=(), calls_per_sample=1, clock="outside")
    assert "logarithmic" in str(samples(timing, WIDE))
    parsed(samples(timing.model_copy(update={"arms": ()}), WIDE))


def test_errors_as_shares_of_the_limit():
    case = CaseError(distribution="x", error=2e-7, reference_error=1e-8, allowed=1e-7)
    assert share(case, case.error) == pytest.approx(2)
    exact = case.model_copy(update={"allowed": 0.0})
    assert share(exact, 0.0) == 0
    assert share(exact, 1e-30) == math.inf
    root = parsed(errors(Accuracy(cases=(case, exact)), NARROW))
    assert len(kinds(root, "over")) == 2


@pytest.mark.parametrize("error", [0.0, math.inf, math.nan, 1e300])
def test_errors_of_any_size(error):
    case = CaseError(distribution=fake.HOSTILE, error=error, reference_error=0.0, allowed=1e-7)
    root = parsed(errors(Accuracy(cases=(case,)), WIDE))
    assert len(kinds(root, "err")) == 1
    assert [n for n in root.iter() if n.tag in {"script", "img"}] == []


def test_errors_without_cases():
    assert parsed(errors(Accuracy(cases=()), WIDE)).get("aria-label") == "No case was judged."


@pytest.mark.parametrize("achieved", [0.1, 20.0, 400.0])
def test_roofline_holds_caches_faster_than_memory(achieved):
    found = Roofline(bytes=10, flops=10, achieved_gbps=achieved, ceiling_gbps=21.4, floor_us=1.0)
    assert "GB/s reached of 21.4" in parsed(roofline(found, 4.0, NARROW)).get("aria-label")


def test_rulers_share_their_scale():
    versus = fake.measured(50.0, 0.02).timing.versus
    found = [parsed(ruler(v, versus, WIDE)) for v in versus]
    ones = [next(n.get("x1") for n in kinds(root, "one") if n.tag == "line") for root in found]
    assert ones[0] == ones[1]
    assert "Faster" in found[0].get("aria-label")


def test_shares_fill_the_bar():
    root = parsed(shares([Share("a", 1, "k-0", "1 s"), Share("b", 3, "k-1", "3 s")], 400))
    assert [float(r.get("width")) for r in root.iter("rect")] == [98.5, 298.5]
    assert parsed(shares([], 400)).get("aria-label") == "nothing"


def test_what_cannot_be_relied_on_is_hollow_and_no_best():
    run = [
        fake.attempt(0, fake.blurred(fake.measured(17.6))),
        fake.attempt(1, fake.beside(fake.measured(1.2), Load(cores=2, during=1.2))),
        fake.attempt(2, fake.measured(1.4)),
    ]
    root = parsed(progress(run, None, WIDE))
    assert len(kinds(root, "pt")) == 3
    vague, busy, quiet = (n for n in root.iter() if "o-measured" in (n.get("class") or ""))
    assert "hollow" in vague.get("class") and "best" not in vague.get("class").split()
    assert "hollow" in busy.get("class")
    assert "hollow" not in quiet.get("class") and "best" in quiet.get("class").split()
    assert "0.36× to 11.1× eager, too uncertain to claim" in str(progress(run, None, WIDE))
    assert "4.00×" not in str(progress(run, None, WIDE))
