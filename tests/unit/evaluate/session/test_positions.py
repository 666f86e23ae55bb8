"""Positions pick from values where they lie, if there is no room to keep those of every case."""

import pytest
import torch

from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.session import session as sessions
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.argmin({of}, dim=1)


def get_inputs():
    return [torch.randn(6, 40, 5)]
"""


@pytest.fixture
def opened(backend):
    """Open a session of positions into values of `x`, given as an expression."""
    opened = []

    def begin(of):
        source = TaskSource(name="positions", format="kernelbench", source=SOURCE.format(of=of))
        opened.append(admit.open_session(backend, source, CPU, Policy(seeds=2), close_oldest=print))
        return opened[-1]

    yield begin
    for session in opened:
        session.close()


@pytest.mark.parametrize("room", [0, sessions.PARENT_BYTES], ids=["no room", "room"])
@pytest.mark.parametrize("of", ["x", "x * 2.0"], ids=["an input's", "an inner value's"])
def test_positions_are_judged_by_what_they_pick(opened, monkeypatch, of, room):
    monkeypatch.setattr(sessions, "PARENT_BYTES", room)
    session = opened(of)
    for case in map(session.present, session.cases):
        (expected,) = case.expected
        assert expected.judge([expected.value.long()])[1] is None
        # Whole numbers have many that are as small, and a neighbour may be one of them.
        assert expected.judge([expected.picked().argmax(dim=1)])[1].because == "value"


def test_without_room_positions_pick_from_an_input_where_it_lies(opened, monkeypatch):
    monkeypatch.setattr(sessions, "PARENT_BYTES", 0)
    session = opened("x")
    assert all(c.expected[0].picked().data_ptr() == session.view(0, c.offsets[0]).data_ptr() for c in session.cases)


def test_without_room_inner_values_are_computed_each_time(opened, monkeypatch):
    monkeypatch.setattr(sessions, "PARENT_BYTES", 0)
    session = opened("x * 2.0")
    first = session.present(session.cases[0]).expected[0]
    before, again = first.picked(), first.picked()
    assert torch.equal(before, again)
    assert before.data_ptr() != again.data_ptr()
