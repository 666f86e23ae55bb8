"""A module's parameters on the GPU: loaded once, then overwritten in place, where none of its hooks sees them."""

from math import isfinite
from types import SimpleNamespace

import pytest
import torch
from cuda.bindings import driver as cuda_driver

from kernelwright.errors import MachineError
from kernelwright.evaluate.entrypoints.candidate import cuda, held_calls
from kernelwright.evaluate.entrypoints.candidate.cuda import CudaSide
from kernelwright.evaluate.sandbox.messages.calls import (
    CaptureGraph,
    Clocking,
    HoldCalls,
    Overwrite,
    Replay,
    RunOnDevice,
    TakeParameters,
)
from kernelwright.evaluate.triton.binding import bind
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

X = TensorSpec(name="x", shape=(3,), dtype="float32")
WEIGHT = TensorSpec(name="weight", shape=(3,), dtype="float32")


class Told(torch.nn.Module):
    """Keeps a copy of its weight whenever it is loaded."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))
        self.seen = []

    def _load_from_state_dict(self, state, *others):
        self.seen.append(state["weight"].clone())
        super()._load_from_state_dict(state, *others)

    def forward(self, x):
        return x * self.weight


def side_of(model, constant=False):
    side = CudaSide()
    side._bound, side._constant = bind(model, {"weight": torch.zeros(3)}), constant
    side._outputs = (X,)
    side._workload = Workload(inputs=(X,), parameters=(WEIGHT,), outputs=side._outputs)
    side._view = SimpleNamespace(tensor=lambda index, offset, spec: torch.full(spec.shape, float(index * 100 + offset)))
    return side


def test_parameters_are_loaded_once_and_then_overwritten():
    model = Told()
    side = side_of(model)
    for offset in (1, 2):
        side.parameters(TakeParameters(offsets=[offset]))
        assert model.weight.tolist() == [100.0 + offset] * 3
    side._take_own([0, 5])
    assert model.weight.tolist() == [105.0] * 3
    assert [seen.tolist() for seen in model.seen] == [[101.0] * 3]


def test_calls_that_cannot_be_captured_are_replayed_as_a_loop_of_the_same_arguments(monkeypatch):
    side, made = side_of(Told(), constant=True), []
    side._arguments = lambda offsets: made.append(offsets) or [torch.full((3,), float(offsets[0]))]
    side.parameters(TakeParameters(offsets=[1]))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)

    def refused(*calls):
        raise RuntimeError("legacy stream")

    monkeypatch.setattr(cuda, "OneGraph", refused)
    with pytest.raises(RuntimeError, match="legacy stream"):
        side.capture(CaptureGraph(calls=((2,), (3,))))
    for _ in range(2):
        side.replay(Replay(how="loop"))
        assert [[t.tolist() for t in result] for result in side._results] == [[[202.0] * 3], [[303.0] * 3]]
    assert made == [(2,), (3,)]


@pytest.mark.parametrize("how", ["loop", "release"])
def test_calls_that_are_bounded_take_parameters_of_their_own(gate, monkeypatch, how):
    side, calls = side_of(Told()), ((2, 1), (3, 2))
    side._arguments = lambda offsets: [torch.full((3,), float(offsets[0]))]
    side.parameters(TakeParameters(offsets=[9]))
    monkeypatch.setattr(cuda, "OneGraph", lambda function, calls: None)
    side.capture(CaptureGraph(calls=calls)) if how == "loop" else side.hold(HoldCalls(calls=calls))
    side.replay(Replay(how=how))
    assert [[t.tolist() for t in result] for result in side._results] == [[[202.0] * 3], [[306.0] * 3]]


class Gate:
    """A driver whose streams wait for a value, which is written down."""

    CUstreamWaitValue_flags = cuda_driver.CUstreamWaitValue_flags

    def __init__(self, code=0):
        self.code, self.flags = code, []
        self.loaded = []
        """How many gates there were when what does nothing was launched."""

    def cuStreamWaitValue32(self, stream, address, value, flags):  # noqa: N802 (the driver's name)
        assert address == self.flags[-1].data_ptr()
        return (self.code,)

    def flag(self, size, dtype, pin_memory):
        """Memory that the device can read."""
        self.flags.append(torch.tensor([0] * size, dtype=dtype))
        return self.flags[-1]

    def opened(self):
        """Whether the value is there."""
        return self.flags[-1].tolist() == [1]


@pytest.fixture
def gate(monkeypatch):
    """No stream waits here: what would be computed later is computed at once."""
    made = Gate()
    monkeypatch.setattr(held_calls, "torch", SimpleNamespace(zeros=made.flag, int32=torch.int32, cuda=torch.cuda))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(held_calls, "driver", made)
    monkeypatch.setattr(held_calls, "aside", lambda: made.loaded.append(len(made.flags)))
    monkeypatch.setattr(cuda.CudaSide, "_poison", lambda self, calls, how: None)
    return made


def test_held_calls_begin_when_they_are_released(gate):
    side, opened = side_of(Told(), constant=True), []
    side._arguments = lambda offsets: opened.append(gate.opened()) or [torch.full((3,), float(offsets[0]))]
    side.parameters(TakeParameters(offsets=[1]))
    side.hold(HoldCalls(calls=((2,), (3,))))
    assert opened == [False, False]
    assert gate.loaded == [0]  # before this gate: afterwards, loading would wait for it
    side.replay(Replay(how="release"))
    assert gate.opened()
    assert [[t.tolist() for t in result] for result in side._results] == [[[202.0] * 3], [[303.0] * 3]]


def test_calls_that_raise_are_not_held(gate):
    def fails(index):
        assert not gate.opened()
        raise ValueError("no launch")

    with pytest.raises(ValueError, match="no launch"):
        held_calls.HeldCalls(fails, 2)
    assert gate.opened()


def test_a_device_whose_streams_cannot_wait_holds_nothing(gate):
    gate.code = cuda_driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
    with pytest.raises(MachineError, match="refused"):
        held_calls.HeldCalls(lambda i: i, 2)


def test_a_call_without_parameters_leaves_them_as_they_are():
    model = Told()
    side = side_of(model)
    side.parameters(TakeParameters(offsets=[1]))
    side._take_own([0])
    assert model.weight.tolist() == [101.0] * 3


def test_constant_parameters_are_taken_once():
    side = side_of(Told(), constant=True)
    side.parameters(TakeParameters(offsets=[1]))
    with torch.no_grad():
        side._bound.model.weight.zero_()
    side._take_own([0, 1])
    assert side._bound.model.weight.tolist() == [0.0] * 3


class Keeps(torch.nn.Module):
    """Hands out a tensor that it keeps, and one of a ring that nobody knows of."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))
        self.mask = None
        self.ring = lambda made=[]: made

    def forward(self, x):
        self.mask = torch.ones(3) if self.mask is None else self.mask
        ring = self.ring()
        ring.append(torch.zeros(3) if len(ring) < 4 else ring.pop(0))
        ring[-1][0] = x[0]
        self.last = x * 2
        return self.mask, ring[-1], self.last, x, x[:1].expand(3)


