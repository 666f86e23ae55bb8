"""Small figures that records derive: sizes, widths, shares, worst cases."""

import pytest
from pydantic import ValidationError

from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.measure import Accuracy, CaseError, Ratio, Roofline
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Workload
from kernelwright.records.tensor import EPSILON, ITEM_BYTES, Scalar, TensorSpec
from kernelwright.testing.samples import sample_measured


def spec(shape, dtype="float32"):
    return TensorSpec(name="x", shape=shape, dtype=dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "numel", "nbytes"),
    [((), "float32", 1, 4), ((0, 5), "float64", 0, 0), ((3, 5), "bfloat16", 15, 30), ((7,), "bool", 7, 7)],
)
def test_sizes(shape, dtype, numel, nbytes):
    assert (spec(shape, dtype).numel, spec(shape, dtype).nbytes) == (numel, nbytes)


def test_floating_dtypes_are_those_with_an_epsilon():
    assert {d for d in ITEM_BYTES if spec((1,), d).floating} == set(EPSILON)


def test_compulsory_bytes_count_each_tensor_once_and_no_scalar():
    workload = Workload(
        inputs=(spec((4,)), Scalar(name="k", value=3)), parameters=(spec((2,)),), outputs=(spec((), "float64"),)
    )
    assert workload.compulsory_bytes == 16 + 8 + 8
    assert workload.tensors == (workload.inputs[0],)


def test_the_worst_case_used_up_most_of_what_it_was_allowed():
    cases = [
        CaseError(distribution=r, error=e, reference_error=0, allowed=a)
        for r, e, a in (("a", 1e-6, 1e-3), ("b", 1e-8, 1e-7))
    ]
    assert Accuracy(cases=tuple(cases)).worst == cases[1]
    assert Accuracy(cases=()).worst is None


def test_shares_and_widths():
    assert Ratio(median=2.0, low=1.9, high=2.1, confidence=0.99).width == pytest.approx(0.1)
    roofline = Roofline(bytes=1, flops=1, achieved_gbps=10, ceiling_gbps=40, floor_us=1)
    assert roofline.fraction == 0.25


def test_a_target_is_called_what_it_is_for():
    assert Target(kind="cpu", arch="native", present=True).name == "cpu"
    assert Target(kind="cuda", arch="sm_90", present=True).name == "cuda"
    assert Target(kind="cuda", arch="sm_90", present=False).name == "sm_90"
    assert Target(kind="cuda", arch="sm_120", present=True).capability == 120
    assert Target(kind="hip", arch="gfx942", present=False).capability == 0


def test_a_comparison_is_found_by_its_baseline():
    timing = sample_measured(2.0).timing
    assert timing.against("eager").speedup.median == pytest.approx(2.0)
    assert timing.model_copy(update={"versus": ()}).against("eager") is None


def test_arguments_are_found_by_name_and_flops_add_up():
    node = OpNode(
        name="n", op="aten.mul.Tensor", result=(), bytes=1, flops=5,
        arguments=(Argument(name="self", value=Ref(ref="x")), Argument(name="other", value=2.0)),
    )  # fmt: skip
    assert node.argument("other") == 2.0
    assert node.argument("alpha") is None
    assert OpGraph(inputs=(), parameters=(), nodes=(node, node), outputs=()).flops == 10


@pytest.mark.parametrize(
    "option",
    [
        {"confidence": 1.0}, {"confidence": 0.5}, {"seeds": 0}, {"search_blocks": 3}, {"disabled": ("honesty",)},
        {"baselines": ("compile",)}, {"baselines": ()}, {"baselines": ("eager", "eager")},
    ],
)  # fmt: skip
def test_a_policy_that_means_nothing_is_refused(option):
    with pytest.raises(ValidationError):
        Policy(**option)
