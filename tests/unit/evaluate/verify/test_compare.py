"""The calibrated comparison: what is wrong is called wrong with its evidence, what rounding costs is not."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.evaluate.verify.compare import (
    ONE_BY_ONE,
    Expected,
    adds_exponentials,
    error_of,
    floor,
    judge,
    lane,
    longest_reduction,
    scale_of,
)
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.tensor import EPSILON, TensorSpec

K = 4.0
ORDINARY = st.floats(-1e6, 1e6, allow_nan=False, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)
LISTS = st.lists(ORDINARY, min_size=1, max_size=20)
SOME = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def spec(dtype="float32"):
    return TensorSpec(name="out", shape=(), dtype=dtype)


def expect(value, allowed=1e-6, scale=None):
    return Expected(value, scale_of(value) if scale is None else scale, 0.0, allowed)


def f64(*values):
    return torch.tensor(values, dtype=torch.float64)


# --- scale --------------------------------------------------------------------------------------------------------


def test_the_scale_is_the_median_magnitude():
    assert scale_of(f64(-1, 2, -3, 400, 5)) == 3


def test_where_most_is_zero_the_scale_is_that_of_the_rest():
    value = torch.zeros(100, dtype=torch.float64)
    value[0] = 50.0
    assert scale_of(value) == 50.0


def test_where_most_is_far_smaller_than_the_rest_the_scale_is_a_thousandth_of_the_root_mean_square():
    value = torch.full((100,), 1e-12, dtype=torch.float64)
    value[0] = 50.0
    assert scale_of(value) == pytest.approx(1e-3 * 5.0)


def test_zeros_of_a_relu_do_not_lower_the_scale():
    value = torch.randn(4096, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert scale_of(value.relu()) == pytest.approx(scale_of(value), rel=0.05)


def test_the_scale_is_never_zero():
    assert scale_of(torch.zeros(8)) > 0
    assert scale_of(torch.zeros(0)) == 1.0
    assert scale_of(torch.zeros((), dtype=torch.int64)) > 0


@SOME
@given(LISTS, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_scale_scales(values, factor):
    value = f64(*values)
    assert scale_of(value * factor) == pytest.approx(max(scale_of(value) * factor, 1e-30), rel=1e-9)


# --- the floor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EPSILON)
def test_the_floor_is_a_few_ulps_and_grows_with_the_logarithm(dtype):
    eps = EPSILON[dtype]
    ulps = 4096 if dtype == "float64" else 4
    assert floor(spec(dtype), 1) == ulps * eps
    assert floor(spec(dtype), 1024) == ulps * eps + 20 * min(eps, EPSILON["float32"])
    assert floor(spec(dtype), 0) == floor(spec(dtype), 1)


@pytest.mark.parametrize("count", [512, 2048])
def test_one_accumulator_may_err_one_way_where_terms_are_alike_and_only_there(count):
    """In the row of a norm beside one huge element, every other square is rounded down."""
    x = torch.randn(256, count, generator=torch.Generator().manual_seed(count))
    x[:, 0] = 1e4
    # In float32, one term after the other: torch adds rows up in parts.
    added = torch.from_numpy(np.add.accumulate(x.square().numpy(), axis=1)[:, -1])
    error = float(error_of(added, x.double().square().sum(1), 0.0).max())
    assert floor(spec(), count) < error < floor(spec(), count, in_turn=ONE_BY_ONE)
    assert floor(spec(), 1 << 30, in_turn=ONE_BY_ONE) == floor(spec(), ONE_BY_ONE, in_turn=ONE_BY_ONE) < 1e-4


@pytest.mark.parametrize("lanes", [32, 128])
def test_a_lane_of_a_dot_product_may_lose_what_vanishes_beside_one_huge_element(lanes):
    x = 2 * torch.rand(1 << 20, generator=torch.Generator().manual_seed(lanes))
    x[0] = 1e4
    # No other square is more than half an ulp of the first. Every lane takes each so-many-th element, and the lanes meet last.
    added = np.add.accumulate(x.square().view(-1, lanes).numpy(), axis=0)[-1].sum(dtype=np.float32)
    error = float(error_of(torch.tensor(added), x.double().square().sum(), 0.0))
    assert floor(spec(), len(x), in_turn=ONE_BY_ONE) < error < floor(spec(), len(x), in_turn=lane(len(x))) < 1e-3


@pytest.mark.parametrize("count", [512, 2048])
def test_one_accumulator_needs_no_room_for_terms_as_they_are_drawn(count):
    x = torch.rand(4096, count, generator=torch.Generator().manual_seed(count))
    added = torch.from_numpy(np.add.accumulate(x.numpy(), axis=1)[:, -1])
    assert float(error_of(added, x.double().sum(1), 0.0).max()) < floor(spec(), count)


def test_integers_have_no_floor():
    assert floor(spec("int32"), 1 << 20) == 0


def tensor(name, *shape):
    return TensorSpec(name=name, shape=shape, dtype="float32")


def graph(*nodes):
    """A chain of operations on `x`: each a name, the shape of its result, and what it reads."""
    made = [
        OpNode(
            name=f"n{i}", op=f"aten.{op}", arguments=tuple(Argument(name="self", value=Ref(ref=r)) for r in reads),
            result=(tensor(f"n{i}", *shape),), bytes=0, flops=0,
        )
        for i, (op, shape, reads) in enumerate(nodes)
    ]  # fmt: skip
    return OpGraph(inputs=("x",), parameters=(), nodes=tuple(made), outputs=(made[-1].name,) if made else ())


@pytest.mark.parametrize(
    ("nodes", "longest"),
    [
        ([], 1),
        ([("abs.default", (8, 32), ["x"])], 1),
        ([("sum.dim_IntList", (8,), ["x"])], 32),
        ([("sum.default", (), ["x"])], 256),
        ([("_softmax.default", (8, 32), ["x"])], 32),
        ([("native_layer_norm.default", (8, 32), ["x"])], 32),
        # A channel's mean is of the batch.
        ([("batch_norm.default", (8, 32), ["x"])], 8),
        # What is reduced and then spread again would be missed by comparing inputs with outputs alone.
        ([("mean.default", (), ["x"]), ("sub.Tensor", (8, 32), ["x", "n0"])], 256),
        ([("full.default", (8, 32), [])], 1),
    ],
)
def test_the_longest_reduction_is_found_in_the_graph(nodes, longest):
    assert longest_reduction(graph(*nodes), [tensor("x", 8, 32)]) == longest


@pytest.mark.parametrize(
    ("nodes", "added"),
    [
        ([("_softmax.default", (8, 32), ["x"]), ("relu.default", (8, 32), ["n0"])], True),
        ([("exp.default", (8, 32), ["x"]), ("sum.dim_IntList", (8,), ["n0"])], True),
        ([("expand.default", (8, 32), ["x"]), ("sum.dim_IntList", (8,), ["n0"])], False),
        ([("mul.Tensor", (8, 32), ["x"]), ("sum.dim_IntList", (8,), ["n0"])], False),
    ],
)
def test_sums_of_exponentials_are_told_from_others(nodes, added):
    assert adds_exponentials(graph(*nodes), 0) is added
    assert adds_exponentials(graph(*nodes), 1) is False, "which is a buffer's new value"


# --- verdicts with their evidence ----------------------------------------------------------------------------------


def test_the_truth_is_right():
    value = f64(1.0, -2.0, 3.0)
    assert judge(value.float(), expect(value)) == (0.0, None)


def test_a_wrong_element_is_named_with_its_numbers():
    value = torch.ones(2, 3, dtype=torch.float64)
    got = value.float()
    got[1, 0], got[1, 2] = 1.5, 1.001
    error, wrong = judge(got, expect(value))
    assert wrong.because == "value"
    assert error == wrong.error == pytest.approx(0.25)
    for part in ("2 of 6 elements", "[1, 0]", "expected 1", "got 1.5", "allowed 1e-06"):
        assert part in wrong.evidence


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_what_is_not_finite_is_wrong(value, dtype):
    got = torch.ones(5, dtype=dtype)
    got[3] = value
    error, wrong = judge(got, expect(torch.ones(5, dtype=torch.float64), allowed=1.0))
    assert error == float("inf")
    assert wrong.because == "nonfinite"
    assert "1 of 5" in wrong.evidence
    assert "first at [3]" in wrong.evidence


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (6,), (2, 3)])
def test_poison_is_told_from_a_computed_nan(dtype, shape):
    got = (
        torch.full((*shape, torch.empty((), dtype=dtype).element_size()), 0xFF, dtype=torch.uint8)
        .view(dtype)
        .view(shape)
    )
    wanted = expect(torch.ones(shape, dtype=torch.float64))
    _, wrong = judge(got, wanted)
    assert wrong.because == "unwritten"
    assert f"{got.numel()} of {got.numel()} elements were never written" in wrong.evidence
    _, wrong = judge(torch.full(shape, float("nan"), dtype=dtype), wanted)
    assert wrong.because == "nonfinite"


def test_a_few_unwritten_elements_are_counted():
    got = torch.ones(7)
    got.view(torch.int32)[[2, 5]] = -1
    _, wrong = judge(got, expect(torch.ones(7, dtype=torch.float64)))
    assert "2 of 7 elements were never written" in wrong.evidence


def test_an_empty_result_is_right():
    assert judge(torch.empty(0, 3), expect(torch.empty(0, 3))) == (0.0, None)


# --- integers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool])
def test_integers_are_right_or_wrong(dtype):
    value = torch.tensor([0, 1, 1, 0, 1]).to(dtype)
    assert judge(value.clone(), expect(value, 0.0))[1] is None
    wrong = judge(value.logical_not().to(dtype), expect(value, 0.0))[1]
    assert wrong.because == "value"
    assert "5 of 5" in wrong.evidence


@pytest.mark.parametrize("large", [1 << 53, 1 << 60, -(1 << 62)])
def test_large_integers_that_share_a_double_differ(large):
    value = torch.tensor([large, 5])
    assert judge(value.clone(), expect(value, 0.0)) == (0.0, None)
    error, wrong = judge(value + torch.tensor([1, 0]), expect(value, 0.0))
    assert error > 0
    assert wrong.because == "value"


# --- zeros --------------------------------------------------------------------------------------------------------


def test_a_tensor_of_zeros_mostly_is_held_to_what_it_holds():
    torch.manual_seed(0)
    value = torch.randn(4096, dtype=torch.float64).clamp(min=2.5)
    value[value == 2.5] = 0.0
    rms = float(value.square().mean().sqrt())
    allowed = floor(spec(), 1)
    zeros = (value == 0).nonzero().flatten()

    def at_a_zero(size):
        got = value.float()
        got[zeros[7]] = size
        return judge(got, expect(value, allowed))[1]

    assert at_a_zero(1e-12 * rms) is None
    assert at_a_zero(1e-3 * rms).because == "value"


def test_nothing_but_zeros_is_held_to_zero():
    value = torch.zeros(16, dtype=torch.float64)
    assert judge(torch.zeros(16), expect(value, 1e-6))[1] is None
    assert judge(torch.full((16,), 1e-20), expect(value, 1e-6))[1] is not None


# --- what must pass, and what must not ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_a_two_stage_sum_passes_where_the_reference_was_luckily_exact(seed):
    count = 1 << 18
    x = torch.rand(count, generator=torch.Generator().manual_seed(seed))
    expected = expect(x.double().sum(), floor(spec(), count))
    two_stages = x.view(512, -1).sum(1).sum()
    # One running sum for each of 64 lanes, as a kernel would hold them.
    lanes = x.view(-1, 64).cumsum(0)[-1].sum()
    assert judge(two_stages, expected)[1] is None
    assert judge(lanes, expected)[1] is None


def test_a_sum_that_leaves_out_one_element_fails():
    x = torch.rand(1 << 16, generator=torch.Generator().manual_seed(1)) + 0.5
    expected = expect(x.double().sum(), floor(spec(), x.numel()))
    assert judge(x[:-1].sum(), expected)[1].because == "value"


@pytest.mark.parametrize("seed", range(4))
def test_an_error_like_that_of_tf32_fails(seed):
    generator = torch.Generator().manual_seed(seed)
    a, b = (torch.randn(96, 96, generator=generator) for _ in range(2))
    value, shown = a.double() @ b.double(), a @ b
    scale = scale_of(value)
    allowed = K * float(error_of(shown, value, scale).max()) + floor(spec(), 96)
    assert judge(shown, expect(value, allowed))[1] is None
    assert judge(tf32(a) @ tf32(b), expect(value, allowed))[1].because == "value"


def tf32(x):
    """The ten bits of mantissa that a tensor core reads."""
    return (x.view(torch.int32) + 0x1000 & ~0x1FFF).view(torch.float32)


def test_half_precision_inside_fails():
    x = torch.randn(4096, generator=torch.Generator().manual_seed(0))
    value = x.double().tanh()
    allowed = K * float(error_of(x.tanh(), value, scale_of(value)).max()) + floor(spec(), 1)
    assert judge(x.bfloat16().tanh().float(), expect(value, allowed))[1].because == "value"
    assert judge(x.half().tanh().float(), expect(value, allowed))[1].because == "value"


# --- properties ---------------------------------------------------------------------------------------------------


@SOME
@given(LISTS)
def test_rounding_to_the_task_s_own_dtype_passes(values):
    value = f64(*values)
    assert judge(value.float(), expect(value, floor(spec(), 1)))[1] is None


@SOME
@given(LISTS, st.integers(0, 19), st.floats(1e-5, 10.0))
def test_any_element_that_is_off_by_more_than_allowed_is_found(values, where, size):
    value = f64(*values)
    scale = scale_of(value)
    index = where % len(values)
    got = value.clone()
    got[index] += size * (abs(values[index]) + scale)
    error, wrong = judge(got, expect(value, 1e-6))
    assert wrong is not None
    assert f"at [{index}]:" in wrong.evidence
    assert error == pytest.approx(size, rel=1e-6)


@SOME
@given(LISTS, st.floats(0, 1), st.floats(0, 1))
def test_what_passes_passes_with_more_allowed(values, error, more):
    value = f64(*values)
    got = value * (1 + error)
    if judge(got, expect(value, error))[1] is None:
        assert judge(got, expect(value, error + more))[1] is None


@SOME
@given(LISTS, st.sampled_from([0.5, 4.0, 4096.0]))
def test_the_error_is_relative(values, factor):
    value = f64(*values)
    if scale_of(value) <= 1e-20:
        return
    got = value * 1.001 + scale_of(value) * 1e-3
    before = judge(got, expect(value, 1.0))[0]
    assert judge(got * factor, expect(value * factor, 1.0))[0] == pytest.approx(before, rel=1e-9)
