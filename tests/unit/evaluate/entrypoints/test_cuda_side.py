"""A module's parameters on the GPU: loaded once, then overwritten in place, where none of its hooks sees them."""

from types import SimpleNamespace

import pytest
import torch
from cuda.bindings import driver as cuda_driver

from kernelwright.errors import MachineError
from kernelwright.evaluate.entrypoints import cuda, held_calls
from kernelwright.evaluate.entrypoints.cuda import CudaSide
from kernelwright.evaluate.sandbox.messages.calls import Clocking, RunOnDevice, TakeParameters
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
    side._workload = Workload(inputs=(X,), parameters=(WEIGHT,), outputs=(X,))
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
        side.run(RunOnDevice(calls=((2,), (3,)), how=Clocking(clock="capture")))
    for _ in range(2):
        side.run(RunOnDevice(calls=((2,), (3,)), how=Clocking(clock="loop")))
        assert [[t.tolist() for t in result] for result in side._results] == [[[202.0] * 3], [[303.0] * 3]]
    assert made == [(2,), (3,)]


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
    side.run(RunOnDevice(calls=((2,), (3,)), how=Clocking(clock="hold")))
    assert opened == [False, False]
    assert gate.loaded == [0]  # before this gate: afterwards, loading would wait for it
    side.run(RunOnDevice(calls=((2,), (3,)), how=Clocking(clock="release")))
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
