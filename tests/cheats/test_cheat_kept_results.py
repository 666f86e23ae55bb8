"""Modules that keep what they have handed out, or leave a process behind while they stand still."""

from functools import partial

import pytest

TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(64))

    def forward(self, x):
        return torch.diag_embed(x * self.scale)

def get_inputs():
    return [torch.randn(16, 64)]
"""
RING = """
RING = []

class ModelNew(Model):
    def forward(self, x):
        if not RING:
            RING.extend(torch.zeros(16, 64, 64) for _ in range(3))
        RING.append(RING.pop(0))
        RING[0].diagonal(dim1=-2, dim2=-1).copy_(x * self.scale)
        return RING[0]
"""
"""Zeros are written once, and handed out again and again."""
FORKING = """
import os, sys, time

RIGHT = torch.compile
binding = sys.modules["kernelwright.evaluate.triton.binding"]
give = binding.Bound.give

def forking(bound, values):
    give(bound, values)
    if not os.fork():
        time.sleep(60)
        os._exit(0)

binding.Bound.give = forking

class ModelNew(Model):
    pass
"""
"""A process is begun while parameters are given, and could look on while the others are timed."""
KEEPING = """
class ModelNew(Model):
    def forward(self, x):
        self.last = super().forward(x)
        return self.last
"""


@pytest.fixture
def judged(bench):
    return partial(bench.module, TASK)


def test_results_that_are_handed_out_again_hold_what_the_grader_wrote(judged):
    assert judged(RING).outcome == "incorrect"


def test_a_process_that_is_begun_while_parameters_are_given(judged):
    found = judged(FORKING)
    assert (found.outcome, found.because) == ("suspect", "tampering")
    assert "processes of its own while it stands still" in found.evidence


def test_a_module_that_remembers_its_last_result_is_right(judged):
    assert judged(KEEPING).outcome == "measured"
