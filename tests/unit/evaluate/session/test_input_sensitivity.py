"""What terms that cancel may lose is no error; what is left out is one."""

from dataclasses import dataclass, field

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference import rounding
from kernelwright.evaluate.sandbox.messages.calls import CUT, ROUNDED
from kernelwright.evaluate.session import input_sensitivity as moves
from kernelwright.evaluate.session.input_sensitivity import Elements
from kernelwright.records.tensor import TensorSpec

ELEMENTS = 4096


@dataclass
class Differences:
    """A session whose reference subtracts two inputs that are nearly equal."""

    windows: list[torch.Tensor]
    terms: int = 2
    tensors: tuple[TensorSpec, ...] = field(
        default_factory=lambda: tuple(TensorSpec(name=n, shape=(ELEMENTS,), dtype="float32") for n in "ab")
    )

    def view(self, index, offset):
        return self.windows[index]

    def reduction(self, output):
        return self.terms

    def results(self, variant, offsets):
        return [self.windows[0].double() - self.windows[1].double()]

    def forget_parameters(self):
        """Nothing to forget."""

    def settle(self):
        """Nothing to wait for."""


def differences():
    a = torch.rand(ELEMENTS, generator=torch.Generator().manual_seed(0)) + 1
    return Differences([a, a - 1e-4])


def test_the_rounding_of_terms_that_cancel_is_made_true():
    session = differences()
    (truth,) = session.results("fp64", (0, 0))
    rounded = (truth + 1e-7 * torch.randn(ELEMENTS, generator=torch.Generator().manual_seed(1)).clamp(-1, 1)).float()
    assert (rounded - truth).abs().max() > 5e-4 * truth.abs().max(), "far more than a few ulps of the result"
    mended = moves.beyond(session, Elements(0, (0, 0)), rounded, truth)
    assert (mended == truth).float().mean() > 0.99


def test_what_is_left_out_or_broken_stays_as_it_is():
    session = differences()
    before = [window.clone() for window in session.windows]
    (truth,) = session.results("fp64", (0, 0))
    wrong = truth.clone()
    wrong[:100], wrong[100] = 0.0, torch.nan
    left = moves.beyond(session, Elements(0, (0, 0)), wrong, truth)
    assert (left[:100] == 0).all()
    assert left[100].isnan()
    assert all(torch.equal(now, then) for now, then in zip(session.windows, before, strict=True)), "inputs are restored"


def test_a_result_in_double_precision_has_no_room_of_single_precision():
    session = differences()
    (truth,) = session.results("fp64", (0, 0))
    single = (session.windows[0].double() + 1e-8) - session.windows[1].double()
    assert (moves.beyond(session, Elements(0, (0, 0)), single, truth) == single).all()
    assert (moves.beyond(session, Elements(0, (0, 0)), single.float(), truth) == truth).float().mean() > 0.9


@pytest.mark.parametrize("length", [512, 2048])
def test_a_sum_in_turn_may_lose_as_much_as_its_accumulator_rounds(length):
    torch.manual_seed(0)
    refused = 0
    for _ in range(50):
        terms = torch.randn(64, length)
        session = Sums([terms], length)
        (truth,) = session.results("fp64", (0,))
        in_turn = _in_turn(terms)
        refused += not torch.equal(moves.beyond(session, Elements(0, (0,)), in_turn, truth), truth)
    assert refused == 0
    without_one = in_turn - terms.abs().max()
    assert torch.equal(moves.beyond(session, Elements(0, (0,)), without_one, truth), without_one.double())


def test_a_part_of_a_result_is_held_against_the_same_part_of_the_truth():
    session = differences()
    (truth,) = session.results("fp64", (0, 0))
    rounded = (truth + 1e-7 * torch.randn(ELEMENTS, generator=torch.Generator().manual_seed(1)).clamp(-1, 1)).float()
    mended = moves.beyond(session, Elements(0, (0, 0), lambda values: values[7:99]), rounded[7:99], truth[7:99])
    assert (mended == truth[7:99]).float().mean() > 0.9


