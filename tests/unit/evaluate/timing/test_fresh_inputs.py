"""Fresh inputs: bred anew in spare places, within their domains, of what was drawn, which nobody writes to."""

from dataclasses import replace

import pytest
import torch

from kernelwright.evaluate.timing import input_synthesis
from kernelwright.evaluate.timing.input_synthesis import FreshInputs, Stock
from kernelwright.evaluate.timing.structure import learnt
from kernelwright.records.tensor import ITEM_BYTES, Domain, TensorSpec

SPARE = 7
MANY, ONE = 5, 1
"""How many draws there are: two windows of one and the same draw are two parents too."""


def spec(shape, dtype="float32", domain=Domain.REAL, bound=None):
    return TensorSpec(name="x", shape=shape, dtype=dtype, domain=domain, bound=bound)


KINDS = {
    "real": spec((8, 32)),
    "half": spec((8, 32), "float16"),
    "positive": spec((8, 32), domain=Domain.NON_NEGATIVE),
    "probability": spec((8, 32), domain=Domain.PROBABILITY),
    "mask": spec((8, 32), "bool", Domain.MASK),
    "index": spec((256,), "int64", Domain.INDEX, 10),
    "label": spec((256,), domain=Domain.LABEL),
    "vector": spec((100,)),
    "scalar": spec(()),
    "empty": spec((0, 4)),
}


class Pool:
    """Draws of some tensors, spare places behind them, and the fresh inputs of both."""

    def __init__(self, *specs, kept, parameters=(), spare=SPARE):
        torch.manual_seed(0)
        self.specs, self.kept = (*specs, *parameters), kept
        self.tensors = [torch.cat([drawn(s, kept), filler(s, spare)]) for s in self.specs]
        self.before = [t.clone() for t in self.tensors]
        stocks = [self.stock(i, s, spare, i >= len(specs)) for i, s in enumerate(self.specs)]
        self.fresh = FreshInputs(stocks, self.view)

    def stock(self, index, kind, spare, parameter):
        places = tuple((self.kept + n) * kind.nbytes for n in range(spare))
        draws = self.tensors[index][: 1 if parameter else self.kept]
        return Stock(kind, draws, 0, places, parameter)

    def view(self, index, offset):
        kind = self.specs[index]
        start = offset // ITEM_BYTES[kind.dtype]
        assert offset == start * ITEM_BYTES[kind.dtype], "a window begins at an element"
        return self.tensors[index].view(-1)[start : start + kind.numel].view(kind.shape)

    def as_drawn(self):
        """Whether what was drawn is as it was."""
        kept = self.kept
        return all(torch.equal(a[:kept], b[:kept]) for a, b in zip(self.tensors, self.before, strict=True))


def filler(kind, draws):
    return torch.full((draws, *kind.shape), 3 if kind.dtype != "bool" else True).to(getattr(torch, kind.dtype))


def drawn(kind, draws):
    shape, dtype = (draws, *kind.shape), getattr(torch, kind.dtype)
    if kind.domain is Domain.MASK:
        return torch.rand(shape) > 0.5
    if kind.domain is Domain.INDEX:
        return torch.randint(kind.bound, shape).to(dtype)
    if kind.domain is Domain.LABEL:
        return torch.randint(3, shape).to(dtype)
    x = torch.randn(shape)
    if kind.domain is Domain.PROBABILITY:
        return x.softmax(-1).to(dtype)
    return (x.abs() if kind.domain is Domain.NON_NEGATIVE else x).to(dtype)


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(params=[MANY, ONE], ids=["many", "one"])
def kept(request):
    return request.param


def test_every_call_has_a_spare_place_of_its_own(kind, kept):
    pool = Pool(kind, kept=kept)
    for _ in range(10):
        offsets = [offset for (offset,) in pool.fresh.windows(5)]
        assert set(offsets) <= {(kept + n) * kind.nbytes for n in range(SPARE)}
        assert len(set(offsets)) == (5 if kind.numel else 1)


def test_what_was_drawn_is_left_alone(kind, kept):
    pool = Pool(kind, kept=kept)
    for _ in range(10):
        pool.fresh.windows(6)
        assert pool.as_drawn()


