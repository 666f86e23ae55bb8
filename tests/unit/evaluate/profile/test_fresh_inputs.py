"""Fresh inputs: windows lie in the pool, contents change within their domains, and every change is undone."""

import pytest
import torch

from kernelwright.evaluate.profile.inputs import FreshInputs
from kernelwright.records.tensor import ITEM_BYTES, Domain, TensorSpec

DRAWS = 12


def spec(shape, dtype="float32", domain=Domain.REAL, bound=None):
    return TensorSpec(name="x", shape=shape, dtype=dtype, domain=domain, bound=bound)


KINDS = {
    "real": spec((8, 32)),
    "half": spec((8, 32), "float16"),
    "positive": spec((8, 32), domain=Domain.NON_NEGATIVE),
    "probability": spec((8, 32), domain=Domain.PROBABILITY),
    "mask": spec((8, 32), "bool", Domain.MASK),
    "index": spec((256,), "int64", Domain.INDEX, 10),
    "vector": spec((100,)),
    "scalar": spec(()),
    "empty": spec((0, 4)),
}


class Pool:
    """Draws of some tensors, and the fresh inputs over them."""

    def __init__(self, *specs, draws=DRAWS, parameters=()):
        torch.manual_seed(0)
        self.specs, self.draws = specs, draws
        self.tensors = [drawn(s, draws) for s in specs]
        self.before = [t.clone() for t in self.tensors]
        self.fresh = FreshInputs(specs, draws, self.view, parameters)

    def view(self, index, offset):
        kind = self.specs[index]
        start = offset // ITEM_BYTES[kind.dtype]
        assert offset == start * ITEM_BYTES[kind.dtype], "a window begins at an element"
        return self.tensors[index].view(-1)[start : start + kind.numel].view(kind.shape)

    def as_drawn(self):
        return all(torch.equal(a, b) for a, b in zip(self.tensors, self.before, strict=True))


def drawn(kind, draws):
    shape, dtype = (draws, *kind.shape), getattr(torch, kind.dtype)
    if kind.domain is Domain.MASK:
        return torch.rand(shape) > 0.5
    if kind.domain is Domain.INDEX:
        return torch.randint(kind.bound, shape).to(dtype)
    x = torch.randn(shape)
    if kind.domain is Domain.PROBABILITY:
        return x.softmax(-1).to(dtype)
    return (x.abs() if kind.domain is Domain.NON_NEGATIVE else x).to(dtype)


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def test_windows_lie_inside_the_pool(kind):
    pool = Pool(kind)
    for _ in range(20):
        for (offset,) in pool.fresh.windows(5):
            assert 0 <= offset <= (DRAWS - 1) * kind.nbytes
            assert pool.view(0, offset).shape == kind.shape
        pool.fresh.undo()


def test_rows_of_a_probability_stay_whole():
    pool = Pool(KINDS["probability"])
    row = 32 * 4
    assert all(offset % row == 0 for _ in range(20) for (offset,) in pool.fresh.windows(4))


def test_contents_stay_in_their_domain(kind):
    pool = Pool(kind)
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
        pool.fresh.undo()


def test_everything_is_put_back_exactly_even_where_windows_overlap(kind):
    pool = Pool(kind, draws=2)
    for _ in range(30):
        pool.fresh.windows(6)
        pool.fresh.undo()
        assert pool.as_drawn()


@pytest.mark.parametrize("name", ["real", "half", "positive", "mask", "vector"])
def test_every_window_has_something_that_was_never_drawn(name):
    pool = Pool(KINDS[name])
    for (offset,) in pool.fresh.windows(4):
        start = offset // ITEM_BYTES[KINDS[name].dtype]
        original = pool.before[0].view(-1)[start : start + KINDS[name].numel]
        assert not torch.equal(pool.view(0, offset).reshape(-1), original)


def test_the_change_is_strong():
    """A kernel that samples its inputs for a fingerprint, or ignores small differences, must see it in the result."""
    pool = Pool(KINDS["real"])
    ((offset,),) = pool.fresh.windows(1)
    start = offset // 4
    original = pool.before[0].view(-1)[start : start + 256].view(8, 32)
    assert float((pool.view(0, offset).sum() - original.sum()).abs()) > 1.0


def test_the_same_place_does_not_mean_the_same_contents():
    pool = Pool(KINDS["real"], draws=1)
    seen = []
    for _ in range(5):
        ((offset,),) = pool.fresh.windows(1)
        seen.append(pool.view(0, offset).clone())
        pool.fresh.undo()
    assert not any(torch.equal(a, b) for i, a in enumerate(seen) for b in seen[:i])


def test_tensors_move_independently():
    pool = Pool(KINDS["real"], KINDS["real"], draws=64)
    pairs = [offsets for _ in range(8) for offsets in pool.fresh.windows(4)]
    assert len({a - b for a, b in pairs}) > 4


def test_parameters_stay_where_they_are():
    pool = Pool(KINDS["real"], parameters=(64, 128))
    assert all(offsets[1:] == (64, 128) for offsets in pool.fresh.windows(5))


def test_switched_off_every_call_gets_the_first_draw():
    pool = Pool(KINDS["real"], KINDS["index"], parameters=(64,))
    pool.fresh.enabled = False
    assert pool.fresh.windows(3) == [(0, 0, 64)] * 3
    assert pool.as_drawn()


def test_undoing_twice_is_harmless():
    pool = Pool(KINDS["real"])
    pool.fresh.undo()
    pool.fresh.windows(2)
    pool.fresh.undo()
    pool.fresh.undo()
    assert pool.as_drawn()
