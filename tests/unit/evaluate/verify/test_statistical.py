"""Random outputs: another generator passes, a constant, a biased or a lazy one does not, at a stated rate."""

import random

import pytest
import torch

from kernelwright.evaluate.verify import places
from kernelwright.evaluate.verify.statistical import HELD, Draws, Sampled, compare_draws

pytestmark = pytest.mark.usefixtures("seeded")

SHAPE = (64, 64)
DRAWS = 16


def x():
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(1))


def dropout(keep=0.75, scale=None, values=None, mask=None):
    values = x() if values is None else values
    kept = torch.rand(SHAPE) < keep if mask is None else mask
    return torch.where(kept, values * (1 / 0.75 if scale is None else scale), 0.0)


def sample(draw, count=DRAWS, tolerance=1e-4):
    drawn = torch.stack([draw().flatten().double() for _ in range(count + HELD)])
    looked_at = places.sample(SHAPE if drawn.shape[1] == 64 * 64 else (drawn.shape[1],), random.Random(5))
    return Draws(looked_at, drawn[:count], drawn[count:], SHAPE[-1], tolerance)


def judged(reference, candidate, false_alarm=1e-4):
    expected = Sampled(reference(), sample(reference), false_alarm, DRAWS)
    return expected.judge([candidate() for _ in range(DRAWS)])


LARGE = (4, 6, 40, 500)
"""More elements than are looked at."""


def dropped(mask):
    values = torch.randn(LARGE, generator=torch.Generator().manual_seed(1))
    return torch.where(mask.expand(LARGE) < 0.75, values, 0.0)


def half_of_it():
    return torch.cat([dropout()[:32], x()[32:]])


def row_masks():
    return dropout(mask=torch.rand(SHAPE[1]) < 0.75)


def test_another_stream_of_the_same_distribution_passes():
    error, wrong = judged(dropout, lambda: dropout(scale=1.0 / 0.75 + 1e-7))
    assert wrong is None
    assert error <= 1


def test_rounding_that_is_the_same_in_every_draw_does_not_tell_the_sides_apart():
    assert judged(dropout, lambda: torch.where(torch.rand(SHAPE) < 0.75, x() / 0.75, 0.0))[1] is None


def with_tails(tail):
    """A dropout of which two elements of five are next to nothing: `tail` of them is what rounding leaves."""
    values = x()
    return dropout(values=torch.where(values < -0.25, tail(values), values + 1.0))


def test_what_is_nothing_but_for_rounding_does_not_tell_the_sides_apart():
    """A GELU far below zero: nothing, or a number by which nothing is told."""
    assert judged(lambda: with_tails(torch.zeros_like), lambda: with_tails(lambda v: 1e-7 * v))[1] is None
    assert judged(lambda: with_tails(torch.zeros_like), lambda: with_tails(lambda v: 1e-2 * v))[1] is not None


@pytest.mark.parametrize(
    "candidate",
    [
        lambda: dropout(keep=0.72),
        lambda: dropout(scale=1.0),
        lambda: x(),
        lambda: torch.zeros(SHAPE),
        half_of_it,
        row_masks,
        lambda: dropout(values=x().flip(0)),
    ],
    ids=["biased", "not scaled", "nothing dropped", "zeros", "half of it", "one mask for all rows", "of another input"],
)
def test_what_samples_something_else_is_refused(candidate):
    error, wrong = judged(dropout, candidate)
    assert error > 1
    assert wrong.because == "value"


def judged_in_places(candidate):
    """The candidate's dropout of a large result against an honest one."""
    looked_at = places.sample(LARGE, random.Random(5))
    drawn = torch.stack([looked_at.of(dropped(torch.rand(LARGE))).double() for _ in range(DRAWS + HELD)])
    draws = Draws(looked_at, drawn[:DRAWS], drawn[DRAWS:], LARGE[-1])
    return Sampled(dropped(torch.rand(LARGE)), draws, 1e-4, DRAWS).judge([candidate() for _ in range(DRAWS)])[1]


def test_an_honest_large_draw_passes():
    assert judged_in_places(lambda: dropped(torch.rand(LARGE))) is None


@pytest.mark.parametrize(
    "mask",
    [
        lambda: torch.rand(500),
        lambda: torch.rand(5, 500).repeat(8, 1),
        lambda: torch.rand(6, 40, 500),
        lambda: torch.rand(4, 1, 40, 500),
        lambda: torch.rand(4, 6, 40, 1),
        lambda: torch.rand(77_777).repeat(7)[: 4 * 6 * 40 * 500].view(LARGE),
        lambda: torch.where(torch.rand(LARGE) < 0.3, torch.rand(500).expand(LARGE), torch.rand(LARGE)),
    ],
    ids=[
        "rows",
        "every fifth row",
        "images",
        "channels",
        "columns",
        "no multiple of a row",
        "a third of it in all rows",
    ],
)
def test_one_mask_for_many_places_is_refused(mask):
    assert judged_in_places(lambda: dropped(mask())) is not None


def test_the_same_draw_every_time_is_refused():
    once = dropout()
    _, wrong = judged(dropout, lambda: once)
    assert "all the same" in wrong.evidence


def test_few_draws_in_turn_are_refused():
    known = [dropout() for _ in range(3)]
    turn = iter(range(100))
    assert judged(dropout, lambda: known[next(turn) % 3])[1] is not None


def test_what_is_not_finite_or_not_written_is_called_that():
    assert judged(dropout, lambda: x() / 0)[1].because == "nonfinite"


def test_noise_of_another_shape_or_width():
    def normal():
        return x() + torch.randn(SHAPE)

    assert judged(normal, lambda: torch.normal(x(), 1.0))[1] is None
    assert judged(normal, lambda: x() + (torch.rand(SHAPE) - 0.5) * 12**0.5)[1] is not None
    assert judged(normal, lambda: x() + 1.1 * torch.randn(SHAPE))[1] is not None


def test_sampled_classes():
    logits = x()[:, :8]

    def drawn():
        return torch.distributions.Categorical(logits=logits).sample()

    assert judged(drawn, lambda: torch.multinomial(torch.softmax(logits, -1), 1).flatten())[1] is None
    assert judged(drawn, lambda: logits.argmax(-1))[1] is not None
    assert judged(drawn, lambda: torch.randint(8, (64,)))[1] is not None


def test_the_rate_of_false_alarms_is_the_stated_one():
    small = torch.randn(16, 8)

    def drawn():
        return torch.nn.functional.dropout(small, 0.3)

    alarms = 0
    for _ in range(60):
        found = compare_draws(torch.stack([drawn().flatten().double() for _ in range(DRAWS)]), sample(drawn), 0.1)
        alarms += found.statistic > found.critical
    assert alarms <= 16, "six are expected; more than sixteen come up once in ten thousand times"
