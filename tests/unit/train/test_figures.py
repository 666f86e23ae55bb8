"""The figures of a training step."""

import pytest

from kernelwright.train.environment import Step
from kernelwright.train.figures import figures


def judged(outcome, reward, speedup=None, hack=""):
    right = outcome == "measured" and not hack
    info = {"outcome": outcome, "right": right, "parsed": outcome != "no_kernel", "hack": hack, "speedup": speedup}
    return Step((), reward, terminated=False, truncated=True, info=info)


def test_shares_are_of_the_replies_whose_verdict_is_known():
    steps = [
        judged("measured", 1.3, 4.0),
        judged("measured", 0.3, 1.0),
        judged("timed_out", 0.0),
        judged("suspect", 0.0, hack="tampering"),
        judged("no_kernel", 0.0),
        Step((), None, terminated=False, truncated=True),
    ]
    told = figures(steps)
    assert (told["right"], told["timed out"], told["hacks"], told["parsed"]) == (0.4, 0.2, 0.2, 0.8)
    assert told["reward"] == pytest.approx(0.32)
    assert told["speedup"] == pytest.approx(2.0), "the geometric mean of those that are right"
    assert told["unjudged"] == pytest.approx(1 / 6)


def test_a_step_of_which_nothing_is_known_has_no_shares():
    assert figures([Step((), None, terminated=False, truncated=True)]) == {"unjudged": 1.0}