def test_contents_stay_in_their_domain(kind, kept):
    pool = Pool(kind, kept=kept)
    for _ in range(10):
        for (offset,) in pool.fresh.windows(4):
            x = pool.view(0, offset)
            assert bool(x.isfinite().all())
            if kind.domain in (Domain.NON_NEGATIVE, Domain.PROBABILITY):
                assert bool((x >= 0).all())
            if kind.domain is Domain.PROBABILITY:
                torch.testing.assert_close(x.sum(-1), torch.ones(8), rtol=0, atol=1e-5)
            if kind.domain is Domain.INDEX:
                assert bool(((x >= 0) & (x < kind.bound)).all())
            if kind.domain is Domain.LABEL:
                assert set(x.tolist()) <= {0.0, 1.0, 2.0}


def test_one_draw_of_one_class_stays_one_class():
    one_hot = spec((64, 16), domain=Domain.PROBABILITY)
    pool = Pool(one_hot, kept=MANY)
    pool.tensors[0][:MANY] = torch.eye(16)[torch.randint(16, (MANY, 64))]
    for (offset,) in pool.fresh.windows(5):
        torch.testing.assert_close(pool.view(0, offset).sum(-1), torch.ones(64))


@pytest.mark.parametrize("name", ["real", "half", "positive", "mask", "vector", "probability", "label"])
def test_nothing_that_was_drawn_comes_back(name, kept):
    kind = KINDS[name]
    pool = Pool(kind, kept=kept)
    for (offset,) in pool.fresh.windows(4):
        assert not any(torch.equal(pool.view(0, offset), draw) for draw in pool.before[0])


@pytest.mark.parametrize("name", ["real", "probability"])
def test_no_element_and_no_row_is_one_that_was_drawn(name, kept):
    kind = KINDS[name]
    pool = Pool(kind, kept=kept)
    drawn_values = set(pool.before[0][:kept].flatten().tolist())
    for (offset,) in pool.fresh.windows(4):
        known = sum(value in drawn_values for value in pool.view(0, offset).flatten().tolist())
        assert known < 8, "a factor is one only by chance"


def test_the_same_round_never_comes_again(kept):
    pool = Pool(KINDS["real"], kept=kept, spare=1)
    seen = []
    for _ in range(5):
        ((offset,),) = pool.fresh.windows(1)
        seen.append((offset, pool.view(0, offset).clone()))
    assert len({offset for offset, _ in seen}) == 1
    assert not any(torch.equal(a, b) for i, (_, a) in enumerate(seen) for _, b in seen[:i])


def test_elements_come_from_two_parents_in_about_equal_parts():
    kind = spec((1 << 16,))
    pool = Pool(kind, kept=2)
    pool.tensors[0][:1], pool.tensors[0][1:2] = 1.0, -1.0
    shares = []
    for _ in range(8):
        for (offset,) in pool.fresh.windows(4):
            shares.append(float((pool.view(0, offset) > 0).float().mean()))
    assert 0.3 < sum(shares) / len(shares) < 0.7, "two windows that begin anywhere: 0.5, and 0.036 for one sigma"
    assert any(0.3 < share < 0.7 for share in shares)


def test_some_elements_are_replaced_in_most_challenges_strongly_and_only_there(kept):
    """A kernel that samples its inputs for a fingerprint, or ignores small differences, must see it in the result.

    Timed inputs are of the task's own kind: what is right for all inputs may be fast for such as no task has.
    """
    pool = Pool(KINDS["real"], kept=kept)
    most = float(pool.before[0][:kept].abs().max()) * 1.5
    for challenge in (True, False):
        # Each look before the next round writes.
        found = [float(pool.view(0, o).abs().max()) for _ in range(40) for (o,) in pool.fresh.windows(4, challenge)]
        assert sum(value > most for value in found) > len(found) / 2 if challenge else max(found) <= most


@pytest.mark.parametrize("kind", ["real", "positive", "index", "mask", "probability"])
def test_both_ends_are_among_what_a_challenge_replaces(kind):
    pool, kind = Pool(KINDS[kind], kept=ONE), KINDS[kind]
    for _ in range(20):
        where = pool.fresh._where(kind).tolist()
        assert {0, kind.numel - 1} <= set(where)
        assert max(where) < kind.numel


@pytest.mark.parametrize("shape", [(1,), (1, 1), (5, 1), (1, 5)])
def test_small_tensors_have_ends_too(shape):
    for domain in (Domain.REAL, Domain.PROBABILITY):
        kind = spec(shape, domain=domain)
        assert set(Pool(kind, kept=ONE).fresh._where(kind).tolist()) <= set(range(kind.numel))


@pytest.mark.parametrize("domain", [Domain.REAL, Domain.NON_NEGATIVE])
def test_a_challenge_has_one_value_below_zero_where_none_was_drawn(domain):
    pool = Pool(spec((8, 32), domain=domain), kept=MANY)
    pool.tensors[0].abs_()
    for (offset,) in pool.fresh.windows(4, challenge=True):
        assert int((pool.view(0, offset) < 0).sum()) == (domain is Domain.REAL)


