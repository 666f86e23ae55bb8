"""Cases from what inputs mean: order, distance from zero, rows of every kind; and that what draws have in common stays."""

import pytest
import torch

from kernelwright.evaluate.timing.structure import learnt, restored
from kernelwright.evaluate.verify import distributions
from kernelwright.evaluate.verify.distributions import DISTRIBUTIONS, OF_MEANING, SPREADS
from kernelwright.evaluate.verify.meaning import Given
from kernelwright.records.tensor import Domain, TensorSpec

ORDER, FAR, KINDS = OF_MEANING


def given(x, domain=Domain.REAL, number=0, properties=(), seed=0):
    dtype = str(x.dtype).removeprefix("torch.")
    spec = TensorSpec(name="x", shape=tuple(x.shape), dtype=dtype, domain=domain)
    return Given(spec, torch.Generator().manual_seed(seed), number, properties)


def changed(distribution, x, domain=Domain.REAL, **more):
    return distributions.apply(distribution, x, given(x, domain, **more))


def test_rows_ascend_descend_and_have_their_largest_together():
    x = torch.randn(256, 1024)
    found = changed(ORDER, x)
    steps = found.diff(dim=-1)
    assert torch.equal(found.sort(dim=-1).values, x.sort(dim=-1).values)
    assert bool((steps >= 0).all(-1).any())
    assert bool((steps <= 0).all(-1).any())
    assert bool(((steps < 0).sum(-1) == 1).any())
    largest = found.topk(16).indices
    for lanes in ((8, 16), (32, 64)):
        apart = [(largest.sort().values.diff() == far).all(-1).any() for far in lanes]
        assert any(apart), "some rows have their largest that far from one another"


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int32", "bool"])
def test_everything_can_be_put_in_order(dtype):
    x = torch.randint(0, 2, (32, 64)).to(getattr(torch, dtype))
    found = changed(ORDER, x, {"bool": Domain.MASK, "int32": Domain.INDEX}.get(dtype, Domain.REAL))
    assert found.dtype == x.dtype
    assert torch.equal(found.float().sum(-1), x.float().sum(-1))
    assert not torch.equal(found.float(), x.float())


@pytest.mark.parametrize(("dtype", "spreads"), [("float32", 256), ("bfloat16", 16), ("float16", 128)])
def test_what_is_moved_from_zero_keeps_some_bits_and_two_inputs_go_apart(dtype, spreads):
    x = torch.randn(64, 64).to(getattr(torch, dtype))
    up, down = (changed(FAR, x, number=n).float().mean() for n in (0, 1))
    assert float(up) == pytest.approx(spreads, rel=0.1)
    assert float(down) == pytest.approx(-spreads, rel=0.1)
    assert float(changed(FAR, x.abs(), Domain.NON_NEGATIVE, number=1).float().min()) > 0
    assert len(changed(FAR, x).unique()) > 4


def test_a_reference_that_bears_less_gets_less():
    chain, one = [], FAR
    while one is not None:
        chain.append(float(changed(one, torch.randn(4096)).mean()))
        one = one.weaker
    assert chain == pytest.approx(SPREADS, rel=0.2)


def test_rows_are_zero_alike_tied_tiny_large_of_one_sign_and_many_as_drawn():
    x = torch.randn(256, 64)
    found = changed(KINDS, x)
    spread = (found.max(-1).values - found.min(-1).values, found.abs().max(-1).values)
    assert bool((spread[1] == 0).any())
    assert bool(((spread[0] == 0) & (spread[1] > 0)).any())
    assert bool(((spread[1] > 0) & (spread[1] < 1e-2)).any())
    assert bool((spread[1] > 30).any())
    assert bool(((found != 0).sum(-1) == 1).any())
    assert min(len(row.unique()) for row in found if float(row.std()) > 0.5) < 24
    assert 100 < int((found == x).all(-1).sum()) < 200


def test_what_bears_no_zeros_gets_none():
    assert KINDS.weaker is not None
    found = changed(KINDS.weaker, torch.rand(256, 64) + 0.5, Domain.NON_NEGATIVE)
    assert float(found.min()) >= 0
    assert not bool((found == 0).all(-1).any())


