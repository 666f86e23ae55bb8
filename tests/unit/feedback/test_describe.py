"""Feedback begins with the outcome's class, has the numbers, and never claims what was not measured."""

import pytest

from kernelwright.feedback.bottleneck import bottleneck
from kernelwright.feedback.describe import LOG_CHARACTERS, describe
from kernelwright.records.evaluation import OUTCOMES, BuildFailed, Crashed
from kernelwright.records.measure import KernelFacts
from kernelwright.testing.samples import BUILD, sample_attempt, sample_measured


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("refused", "Compilation Failed: refused"),
        ("build_failed", "Compilation Failed: kernel.cpp:3:1"),
        ("crashed", "Functional Failure: Kernel crashed (verify): killed by SIGSEGV"),
        ("timed_out", "Functional Failure: Kernel did not return within 30 s"),
        ("incorrect", "Functional Failure: Kernel produced incorrect output"),
        ("suspect", "Functional Failure: Result is not credible"),
        ("compiled", "Success. It compiles; it was neither run nor timed"),
        ("verified", "Success. Output is right"),
        ("measured", "Success. Latency: 50.00 us. Target: 40.00 us."),
    ],
)
def test_the_first_words_are_the_class(outcome, words):
    assert describe(sample_attempt(0, outcome), None, None, 40.0).words.startswith(words)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_only_a_measured_kernel_has_figures(outcome):
    found = describe(sample_attempt(0, outcome), None, None)
    assert (found.latency_us is not None) == (found.speedup_eager is not None) == (outcome == "measured")
    assert found.works == (outcome in ("measured", "verified"))


def test_a_kernel_is_compared_with_the_best_and_its_parent():
    best, parent = sample_attempt(1, speedup=4.0), sample_attempt(2, speedup=2.0)
    found = describe(sample_attempt(3, speedup=3.0), parent, best)
    assert found.speedup_best == pytest.approx(0.75)
    assert "0.75x the best before it (attempt 1), 1.50x its parent (attempt 2)" in found.words


def test_a_best_that_was_not_timed_is_no_yardstick():
    found = describe(sample_attempt(1), None, sample_attempt(0, "verified"))
    assert found.speedup_best is None
    assert "First kernel that was timed." in found.words


def test_a_long_log_is_cut_where_it_says_so():
    attempt = sample_attempt().model_copy(update={"evaluation": BuildFailed(log="e" * 9000 + "KeyError")})
    words = describe(attempt, None, None).words
    assert len(words) < LOG_CHARACTERS + 100
    assert "7008 characters left out" in words
    assert words.endswith("KeyError"), "what an exception was stands at its end"


def test_a_compiler_that_crashed_is_a_failed_compilation():
    crash = Crashed(stage="compile", reason="killed by SIGKILL", log="out of memory")
    attempt = sample_attempt().model_copy(update={"evaluation": crash})
    assert describe(attempt, None, None).words.startswith("Compilation Failed: the compiler ended")


def shaped(latency_us=100.0, build=BUILD, **roof):
    found = sample_measured(100.0 / latency_us)
    return found.model_copy(update={"build": build, "roofline": found.roofline.model_copy(update=roof)})


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (shaped(achieved_gbps=19.0), "memory"),
        (shaped(floor_us=1.0), "launch"),
        (shaped(floor_us=50.0, achieved_gbps=10.0, bytes=10, flops=1000), "compute"),
        (shaped(floor_us=50.0, achieved_gbps=2.0), "latency"),
        (shaped(floor_us=50.0, achieved_gbps=10.0), "unknown"),
        (
            shaped(
                build=BUILD.model_copy(update={"kernels": (KernelFacts(name="k", spill_bytes=64),)}),
                floor_us=50.0,
                achieved_gbps=10.0,
            ),
            "spills",
        ),
    ],
)
def test_the_bottleneck_has_its_evidence(found, limit):
    assert bottleneck(found).bottleneck == limit
    assert any(word in bottleneck(found).evidence for word in ("GB/s", "call", "bytes a thread"))