def test_values_whose_difference_is_no_number_are_chosen_and_not_mixed():
    pool = Pool(KINDS["real"], kept=MANY)
    pool.tensors[0][:MANY, :, ::2] = -torch.inf
    for (offset,) in pool.fresh.windows(4):
        x = pool.view(0, offset)
        assert not bool(x.isnan().any())
        assert bool((x == -torch.inf).any())


def test_a_tensor_larger_than_the_pool_of_coins_meets_them_more_than_once(monkeypatch):
    monkeypatch.setattr(input_synthesis, "COINS", 16 * 7)
    pool = Pool(KINDS["real"], KINDS["index"], KINDS["probability"], kept=ONE)
    for offsets in pool.fresh.windows(4):
        for index, offset in enumerate(offsets):
            assert not torch.equal(pool.view(index, offset), filler(pool.specs[index], 1)[0])
    assert pool.as_drawn()


def test_nobody_who_knows_torch_s_seed_knows_the_inputs(kept):
    found = []
    for _ in range(2):
        pool = Pool(KINDS["real"], kept=kept)
        torch.manual_seed(5)
        ((offset,),) = pool.fresh.windows(1)
        found.append(pool.view(0, offset).clone())
    assert not torch.equal(*found)


def test_tensors_have_their_places_independently():
    pool = Pool(KINDS["real"], KINDS["real"], kept=MANY)
    pairs = [offsets for _ in range(8) for offsets in pool.fresh.windows(4)]
    assert len({a - b for a, b in pairs}) > 4


# --- parameters -----------------------------------------------------------------------------------------------------


def parameters(*kinds):
    return Pool(KINDS["vector"], kept=ONE, parameters=kinds)


def test_every_call_has_parameters_of_its_own():
    pool = parameters(KINDS["real"])
    calls = pool.fresh.windows(4)
    found = [pool.view(1, weight) for _, weight in calls]
    assert len({weight for _, weight in calls}) == 4
    given = pool.before[1][0]
    for values in found:
        factors = values / given
        assert bool(((factors > 0.49) & (factors < 1.51)).all())
        assert len(factors.unique()) > 200, "a factor for each element"
    assert not any(torch.equal(a, b) for i, a in enumerate(found) for b in found[:i])
    assert pool.as_drawn()


def test_what_is_not_finite_in_a_parameter_stays_as_it_is():
    pool = parameters(KINDS["real"])
    pool.tensors[1][0, 0] = -torch.inf
    ((_, offset),) = pool.fresh.windows(1)
    assert bool((pool.view(1, offset)[0] == -torch.inf).all())


@pytest.mark.parametrize("name", ["mask", "index", "label", "empty"])
def test_a_parameter_that_no_factor_leaves_in_its_domain_stays(name):
    pool = parameters(KINDS[name])
    calls = pool.fresh.windows(4)
    assert name == "empty" or {offset for _, offset in calls} == {0}
    assert torch.equal(pool.tensors[1], pool.before[1])


def test_rows_of_a_probability_sum_to_one_as_parameters_too():
    pool = parameters(KINDS["probability"])
    for _, offset in pool.fresh.windows(4):
        torch.testing.assert_close(pool.view(1, offset).sum(-1), torch.ones(8))


def test_parameters_may_be_told_to_stay():
    pool = parameters(KINDS["real"])
    pool.fresh.parameters_stay = True
    assert {offset for _, offset in pool.fresh.windows(4)} == {0}


def test_switched_off_every_call_gets_the_first_draw(kept):
    pool = Pool(KINDS["real"], KINDS["index"], kept=kept, parameters=(KINDS["real"],))
    pool.fresh.enabled = False
    assert pool.fresh.windows(3) == [(0, 0, 0)] * 3
    assert all(torch.equal(a, b) for a, b in zip(pool.tensors, pool.before, strict=True))


def test_without_fresh_inputs_nothing_is_written_where_the_cases_lie():
    pool = Pool(spec((8, 32)), kept=3)
    pool.fresh.enabled = False
    pool.fresh.refill(pool.fresh.windows(2))
    assert pool.as_drawn()


