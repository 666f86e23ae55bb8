"""Whether a candidate can be judged with the parameters that its model holds."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.session.binding import bound, may_be_weaker
from kernelwright.evaluate.session.trial import OutcomeReached
from kernelwright.records.evaluation import Binding
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.policy import Policy
from kernelwright.records.tensor import TensorSpec

SPECS = tuple(TensorSpec(name=name, shape=(4,), dtype="float32") for name in ("weight", "bias", "counter"))
VALUES = (torch.arange(4.0), torch.zeros(4), torch.zeros(4))
READ = tuple(Argument(name=name, value=Ref(ref=name)) for name in ("x", "weight", "bias"))
NODE = OpNode(name="out", op="aten.addcmul.default", arguments=READ, result=(), bytes=0, flops=0)
GRAPH = OpGraph(inputs=("x",), parameters=("weight", "bias", "counter"), nodes=(NODE,), outputs=("out",))


def trial_of(weights="fresh", unmatched="construction", binding=None):
    session = SimpleNamespace(
        weights=weights,
        task=SimpleNamespace(graph=GRAPH),
        parameters=SPECS,
        inputs=("x",),
        view=lambda index, offset: VALUES[index - 1],
    )
    policy = Policy(weights="constant" if weights == "constant" else "fresh", unmatched=unmatched)
    return SimpleNamespace(session=session, policy=policy, weights=weights, found=SimpleNamespace(binding=binding))


def outcome(weights, *left):
    with pytest.raises(OutcomeReached) as reached:
        bound(trial_of(weights), Binding(left=left))
    return reached.value.outcome


def test_what_nothing_reads_need_not_be_held():
    trial = trial_of()
    bound(trial, told := Binding(left=("counter",)))
    assert trial.found.binding is told


def test_what_takes_them_itself_need_not_hold_any():
    trial = trial_of()
    bound(trial, told := Binding(by_method=True))
    assert trial.found.binding is told


@pytest.mark.parametrize("weights", ["fresh", "constant"])
def test_a_parameter_without_a_place_does_not_build(weights):
    found = outcome(weights, "weight", "counter")
    assert found.outcome == "build_failed"
    assert "weight[4]" in found.log
    assert "counter" not in found.log


def test_with_the_parameters_of_construction_it_may_be_missing():
    trial = trial_of("construction")
    bound(trial, told := Binding(left=("weight",), constant=("packed",)))
    assert trial.found.binding is told


def test_but_not_one_whose_elements_are_all_equal():
    found = outcome("construction", "weight", "bias")
    assert found.outcome == "refused"
    assert "bias" in found.reason
    assert "weight," not in found.reason


@pytest.mark.parametrize(
    ("weights", "unmatched", "binding", "wanted"),
    [
        ("fresh", "construction", Binding(left=("weight",)), True),
        ("fresh", "refuse", Binding(left=("weight",)), False),
        ("fresh", "construction", Binding(constant=("packed",)), False),
        ("constant", "construction", Binding(constant=("packed",)), True),
        ("constant", "construction", Binding(by_method=True), False),
        ("construction", "construction", Binding(left=("weight",)), False),
        ("constant", "construction", None, False),
    ],
)
def test_who_is_judged_once_more_with_the_parameters_of_construction(weights, unmatched, binding, wanted):
    assert may_be_weaker(trial_of(weights, unmatched, binding)) is wanted
