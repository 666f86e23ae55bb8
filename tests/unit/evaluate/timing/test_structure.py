"""What draws have in common, and that fresh contents keep it."""

import pytest
import torch
from peak import LargestMade

from kernelwright.evaluate import pieces
from kernelwright.evaluate.timing import structure
from kernelwright.evaluate.timing.input_synthesis import FreshInputs, Stock
from kernelwright.evaluate.timing.structure import learnt
from kernelwright.records.tensor import Domain, TensorSpec

MANY = 8192


def spec(draw, domain=Domain.REAL, bound=None):
    return TensorSpec(
        name="x", shape=tuple(draw.shape), dtype=str(draw.dtype).removeprefix("torch."), domain=domain, bound=bound
    )


def one_hot():
    mask = torch.zeros(256, 64, dtype=torch.bool)
    mask[torch.arange(256), torch.randint(64, (256,))] = True
    return mask


def offsets():
    return torch.cat([torch.zeros(1), torch.rand(MANY - 2).sort().values * 9000, torch.tensor([9000.0])]).long()


def lengths():
    cuts = torch.randint(1, 10**6, (MANY,)).sort().values
    return torch.diff(cuts, prepend=torch.zeros(1, dtype=torch.long), append=torch.tensor([10**6]))


KINDS = {
    "permutation": (lambda: torch.randperm(MANY), Domain.INDEX, "drawn"),
    "sorted edges": (lambda: torch.randint(999, (MANY,)).sort().values, Domain.INDEX, "drawn"),
    "offsets": (offsets, Domain.INDEX, "drawn"),
    "repeat counts": (lengths, Domain.INDEX, "drawn"),
    "one true a row": (one_hot, Domain.MASK, "drawn"),
    "few indices": (lambda: torch.randint(99, (64,)), Domain.INDEX, "drawn"),
    "many indices": (lambda: torch.randint(99, (MANY,)), Domain.INDEX, "mixed"),
    "coins": (lambda: torch.rand(64, 256) < 0.5, Domain.MASK, "mixed"),
    "positions": (lambda: torch.arange(MANY), Domain.INDEX, "kept"),
    "causal": (lambda: torch.ones(64, 64).tril().bool(), Domain.MASK, "kept"),
    "additive mask": (lambda: torch.zeros(8, 8).masked_fill(torch.ones(8, 8).triu(1).bool(), -torch.inf), Domain.REAL,
                      "kept"),
    "triangular": (lambda: torch.randn(64, 64).tril(), Domain.REAL, "aligned"),
    "symmetric": (lambda: (lambda a: a + a.mT)(torch.randn(64, 64)), Domain.REAL, "drawn"),
    "ordered": (lambda: torch.randn(16, 64).sort().values, Domain.REAL, "drawn"),
    "unit rows": (lambda: torch.nn.functional.normalize(torch.randn(64, 64)), Domain.REAL, "drawn"),
    "a seed of its own": (lambda: torch.randn(64, generator=torch.Generator().manual_seed(3)), Domain.REAL, "varied"),
    "plain": (lambda: torch.randn(64, 64), Domain.REAL, "mixed"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_it_is_seen_in_the_draws(name):
    torch.manual_seed(1)
    draw, domain, how = KINDS[name]
    draws = torch.stack([draw() for _ in range(3)])
    assert learnt(draws, spec(draws[0], domain)).how == how


@pytest.mark.parametrize("draw", [lambda: torch.rand(999), lambda: torch.rand(999) * 2 - 1], ids=["unit", "both signs"])
def test_what_is_bounded_by_one_stays_so(draw):
    draws = torch.stack([draw() for _ in range(3)])
    kind = spec(draws[0], Domain.NON_NEGATIVE if draws.min() >= 0 else Domain.REAL)
    structure = learnt(draws, kind)
    assert structure.bounded
    place = torch.empty(999)
    fresh = FreshInputs([Stock(kind, draws, 0, (4,), structure=structure)], lambda index, offset: place)
    for _ in range(5):
        fresh.windows(1)
        assert float(place.abs().max()) <= 1


def triangular():
    return torch.stack([torch.randn(64, 64).tril() for _ in range(3)])


def test_zeros_stay_in_their_places():
    draws, place = triangular(), torch.empty(64, 64)
    stock = Stock(spec(place), draws, 0, (4,), structure=learnt(draws, spec(place)))
    for _ in range(5):
        FreshInputs([stock], lambda index, offset: place).windows(1)
        assert not bool(place.triu(1).any())
        assert float((place != 0).float().mean()) > 0.45


@pytest.mark.parametrize("bounded", [False, True])
def test_what_never_changes_is_no_multiple_of_what_was_there_before(bounded):
    draw = torch.rand(64, 32, generator=torch.Generator().manual_seed(3)) + (0.0 if bounded else 1.0)
    draws, places = draw.expand(3, -1, -1).contiguous(), [torch.empty(64, 32), torch.empty(64, 32)]
    kind = spec(draw, Domain.NON_NEGATIVE)
    for place in places:
        stock = Stock(kind, draws, 0, (4,), structure=learnt(draws, kind))
        FreshInputs([stock], lambda index, offset, place=place: place).windows(1)
    ratios = places[0] / places[1]
    assert float(ratios.std()) > 0.2
    assert not bounded or float(torch.stack(places).max()) <= 1


@pytest.mark.parametrize("name", ["sorted", "symmetric"])
def test_what_never_changes_keeps_what_it_has(name):
    draw = torch.rand(64, 64, generator=torch.Generator().manual_seed(3)) + 1.5
    draw = draw.sort(dim=-1).values if name == "sorted" else draw + draw.T
    draws, place = draw.expand(3, -1, -1).contiguous(), torch.empty(64, 64)
    stock = Stock(spec(draw), draws, 0, (4,), structure=learnt(draws, spec(draw)))
    FreshInputs([stock], lambda index, offset: place).windows(1)
    assert torch.equal(place, place.sort(dim=-1).values if name == "sorted" else place.T)
    assert not torch.equal(place, draw)


def test_the_task_draws_what_has_a_structure_and_nothing_else():
    draws = torch.stack([torch.randperm(MANY) for _ in range(3)])
    floats, places = torch.randn(3, 50), [torch.empty(MANY, dtype=torch.long), torch.empty(50)]

    def draw(offsets):
        places[0][:], places[1][:] = torch.randperm(MANY), 7.0

    stocks = [
        Stock(spec(d[0], k), d, 0, (8,), structure=learnt(d, spec(d[0], k)))
        for d, k in ((draws, Domain.INDEX), (floats, Domain.REAL))
    ]
    for challenge in (False, True):
        FreshInputs(stocks, lambda index, offset: places[index], draw).windows(1, challenge)
        assert sorted(places[0].tolist()) == list(range(MANY))
        assert not bool((places[1] == 7.0).any())


def test_tied_parameters_have_the_same_contents():
    given, places = torch.randn(1, 64), {1: torch.empty(64), 2: torch.empty(64)}
    kind = spec(given[0])
    stocks = [Stock(kind, given, 0, (1,), True), Stock(kind, given, 0, (2,), True, tied=0)]
    FreshInputs(stocks, lambda index, offset: places[offset]).windows(1)
    assert torch.equal(places[1], places[2])


@pytest.mark.parametrize("kind", ["drawn anew", "the same", "zeros in the same places"])
def test_nothing_as_large_as_a_draw_is_made_for_it(kind, monkeypatch):
    monkeypatch.setattr(structure, "LOOKED_AT", MANY)
    monkeypatch.setattr(pieces, "PIECE", MANY)
    draws = torch.randn(2, 64, MANY, generator=torch.Generator().manual_seed(0)) + 9
    if kind == "the same":
        draws[1] = draws[0]
    elif kind != "drawn anew":
        draws[:, :, ::2] = 0
    with LargestMade() as made:
        found = learnt(draws, spec(draws[0]))
    how = {"drawn anew": "mixed", "the same": "varied"}.get(kind, "aligned")
    assert (found.how, found.because) == (how, STRUCTURES.get(kind, ""))
    assert 0 < made.elements <= 2 * MANY


STRUCTURES = {"the same": "the same in every draw", "zeros in the same places": "zeros in the same places"}
