"""The interpreted side: a kernel that writes to what it was given is told, whatever it returns."""

import os

import pytest
import torch

from kernelwright.evaluate.entrypoints.candidate import interpreted
from kernelwright.evaluate.entrypoints.candidate.interpreted import InterpretedSide
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.messages.calls import Ran, Run
from kernelwright.evaluate.sandbox.messages.candidates import LoadInterpreted
from kernelwright.evaluate.triton.programs import ORDERS
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec

X, WEIGHT = (TensorSpec(name=n, shape=(4,), dtype="float32") for n in ("x", "weight"))
WORKLOAD = Workload(inputs=(X, Scalar(name="k", value=3)), parameters=(WEIGHT,), outputs=(X,))

ONCE = Run(calls=((0, 0),))


@pytest.fixture
def side():
    threads = torch.get_num_threads()
    arena = Arena([16, 16])
    for index in range(2):
        torch.frombuffer(arena.memory(index), dtype=torch.float32).copy_(torch.arange(4.0) + index)
    made = InterpretedSide()
    command = LoadInterpreted(
        candidate=Candidate(language="triton", source=""),
        workload=WORKLOAD,
        init="",
        arch="sm_90",
        starts=arena.layout(),
        files=(os.dup(arena.descriptor),),
    )
    made.load(command)
    yield made
    arena.close()
    torch.set_num_threads(threads)


def interpreter(change):
    """In place of Triton's: changes its arguments, and returns a right result."""

    def interpret(candidate, init, arguments, arch, way):
        change(arguments)
        return (torch.ones(4),)

    return interpret


def test_each_of_several_calls_has_results_and_a_seed_of_its_own(side, monkeypatch):
    seeds, orders = [], set()

    def interpret(candidate, init, arguments, arch, way):
        seeds.append(way.seed)
        orders.add(way.order)
        return (torch.full((4,), float(way.seed)),)

    monkeypatch.setattr(interpreted, "interpret", interpret)
    ran = side.run(Run(calls=((0, 0),) * 3))
    assert len({one.address for (one,) in ran.results}) == 3
    side.run(ONCE)
    assert len(set(seeds)) == 4
    assert orders == set(ORDERS)


def test_a_pure_kernel_s_results_are_described(side, monkeypatch):
    monkeypatch.setattr(interpreted, "interpret", interpreter(lambda arguments: None))
    ran = side.run(ONCE)
    ((described,),) = ran.results
    assert (described.dtype, described.shape) == ("float32", (4,))
    assert ran.ns > 0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda arguments: arguments.inputs[0].add_(1), "'x'"),
        (lambda arguments: arguments.parameters["weight"].zero_(), "'weight'"),
    ],
)
def test_a_kernel_that_writes_to_its_inputs_is_told(side, monkeypatch, change, name):
    monkeypatch.setattr(interpreted, "interpret", interpreter(change))
    raised = side.run(ONCE)
    assert raised.error == "fault input_written"
    assert name in raised.log
    assert "elements changed, first at flat index 0 from " in raised.log
    monkeypatch.setattr(interpreted, "interpret", interpreter(lambda arguments: None))
    assert isinstance(side.run(ONCE), Ran), "what is shared was not touched"
