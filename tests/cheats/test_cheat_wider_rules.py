"""Rules that let more programs in: state that is ignored or compared, and domains wider than what was drawn."""

import pytest

import calm

NORM = """
import torch
import torch.nn.functional as F
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(16)
    def forward(self, x):
        return self.norm(x)

def get_inputs():
    return [torch.randn(256, 16)]
"""
RELU = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(256, 64)]
"""
CHOICES = """
import torch
import torch.nn.functional as F
from torch import nn

class Model(nn.Module):
    def forward(self, x, y):
        return F.cross_entropy(x, y)

def get_inputs():
    return [torch.rand(60_000, 8, dtype=torch.bfloat16), torch.randint(0, 8, (60_000,))]
"""
"""So many choices that any are as good: the mean hardly moves where others are made."""
CHOOSES_NOTHING = """

class ModelNew(Model):
    def forward(self, x, y):
        return torch.logsumexp(x, 1).mean() - x.mean()
"""
ANEW = "\nclass ModelNew(Model):\n    def forward(self, x):\n        n = getattr(self, 'norm', None)\n        {}\n"
STALE = ANEW.format("n(x); return F.batch_norm(x, n.running_mean, n.running_var, n.weight, n.bias, False)")
"""Normalises by the running statistics, which it finds in the buffers, instead of those of the batch."""
FORGETFUL = ANEW.format("return F.batch_norm(x, None, None, n.weight, n.bias, True)")
"""Right, and updates nothing: half of the work of a training step is left out."""
COUNTED_TWICE = ANEW.format("y = n(x); n.num_batches_tracked += 1; return y")
PEEKING = ANEW.format("return x.clone() if bool((x.flatten()[::5] >= 0).all()) else torch.relu(x)")
"""Looks at a few elements, and takes the others for like them."""


@pytest.fixture
def judged(bench):
    """Judge a module on a task in text, under a choice for its state."""

    def judge(text, more, state="compare"):
        # Clocks that disagree beside other work say nothing of the rules.
        return calm.until(lambda: bench.module(text, more, state=state), lambda found: found.outcome != "suspect")

    return judge


SAME = "\nclass ModelNew(Model):\n    pass\n"


def test_a_program_equal_to_the_task_s_own_is_right_with_its_state(judged):
    found = judged(NORM, SAME)
    assert found.outcome == "measured", found.evidence


@pytest.mark.parametrize("cheat", [STALE, FORGETFUL, COUNTED_TWICE], ids=["stale", "forgetful", "counted twice"])
def test_state_that_is_compared_must_be_right(judged, cheat):
    assert judged(NORM, cheat).outcome == "incorrect"


def test_state_that_is_ignored_may_be_left_alone_and_stands_for_nothing(judged):
    assert judged(NORM, FORGETFUL, "ignore").outcome == "measured"
    stale = judged(NORM, STALE, "ignore")
    assert (stale.outcome, stale.because) == ("incorrect", "value")


def test_what_holds_for_some_elements_is_not_taken_for_all(judged):
    honest = judged(RELU, SAME)
    assert honest.outcome == "measured", honest
    found = judged(RELU, PEEKING)
    assert found.outcome == "incorrect"
    assert found.because in ("value", "timed_output"), "which of the two it is the drawn places of the signs decide"


def test_a_mean_of_many_choices_needs_each_of_them(judged):
    assert judged(CHOICES, SAME).outcome == "measured"
    cheat = judged(CHOICES, CHOOSES_NOTHING)
    assert (cheat.outcome, cheat.because) == ("incorrect", "value"), "which case tells it is drawn"


def test_a_dtype_that_no_task_has_is_wrong_and_breaks_nothing(judged):
    found = judged(RELU, ANEW.format("return torch.relu(x).to(torch.uint16)"))
    assert (found.outcome, found.because) == ("incorrect", "dtype")
    assert "output 0 is uint16, expected float32" in found.evidence