@pytest.mark.parametrize("domain", [Domain.INDEX, Domain.LABEL])
def test_one_choice_is_nearly_everywhere_and_one_nowhere(domain):
    x = torch.randint(0, 8, (4096,)).to(torch.float32 if domain is Domain.LABEL else torch.int64)
    counts = torch.bincount(changed(KINDS, x, domain).long(), minlength=8)
    assert int(counts.max()) > 0.85 * 4096
    assert int(counts.min()) == 0


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_masks_are_full_and_empty(dtype):
    x = (torch.rand(64, 64) < 0.5).to(getattr(torch, dtype))
    shares = changed(KINDS, x, Domain.MASK).float().mean(-1)
    assert {0.0, 1.0} <= set(shares.tolist())
    assert KINDS.weaker is not None
    assert float(changed(KINDS.weaker, x, Domain.MASK).float().mean(-1).min()) > 0


def test_probabilities_sum_to_one_in_every_case():
    x = torch.randn(64, 32).softmax(-1)
    for one in OF_MEANING:
        torch.testing.assert_close(changed(one, x, Domain.PROBABILITY).sum(-1), torch.ones(64))


KEPT = {
    "positions": (torch.arange(64), ("sorted", "no value twice in a row")),
    "offsets": (torch.arange(0, 640, 10), ("sorted", "no value twice in a row")),
    "reversed": (torch.arange(63, -1, -1), ("sorted", "no value twice in a row")),
    "segments": (torch.arange(64) // 5, ("sorted",)),
    "permutation": (torch.randperm(64, generator=torch.Generator().manual_seed(1)), ("no value twice in a row",)),
    "some": (torch.tensor([3, 1, 3, 0, 2, 2, 1, 0]), ()),
}


@pytest.mark.parametrize("name", KEPT)
def test_an_index_that_never_changes_is_changed_within_what_it_is(name):
    x, properties = KEPT[name]
    found = changed(KINDS, x, Domain.INDEX, properties=("the same in every draw", *properties))
    assert not torch.equal(found, x)
    assert int(found.min()) >= int(x.min())
    assert int(found.max()) <= int(x.max())
    if "no value twice in a row" in properties:
        assert len(found.unique()) == 64
    if name in ("offsets", "segments"):
        assert bool((found.diff() >= 0).all())
        assert (found[0], found[-1]) == (x[0], x[-1])


def test_masks_and_numbers_that_never_change_stay():
    always = ("the same in every draw",)
    for x, domain in ((torch.ones(8, 8).tril().bool(), Domain.MASK), (torch.randn(8, 8), Domain.REAL)):
        assert torch.equal(changed(KINDS, x, domain, properties=always), x)


STRUCTURED = {
    "sorted": (lambda: torch.randn(16, 64).sort(dim=-1).values, Domain.REAL),
    "descending": (lambda: torch.randn(4096).sort(descending=True).values, Domain.REAL),
    "symmetric": (lambda: (lambda a: a + a.mT)(torch.randn(32, 32)), Domain.REAL),
    "unit rows": (lambda: torch.nn.functional.normalize(torch.randn(64, 64)), Domain.REAL),
    "segments": (lambda: torch.randint(0, 99, (512,)).sort().values, Domain.INDEX),
    "permutation": (lambda: torch.randperm(512), Domain.INDEX),
    "experts": (lambda: torch.rand(512, 8).topk(2).indices, Domain.INDEX),
    "counts": (lambda: torch.bincount(torch.randint(0, 16, (4096,)), minlength=16), Domain.INDEX),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_what_all_draws_have_in_common_holds_in_every_case(name):
    torch.manual_seed(3)
    make, domain = STRUCTURED[name]
    draws = torch.stack([make() for _ in range(3)])
    spec = given(draws[0], domain).spec
    structure, different = learnt(draws, spec), 0
    assert structure.how == "drawn"
    for one in (*DISTRIBUTIONS, *OF_MEANING):
        x = changed(one, draws[0], domain, properties=structure.properties)
        kept = restored(structure, x, draws[0], spec)
        different += kept and not torch.equal(x, draws[0])
        if kept:
            assert set(structure.properties) <= set(learnt(torch.stack([*draws, x]), spec).properties), one.name
    assert different > (0 if domain is Domain.INDEX else 3), "it is challenged within its structure"


def test_a_structure_that_cannot_be_kept_is_said():
    make, domain = STRUCTURED["permutation"]
    draws = torch.stack([make() for _ in range(3)])
    spec = given(draws[0], domain).spec
    assert not restored(learnt(draws, spec), torch.zeros_like(draws[0]), draws[0], spec)
