"""A kernel that rounds other factors to TF32 than eager does is right; one that rounds to less, or leaves work out, is not.

The network is what was refused on a GPU, made small: eager does not round the factors of its first convolution, of three
channels, and does those of its last; a candidate rounds both.
"""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import Conv2d
from torch.nn.functional import conv2d, silu

from kernelwright.evaluate.entrypoints.reference.rounding import Products, Rounded
from kernelwright.evaluate.sandbox.messages.calls import CUT, ROUNDED
from kernelwright.evaluate.session import input_sensitivity as moves
from kernelwright.evaluate.session.input_sensitivity import Elements, forgive_rounding
from kernelwright.evaluate.verify import compare, finer
from kernelwright.records.tensor import TensorSpec

SIDE, WIDTH, K = 64, 32, 4
SHAPE = (1, 4, SIDE, SIDE)
HERE = Elements(0, (0,) * 5)


@pytest.fixture(autouse=True)
def chance():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def whole(values):
    return values


def nearest(values, bits=13):
    raw = values.contiguous().view(torch.int32) + (1 << (bits - 1))
    return (raw & ~((1 << bits) - 1)).view(torch.float32)


def cut(values):
    return (values.contiguous().view(torch.int32) & ~((1 << 13) - 1)).view(torch.float32)


def bfloat16(values):
    return nearest(values, bits=16)


def net(tensors, first, last):
    """Two convolutions, whose factors are rounded so."""
    x, weight, bias, mix, shift = tensors
    between = silu(conv2d(first(x), first(weight), bias, padding=1))
    return conv2d(last(between), last(mix), shift)


@pytest.fixture(params=["a weight far above the others", "a channel that all but cancels"])
def case(request):
    one, two = Conv2d(3, WIDTH, 3, padding=1), Conv2d(WIDTH, 4, 1)
    weights = [p.detach() for p in (one.weight, one.bias, two.weight, two.bias)]
    if request.param == "a weight far above the others":
        weights[2].view(-1)[0] = -8.3
        return Case([torch.rand(1, 3, SIDE, SIDE), *weights], net_of=nearest)
    x = 0.01 * torch.rand(1, 3, SIDE, SIDE)
    channel = net([x, *weights], whole, whole)[0, 0, 8:-8, 8:-8]
    weights[3][0] -= channel.mean() - channel.std()
    return Case([x, *weights], net_of=cut)


class Case:
    """A session whose reference is that network, and what it expects."""

    def __init__(self, tensors, net_of):
        self.windows, self.honest, self.asked = tensors, net_of, []
        self.tensors = tuple(
            TensorSpec(name=str(i), shape=tuple(t.shape), dtype="float32") for i, t in enumerate(tensors)
        )
        self.task = SimpleNamespace(numerics=SimpleNamespace(tf32=True))
        (self.truth,), eager = self.results("fp64", ()), net(tensors, whole, nearest)
        lines, scale = finer.Lines(16, (SIDE, 4 * SIDE**2)), compare.scale_of(self.truth)
        spec = TensorSpec(name="out", shape=SHAPE, dtype="float32")
        floor, error = compare.floor(spec, WIDTH), compare.largest_error(eager, self.truth, scale)
        found = finer.allowed(spec, finer.figures(eager, self.truth, scale, lines), K, floor, finer.Sums(WIDTH))
        fine = finer.Finer(local=found.local, lost=found.lost)
        self.expected = compare.Expected(self.truth, scale, error, K * error + floor, finer=fine, lines=lines)

    def view(self, index, offset):
        return self.windows[index]

    def reduction(self, output):
        return WIDTH

    def results(self, variant, offsets):
        self.asked.append(variant)
        precise = [t.double() for t in self.windows]
        if variant not in (ROUNDED, CUT):
            return [net(precise, whole, whole)]
        with Rounded(Products(convolutions=True, matrices=False), cut=variant == CUT):
            return [net(precise, whole, whole)]

    def forget_parameters(self):
        """Nothing to forget."""

    def settle(self):
        """Nothing to wait for."""

    def judged(self, got):
        plainly = self.expected.judge([got])
        return plainly[1], forgive_rounding(self, self.expected, HERE, got, plainly)[1]


def test_factors_that_eager_rounds_otherwise_or_not_at_all_are_no_fault(case):
    plainly, beside = case.judged(net(case.windows, case.honest, case.honest))
    assert plainly is not None
    assert beside is None


def test_where_eager_does_not_use_tf32_that_is_one(case):
    case.task.numerics.tf32 = False
    plainly, beside = case.judged(net(case.windows, case.honest, case.honest))
    assert plainly is not None
    assert beside is not None
    assert ROUNDED not in case.asked


def test_a_result_that_is_right_plainly_asks_nothing(case):
    case.asked.clear()
    assert case.judged(net(case.windows, whole, whole)) == (None, None)
    assert not case.asked


def without_a_tap(windows):
    x, weight, *rest = windows
    weight = weight.clone()
    weight[:, 0, 0, 0] = 0
    return net([x, weight, *rest], nearest, nearest)


def without_a_channel(windows):
    *most, mix, shift = windows
    mix = mix.clone()
    mix[:, 7] = 0
    return net([*most, mix, shift], nearest, nearest)


def without_lines(windows):
    got = net(windows, nearest, nearest)
    rows = got.view(-1, finer.LINE)
    rows[torch.randperm(len(rows))[: len(rows) // 50]] = 0
    return got


@pytest.mark.parametrize(
    "wrong",
    [
        lambda w: net(w, bfloat16, bfloat16),
        lambda w: net(w, nearest, bfloat16),
        without_a_tap,
        without_a_channel,
        without_lines,
    ],
    ids=["bfloat16", "bfloat16 in one of two", "a tap", "a channel", "a fiftieth of its lines"],
)
def test_less_precision_and_work_that_is_left_out_stay_refused(case, wrong):
    got = wrong(case.windows)
    plainly, beside = case.judged(got)
    assert plainly is not None
    assert beside is not None
    # However large the error is that the reference is asked of.
    rest = moves.beyond(case, HERE, got, case.truth, tf32=True)
    assert case.expected.judge([rest.to(got)])[1] is not None


def test_an_error_far_beyond_what_is_allowed_is_not_asked_of(case):
    case.asked.clear()
    assert case.judged(net(case.windows, nearest, nearest) + 1)[1] is not None
    assert not case.asked


def test_of_positive_terms_what_cutting_off_loses_is_room_in_its_own_direction_alone():
    windows = [torch.rand(1, 3, SIDE, SIDE), torch.rand(WIDTH, 3, 3, 3) / 5, torch.rand(WIDTH)]
    case = Case([*windows, torch.rand(4, WIDTH, 1, 1) / 12, torch.rand(4)], net_of=cut)
    for honest in (nearest, cut):
        assert case.judged(net(case.windows, honest, honest))[1] is None
    assert case.judged(net(case.windows, bfloat16, bfloat16))[1] is not None
    larger = 2 * case.truth - net(case.windows, cut, cut)
    assert case.judged(larger.float())[1] is not None
