"""Fresh inputs, bred or moved: they lie in the pool, stay in their domains, and leave what is kept as it was."""

import pytest
import torch

from kernelwright.evaluate.profile.inputs import FreshInputs
from kernelwright.records.tensor import ITEM_BYTES, Domain, TensorSpec

DRAWS = 12
BRED, MOVED = 5, 1
"""How many draws are kept intact: with one alone there is nothing to breed from, and windows only move."""


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

    def __init__(self, *specs, kept, draws=DRAWS, parameters=()):
        torch.manual_seed(0)
        self.specs, self.kept = specs, kept
        self.tensors = [drawn(s, draws) for s in specs]
        self.before = [t.clone() for t in self.tensors]
        self.fresh = FreshInputs(specs, draws, kept, self.view, parameters)

    def view(self, index, offset):
        kind = self.specs[index]
        start = offset // ITEM_BYTES[kind.dtype]
        assert offset == start * ITEM_BYTES[kind.dtype], "a window begins at an element"
        return self.tensors[index].view(-1)[start : start + kind.numel].view(kind.shape)

    def as_drawn(self):
        """Whether what is kept is as it was drawn: all of it, where windows only move."""
        kept = self.kept if self.kept > 1 else None
        return all(torch.equal(a[:kept], b[:kept]) for a, b in zip(self.tensors, self.before, strict=True))


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


@pytest.fixture(params=[BRED, MOVED], ids=["bred", "moved"])
def kept(request):
    return request.param


def test_windows_lie_inside_the_pool(kind, kept):
    pool = Pool(kind, kept=kept)
    for _ in range(20):
        for (offset,) in pool.fresh.windows(5):
            assert 0 <= offset <= (DRAWS - 1) * kind.nbytes
            assert pool.view(0, offset).shape == kind.shape
            if kept == BRED:
                assert offset >= BRED * kind.nbytes, "what is bred has a place of its own"
        pool.fresh.undo()


def test_rows_of_a_probability_stay_whole(kept):
    pool = Pool(KINDS["probability"], kept=kept)
    assert all(offset % (32 * 4) == 0 for _ in range(20) for (offset,) in pool.fresh.windows(4))


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
        pool.fresh.undo()


def test_what_is_kept_is_put_back_exactly_even_where_windows_overlap(kind, kept):
    pool = Pool(kind, kept=kept, draws=BRED + 6 if kept == BRED else 2)
    for _ in range(30):
        pool.fresh.windows(6)
        pool.fresh.undo()
        assert pool.as_drawn()


def test_what_is_bred_leaves_what_is_kept_alone_even_before_it_is_undone(kind):
    pool = Pool(kind, kept=BRED)
    pool.fresh.windows(6)
    assert pool.as_drawn()


@pytest.mark.parametrize("name", ["real", "half", "positive", "mask", "vector", "probability"])
def test_every_input_has_something_that_was_never_drawn(name, kept):
    kind = KINDS[name]
    pool = Pool(kind, kept=kept)
    for (offset,) in pool.fresh.windows(4):
        start = offset // ITEM_BYTES[kind.dtype]
        there = pool.before[0].view(-1)[start : start + kind.numel].view(kind.shape)
        found = pool.view(0, offset)
        assert not any(torch.equal(found, drawn) for drawn in (there, *pool.before[0]))


def test_the_change_is_strong(kept):
    """A kernel that samples its inputs for a fingerprint, or ignores small differences, must see it in the result."""
    pool = Pool(KINDS["real"], kept=kept)
    ((offset,),) = pool.fresh.windows(1)
    changed = pool.view(0, offset).clone()
    pool.fresh.undo()
    assert float((changed - pool.view(0, offset)).abs().max()) > 1.0


def test_the_same_place_does_not_mean_the_same_contents(kept):
    pool = Pool(KINDS["real"], kept=kept, draws=BRED + 1 if kept == BRED else 1)
    seen = []
    for _ in range(5):
        ((offset,),) = pool.fresh.windows(1)
        seen.append((offset, pool.view(0, offset).clone()))
        pool.fresh.undo()
    assert len({offset for offset, _ in seen}) == 1
    assert not any(torch.equal(a, b) for i, (_, a) in enumerate(seen) for _, b in seen[:i])


def test_nobody_who_knows_torch_s_seed_knows_the_inputs(kept):
    found = []
    for _ in range(2):
        pool = Pool(KINDS["real"], kept=kept, draws=64)
        torch.manual_seed(5)
        offsets = pool.fresh.windows(4)
        found.append((offsets, [pool.view(0, offset).clone() for (offset,) in offsets]))
    (first, contents), (second, others) = found
    assert first != second or not all(map(torch.equal, contents, others))


def test_moved_tensors_move_independently():
    pool = Pool(KINDS["real"], KINDS["real"], kept=MOVED, draws=64)
    pairs = [offsets for _ in range(8) for offsets in pool.fresh.windows(4)]
    assert len({a - b for a, b in pairs}) > 4


def test_bred_inputs_of_one_round_have_places_of_their_own():
    pool = Pool(KINDS["real"], kept=BRED, draws=40)
    for _ in range(10):
        offsets = [offset for (offset,) in pool.fresh.windows(30)]
        assert len(set(offsets)) == 30


def test_more_calls_than_there_is_room_for_are_moved():
    pool = Pool(KINDS["real"], kept=BRED)
    for (offset,) in pool.fresh.windows(DRAWS):
        assert 0 <= offset <= (DRAWS - 1) * KINDS["real"].nbytes
    pool.fresh.undo()
    assert torch.equal(pool.tensors[0], pool.before[0])


def test_parameters_stay_where_they_are(kept):
    pool = Pool(KINDS["real"], kept=kept, parameters=(64, 128))
    assert all(offsets[1:] == (64, 128) for offsets in pool.fresh.windows(5))


def test_switched_off_every_call_gets_the_first_draw(kept):
    pool = Pool(KINDS["real"], KINDS["index"], kept=kept, parameters=(64,))
    pool.fresh.enabled = False
    assert pool.fresh.windows(3) == [(0, 0, 64)] * 3
    assert all(torch.equal(a, b) for a, b in zip(pool.tensors, pool.before, strict=True))


def test_undoing_twice_is_harmless(kept):
    pool = Pool(KINDS["real"], kept=kept)
    pool.fresh.undo()
    pool.fresh.windows(2)
    pool.fresh.undo()
    pool.fresh.undo()
    assert pool.as_drawn()