@pytest.mark.parametrize(
    ("error", "count", "explained"),
    [(2.0, 1 << 20, True), (9.0, 1 << 20, False), (9.0, 8, True), (2.0, 1 << 24, False)],
)
def test_one_of_many_elements_may_be_hardly_more_off_than_is_allowed(error, count, explained):
    assert moves.explains(error, 1.0, count) == explained


@pytest.mark.parametrize(
    ("error", "count", "explained"), [(2.0, 1 << 24, True), (9.0, 1 << 24, False), (2.0, 1 << 28, False)]
)
def test_where_eager_may_round_to_tf32_so_may_one_of_any_that_can_be_asked_of(error, count, explained):
    assert moves.explains(error, 1.0, count, tf32=True) == explained


def test_two_products_that_cancel_have_room_in_every_case():
    torch.manual_seed(0)
    refused = 0
    for _ in range(300):
        a, b = torch.randn(3), torch.randn(3)
        a[0] *= 1000
        a[1] = (1.0 - a[0] * b[0]) / b[1]  # all but one of what the first product gives
        session = Products([a, b])
        (truth,) = session.results("fp64", (0, 0))
        refused += not torch.equal(moves.beyond(session, Elements(0, (0, 0)), (a * b).sum()[None], truth), truth)
    assert refused == 0


def test_products_that_cancel_may_lose_what_tf32_rounds_where_eager_uses_it_and_no_more():
    torch.manual_seed(0)
    a, b = torch.randn(ELEMENTS), torch.randn(ELEMENTS)
    session = Pairs([a, b])
    (truth,) = session.results("fp64", (0, 0))
    (tf32,), (half,) = (Pairs([_rounded(a, bits), _rounded(b, bits)]).results("fp64", (0, 0)) for bits in (13, 16))
    assert (moves.beyond(session, Elements(0, (0, 0)), tf32.float(), truth) == truth).float().mean() < 0.1
    assert (moves.beyond(session, Elements(0, (0, 0)), tf32.float(), truth, tf32=True) == truth).float().mean() > 0.999
    left = (moves.beyond(session, Elements(0, (0, 0)), half.float(), truth, tf32=True) == truth).float().mean()
    assert left < 0.8, "three bits less are more than chance makes of every element"


def test_a_result_that_rounding_makes_infinite_gives_no_room():
    session = Pairs([torch.ones(4), torch.ones(4)])
    session.results = lambda variant, offsets: [torch.full((4,), float("inf") if variant != "fp64" else 1.0).double()]
    got, truth = torch.tensor([1.0, 2.0, 3.0, float("nan")]), torch.ones(4)
    rest = moves.beyond(session, Elements(0, (0, 0)), got, truth, tf32=True)
    assert rest[:3].tolist() == got[:3].tolist() and rest[3].isnan()


def _rounded(values, bits):
    """To nearest, without so many of the last bits of the significand."""
    whole = values.view(torch.int32) + (1 << (bits - 1))
    return (whole & ~((1 << bits) - 1)).view(torch.float32)


def _in_turn(terms):
    """64 accumulators, each of which takes its terms one after the other; then their sum."""
    total = torch.zeros(len(terms))
    for column in terms.unbind(1):
        total = total + column
    return total.double().sum().float()[None]


class Products(Differences):
    """A session whose reference adds up the products of its two inputs."""

    def results(self, variant, offsets):
        return [(self.windows[0].double() * self.windows[1].double()).sum()[None]]


class Pairs(Differences):
    """A session whose reference adds up pairs of products, half of which all but cancel."""

    def results(self, variant, offsets):
        a, b = (window.double()[:, None, None] for window in self.windows)
        with rounding.Rounded(rounding.Products(False, matrices=variant in (ROUNDED, CUT)), cut=variant == CUT):
            products = (a @ b).flatten()
        return [products - products.flip(0)]


class Sums(Differences):
    """A session whose reference adds up all elements of its one input."""

    def __init__(self, windows, terms):
        super().__init__(windows, terms, (TensorSpec(name="a", shape=tuple(windows[0].shape), dtype="float32"),))

    def results(self, variant, offsets):
        return [self.windows[0].double().sum()[None]]