def test_parameters_are_there_before_inputs_are():
    kind, places = spec((64,)), [torch.zeros(64), torch.zeros(64)]
    stocks = [Stock(kind, torch.randn(3, 64), 0, (4,)), Stock(kind, torch.randn(1, 64), 0, (4,), parameter=True)]
    seen = []
    fresh = FreshInputs(stocks, lambda index, offset: places[index])
    fresh.windows(1, taken=lambda calls: seen.append((calls, *(bool(place.any()) for place in places))))
    assert seen == [([(4, 4)], False, True)]
    assert bool(places[0].any())


def test_calls_have_every_scale_that_is_checked_by_lot():
    pool = Pool(KINDS["real"], kept=MANY)
    pool.fresh.scales = (3.0, 0.01)
    most = float(pool.before[0][:MANY].abs().max())
    found = [float(pool.view(0, o).abs().max()) for _ in range(120) for (o,) in pool.fresh.windows(4)]
    shares = [
        sum(low < value <= high for value in found) / len(found)
        for low, high in ((0, 0.02 * most), (2 * most, 5 * most))
    ]
    assert all(0.08 < share < 0.5 for share in shares)


@pytest.mark.parametrize("name", ["real", "positive", "half"])
def test_nothing_marks_a_challenge(name):
    """Neither both ends nor what is large: some replace only inner elements, and some only by natural ones."""
    pool = Pool(KINDS[name], kept=MANY)
    pool.before[0][:] = pool.tensors[0][:] = 1.0
    inner = natural = 0
    for _ in range(60):
        ((offset,),) = pool.fresh.windows(1, challenge=True)
        child = pool.view(0, offset).float().flatten()
        off = (child - child.median()).abs() > 1e-2
        assert bool(off.any())
        inner += not bool(off[0] and off[-1])
        natural += float(child.abs().max()) < 4
    assert 10 < inner < 55
    assert 4 < natural < 40


def test_what_is_zero_in_all_draws_does_not_stay_so_in_a_challenge():
    pool = Pool(KINDS["real"], kept=MANY)
    for tensor in (pool.before[0], pool.tensors[0]):
        tensor[:, 4:] = 0
    stock = pool.stock(0, KINDS["real"], SPARE, False)
    fresh = FreshInputs([replace(stock, structure=learnt(stock.drawn, stock.spec))], pool.view)
    for challenge in (False, True):
        ((offset,),) = fresh.windows(1, challenge)
        assert bool(pool.view(0, offset)[4:].any()) == challenge


def test_some_challenges_are_cases_from_what_inputs_mean():
    pool = Pool(KINDS["real"], kept=MANY)
    pool.fresh.meant = [lambda index, child: child.fill_(7.0)]
    seen = []
    for _ in range(60):
        ((offset,),) = pool.fresh.windows(1, challenge=True)
        seen.append(bool((pool.view(0, offset) == 7.0).all()))
        assert seen[-1] == (pool.fresh.by == 0)
    assert 3 < sum(seen) < 40
    pool.fresh.windows(1)
    assert pool.fresh.by is None


CHALLENGED = {
    "sorted": (lambda: torch.randn(8, 4096).sort(dim=-1).values, Domain.REAL),
    "descending": (lambda: torch.randn(4096).sort(descending=True).values, Domain.REAL),
    "segments": (lambda: torch.randint(0, 99, (512,)).sort().values, Domain.INDEX),
    "symmetric": (lambda: (lambda a: a + a.mT)(torch.randn(2, 32, 32)), Domain.REAL),
    "unit rows": (lambda: torch.nn.functional.normalize(torch.randn(64, 64)), Domain.REAL),
    "permutation": (lambda: torch.randperm(512), Domain.INDEX),
    "counts": (lambda: torch.bincount(torch.randint(0, 16, (4096,)), minlength=16), Domain.INDEX),
}


@pytest.mark.parametrize("name", CHALLENGED)
def test_what_the_task_draws_is_challenged_within_what_its_draws_have_in_common(name):
    make, domain = CHALLENGED[name]
    draws = torch.stack([make() for _ in range(3)])
    kind = spec(tuple(draws.shape[1:]), str(draws.dtype).removeprefix("torch."), domain)
    structure, place, moved = learnt(draws, kind), torch.empty_like(draws[0]), 0
    assert structure.how == "drawn"
    stock = Stock(kind, draws, 0, (1,), structure=structure)
    for _ in range(8):
        FreshInputs([stock], lambda index, offset: place, lambda offsets: place.copy_(draws[0])).windows(
            1, challenge=True
        )
        moved += not torch.equal(place, draws[0])
        assert set(structure.properties) <= set(learnt(torch.stack([*draws, place]), kind).properties)
    assert moved > 4