def asked(side, *calls, clock="none", poison=True):
    """The results of these calls, as they were handed out."""
    side.run(RunOnDevice(calls=calls, how=Clocking(clock=clock), poison=poison, stream_order=False))
    return [[t.tolist() for t in result] for result in side._results]


@pytest.fixture
def keeping(monkeypatch):
    """A side whose device is the host; the first tensor of each call is the arena's."""
    side = side_of(Keeps(), constant=True)
    arena = {}
    side._arguments = lambda offsets: [arena.setdefault(offsets, torch.full((3,), float(offsets[0])))]
    side._view.holds = lambda address: address in {t.data_ptr() for t in arena.values()}
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(cuda.poison, "ahead", lambda outputs, calls, device: None)
    return side


def test_what_was_handed_out_is_overwritten_before_the_next_question(keeping):
    for i in range(4):
        mask, ring, last, x, expanded = asked(keeping, (i + 1,))[0]
        assert (mask, ring) == ([1.0] * 3, [i + 1.0, 0.0, 0.0])
        assert (last, x, expanded) == ([2.0 * (i + 1)] * 3, [i + 1.0] * 3, [i + 1.0] * 3)
    mask, ring, *_ = asked(keeping, (9,))[0]
    assert (mask, ring[0]) == ([1.0] * 3, 9.0)
    assert not any(map(isfinite, ring[1:]))
    assert keeping._bound.model.mask.tolist() == [1.0] * 3


def test_without_that_defence_a_ring_is_right(keeping):
    for i in range(6):
        assert asked(keeping, (i + 1,), poison=False)[0][1] == [i + 1.0, 0.0, 0.0]


def test_results_are_overwritten_when_they_are_asked_to_be(keeping):
    asked(keeping, (1,))
    keeping.overwrite(Overwrite())
    mask, ring, last, x, _ = keeping._results[0]
    assert mask.data_ptr() != keeping._bound.model.mask.data_ptr()
    assert not torch.isfinite(ring).any()
    assert not torch.isfinite(last).any()
    assert x.tolist() == [1.0] * 3
