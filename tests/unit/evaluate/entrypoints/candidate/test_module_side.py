"""A Python candidate on this machine's cores: what it is called with, when it takes parameters, where its results lie."""

import pytest
import torch

from kernelwright.evaluate.entrypoints import numerics
from kernelwright.evaluate.entrypoints.candidate.module import ModuleSide
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.messages.calls import DescribeInputs, Run, TakeParameters, TellPrecision
from kernelwright.evaluate.sandbox.messages.candidates import Clear, LoadModule, TellLibraryShare, TellParameters
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec

X = TensorSpec(name="x", shape=(4,), dtype="float32")
W = TensorSpec(name="w", shape=(4,), dtype="float32")
WORKLOAD = Workload(inputs=(X, Scalar(name="by", value=2)), parameters=(W,), outputs=(X,))
NAMED = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x, by):
        return x * by + self.w
"""
TAKING = """
import torch

class ModelNew(torch.nn.Module):
    taken = 0

    def load_reference(self, state):
        ModelNew.taken += 1
        self.sum = state["w"] + 1.0

    def forward(self, x, by):
        return x * by + self.sum - 1.0
"""
PASSING = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x, by):
        return x
"""


KEEPING = """
import torch

class ModelNew(torch.nn.Module):
    table = None

    def forward(self, x, by):
        if self.table is None:
            self.table = [torch.ones(4)]
        return self.table[0]
"""


@pytest.fixture
def arena():
    made = Arena([64, 128])
    yield made
    made.close()


@pytest.fixture
def side_of(arena, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fill(index, offset, value):
        torch.frombuffer(arena.memory(index), dtype=torch.float32)[offset // 4 : offset // 4 + 4] = value

    fill(0, 0, 1.0)
    fill(1, 0, 0.0)
    fill(1, 64, 5.0)

    def side_of(source, **more):
        side = ModuleSide(None)
        command = LoadModule(
            starts=arena.layout(),
            candidate=Candidate(language="python", source=source),
            workload=WORKLOAD,
            flags=numerics.everything(),
            init="def get_init_inputs():\n    return []\n",
            threads=torch.get_num_threads(),
            files=(arena.descriptor,),
            **more,
        )
        return side, side.load(command).binding

    return side_of


def result(side):
    side.run(Run(calls=((0,),)))
    return side._results[0][0].tolist()


def test_it_takes_parameters_before_a_call(side_of):
    side, told = side_of(NAMED)
    assert (told.by_name, told.left) == (1, ())
    for offset, wanted in ((0, 2.0), (64, 7.0)):
        side.parameters(TakeParameters(offsets=(offset,)))
        assert result(side) == [wanted] * 4


@pytest.mark.parametrize(("constant", "taken"), [(False, 3), (True, 1)])
def test_a_model_that_packs_does_so_in_every_call_unless_weights_are_constant(side_of, constant, taken):
    side, told = side_of(TAKING, constant=constant)
    assert told.by_method
    for _ in range(3):
        side.parameters(TakeParameters(offsets=(64,)))
        assert result(side) == [7.0] * 4
    assert type(side._bound.model).taken == taken


def test_a_result_is_never_an_input(side_of):
    side, _ = side_of(PASSING)
    (found,) = side.run(Run(calls=((0,),))).results[0]
    assert not side._view.holds(found.address)
    assert result(side) == [1.0] * 4


def test_a_result_is_nothing_that_the_model_keeps_for_the_grader_may_write_there(side_of):
    side, _ = side_of(KEEPING)
    for _ in range(2):
        (found,) = side.run(Run(calls=((0,),))).results[0]
        assert found.address != side._bound.model.table[0].data_ptr()
        side.clear(Clear(count=1))


def test_nothing_of_earlier_results_is_kept(side_of):
    side, _ = side_of(PASSING)
    result(side)
    side.clear(Clear(count=2))
    assert side._results == []


def test_it_tells_where_inputs_lie_and_what_a_library_takes(side_of):
    side, _ = side_of(NAMED)
    side.parameters(TakeParameters(offsets=(64,)))
    (found,) = side.inputs(DescribeInputs(offsets=(0,), tensors=(X,))).tensors
    assert side._view.holds(found.address)
    share = side.share(TellLibraryShare(call=(0,))).share
    assert share is not None
    assert 0.0 < share <= 1.0


def test_it_tells_the_flags_that_its_own_code_sets(side_of):
    side, _ = side_of(f"{NAMED}\ntorch.set_float32_matmul_precision('high')\n")
    try:
        assert list(side.flags(TellPrecision()).flags.values())
    finally:
        torch.set_float32_matmul_precision("highest")


SPYING = (
    NAMED
    + """
asked = []
Kept = torch.Tensor.data_ptr
torch.Tensor.data_ptr = lambda tensor: asked.append("address") or Kept(tensor)
torch.Tensor.stride = lambda tensor, *dim: asked.append("strides") or (1,)
torch.Tensor.dtype = property(lambda tensor: asked.append("type") or torch.float32)
class Spy(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        asked.append("mode")
        return func(*args, **(kwargs or {}))
torch.spied = asked
torch.spy = Spy()
"""
)


def test_no_code_of_the_candidate_runs_where_its_parameters_are_asked_for(side_of, monkeypatch):
    for name in ("data_ptr", "stride", "dtype"):
        monkeypatch.setattr(torch.Tensor, name, getattr(torch.Tensor, name))
    monkeypatch.setattr(torch, "spy", None, raising=False)
    monkeypatch.setattr(torch, "spied", None, raising=False)
    side, _ = side_of(SPYING)
    side.parameters(TakeParameters(offsets=(0,)))
    torch.spied.clear()
    with torch.spy:
        held = side.held(TellParameters())
    assert torch.spied == []
    assert (held.tensors[0].dtype, held.tensors[0].strides) == ("float32", (1,))
