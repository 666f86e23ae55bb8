"""Distributions: which the domains admit, that they change what they say and nothing else, and that a seed repeats them."""

import pytest
import torch
from peak import LargestMade

from kernelwright.evaluate.verify import distributions
from kernelwright.evaluate.verify.distributions import (
    ALIKE,
    AS_GIVEN,
    COLUMNS,
    COMMON,
    DISTRIBUTIONS,
    ENDS,
    UNALIGNED,
    admitted,
    keeps,
    of_bytes,
    random_parameter,
    touched,
)
from kernelwright.evaluate.verify.meaning import Given
from kernelwright.records.tensor import Domain, TensorSpec

SCALED, REPLACED = ("times 3", "times 0.01"), ("one huge element", "small integers")
ORDER, FAR, KINDS = MEANT = ("in order", "far from zero", "rows of every kind")
BY_NAME = {r.name: r for r in DISTRIBUTIONS}
FLOATING = (Domain.REAL, Domain.NON_NEGATIVE, Domain.PROBABILITY)


def spec(domain=Domain.REAL, dtype="float32", shape=(4, 16), bound=None):
    return TensorSpec(name="x", shape=shape, dtype=dtype, domain=domain, bound=bound)


def apply(distribution, x, kind, generator, into=None, number=0):
    return distributions.apply(distribution, x, Given(kind, generator, number), into)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def drawn(domain, shape=(4, 16)):
    x = torch.randn(shape, generator=seeded(7))
    if domain is Domain.REAL:
        return x
    return x.softmax(-1) if domain is Domain.PROBABILITY else x.abs()


@pytest.mark.parametrize(
    ("domain", "dtype", "names"),
    [
        (Domain.REAL, "float32", [*SCALED, "negated", *REPLACED, *MEANT, COLUMNS.name]),
        (Domain.REAL, "bfloat16", [*SCALED, "negated", *REPLACED, *MEANT, COLUMNS.name]),
        (Domain.NON_NEGATIVE, "float32", [*SCALED, *REPLACED, *MEANT, COLUMNS.name]),
        (Domain.PROBABILITY, "float32", [ORDER, KINDS]),
        (Domain.MASK, "bool", [ORDER, KINDS, COLUMNS.name]),
        (Domain.INDEX, "int64", [ORDER, KINDS]),
    ],
)
def test_each_domain_admits_its_regimes(domain, dtype, names):
    assert [r.name for r in admitted([spec(domain, dtype)])] == [*names, "unaligned pointers"]


def test_numbers_of_eight_bits_are_all_that_their_type_has_of_the_signs_that_were_drawn():
    given = (("int8", 9), ("uint8", 16), ("uint8", 2), ("int64", 9), ("int8", 5))
    inputs = [spec(Domain.INDEX, dtype, (4096,), bound) for dtype, bound in given]
    (found,) = of_bytes(inputs, stated={4})
    ends = []
    for number, (one, low) in enumerate(zip(inputs, (-8, 0, 0, 0, 0), strict=True)):
        x = torch.randint(low, one.bound, one.shape).to(getattr(torch, one.dtype))
        made = apply(found, x, one, seeded(), number=number)
        ends.append((int(made.min()), int(made.max())))
    assert ends == [(-128, 127), (0, 255), (0, 1), (0, 8), (0, 4)]
    assert touched(found, inputs) == (0, 1)
    assert not of_bytes(inputs[2:4])


def test_a_number_alone_has_no_order_and_no_rows():
    assert not {ORDER, FAR, KINDS} & {r.name for r in admitted([spec(shape=()), spec(Domain.INDEX, "int64", ())])}


def test_one_input_that_can_be_scaled_is_enough():
    names = [r.name for r in admitted([spec(Domain.PROBABILITY), spec(Domain.NON_NEGATIVE)])]
    assert "times 3" in names
    assert "negated" not in names


def test_what_traps_the_device_outside_its_domain_meets_nothing_beyond_what_was_drawn():
    found = admitted([spec(Domain.NON_NEGATIVE)], ["aten.mul.Tensor", "aten.binary_cross_entropy.default"], traps=True)
    assert [r.name for r in found] == ["times 0.01", "unaligned pointers"]


CHOICES = [spec(Domain.REAL), spec(Domain.INDEX, "int64").model_copy(update={"bound": 3})]
ONE = spec(Domain.REAL, shape=())


@pytest.mark.parametrize(
    ("inputs", "outputs", "alike"),
    [
        (CHOICES, [ONE], True),
        (CHOICES, [ONE, spec(Domain.REAL)], False),
        (CHOICES, [], False),
        (CHOICES[1:], [ONE], False),
        ([CHOICES[0], CHOICES[1].model_copy(update={"bound": CHOICES[1].numel})], [ONE], False),
    ],
)
def test_positions_are_alike_where_single_numbers_are_asked_for_of_what_they_choose(inputs, outputs, alike):
    assert (ALIKE in admitted(inputs, (), outputs)) == alike


def test_positions_that_are_alike_choose_what_is_larger():
    values, places = torch.ones(3, 4), torch.tensor([2, 0, 1])
    changed = [apply(ALIKE, x, s, seeded()) for x, s in ((values, CHOICES[0]), (places, CHOICES[1]))]
    assert changed[0].tolist() == [[9.0, 3.0, 3.0, 3.0], [3.0, 1.0, 1.0, 1.0], [3.0, 1.0, 1.0, 1.0]]
    assert changed[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("inputs", "outputs", "common"),
    [
        ([spec(), spec()], [ONE], True),
        ([spec(), spec(Domain.NON_NEGATIVE)], [ONE], False),
        ([spec(), spec(shape=(16,))], [ONE], False),
        ([spec(), spec()], [spec()], False),
        ([spec(), spec()], [], False),
    ],
)
def test_inputs_have_something_in_common_where_one_number_is_asked_for_of_several(inputs, outputs, common):
    assert (COMMON in admitted(inputs, (), outputs)) == common


def test_an_offset_loosens_nothing_and_is_given_to_no_zeros_that_keep_their_places():
    assert not COMMON.replaces
    assert [keeps(COMMON, how) for how in ("mixed", "aligned", "kept")] == [True, False, False]


def test_independent_rows_that_are_moved_alike_are_no_longer_at_right_angles():
    rows = [torch.randn(64, 4096, generator=seeded(seed)) for seed in range(2)]
    moved = [apply(COMMON, x, spec(shape=(64, 4096)), seeded()) for x in rows]
    before, after = (torch.nn.functional.cosine_similarity(*pair).mean() for pair in (rows, moved))
    assert abs(before) < 0.01
    assert after > 0.3


def test_without_inputs_only_pointers_move():
    assert admitted([]) == [UNALIGNED]
    assert UNALIGNED.shift == 1
    assert AS_GIVEN.shift == 0


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, AS_GIVEN, UNALIGNED], ids=lambda r: r.name)
@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (torch.randn(4, 16).softmax(-1), spec(Domain.PROBABILITY)),
        (torch.randint(9, (4, 16)), spec(Domain.INDEX, "int64", bound=9)),
        (torch.rand(4, 16) > 0.5, spec(Domain.MASK, "bool")),
    ],
    ids=["probability", "index", "mask"],
)
def test_probabilities_indices_and_masks_stay_as_drawn(distribution, x, kind):
    assert torch.equal(apply(distribution, x, kind, seeded()), x)


def test_scaling_and_negation_do_what_they_say():
    x = drawn(Domain.REAL)
    for name, factor in (("times 3", 3), ("negated", -1)):
        assert torch.equal(apply(BY_NAME[name], x, spec(), seeded()), x * factor)


@pytest.mark.parametrize("domain", [Domain.REAL, Domain.NON_NEGATIVE])
def test_where_there_are_signs_one_small_element_has_the_other(domain):
    x = torch.rand(100, 100, generator=seeded(7))
    changed = apply(BY_NAME["times 0.01"], x, spec(domain, shape=(100, 100)), seeded())
    other = changed != x * 0.01
    assert int(other.sum()) == (domain is Domain.REAL)
    assert all(changed[other] == -changed.abs().max())


def test_one_element_is_huge_and_the_others_are_as_drawn():
    x = drawn(Domain.REAL)
    changed = apply(BY_NAME["one huge element"], x, spec(), seeded())
    assert int((changed != x).sum()) == 1
    assert changed.max() == 1e4


def test_ends_are_huge_where_a_long_reduction_would_hide_that_they_are_left_out():
    assert ENDS in admitted([spec()], longest=10_000_003)
    assert ENDS not in admitted([spec()], longest=64)
    assert ENDS not in admitted([spec(Domain.PROBABILITY)], longest=10_000_003)
    assert ENDS not in admitted([spec()], longest=10_000_003, traps=True)
    assert ENDS.replaces
    assert not keeps(ENDS, "aligned")


def test_both_ends_are_huge_the_last_more_so_and_the_others_as_drawn():
    x = drawn(Domain.REAL)
    changed = apply(ENDS, x, spec(), seeded())
    assert (changed != x).nonzero().tolist() == [[0, 0], [3, 15]]
    assert (float(changed[0, 0]), float(changed[-1, -1])) == (1e3, 1e4)


@pytest.mark.parametrize("left_out", [0, -1])
def test_an_end_that_is_left_out_shows_in_the_mean_of_many_squared_differences(left_out):
    count = 1 << 22
    inputs = [torch.randn(count, generator=seeded(n)) for n in range(2)]
    ends = [apply(ENDS, x, spec(shape=(count,)), seeded(), number=n) for n, x in enumerate(inputs)]
    squares = (ends[0] - ends[1]).double().square()
    assert float(squares[left_out] / squares.sum()) > 1e-3


@pytest.mark.parametrize(("domain", "low"), [(Domain.REAL, -4), (Domain.NON_NEGATIVE, 0)])
def test_small_integers_are_small_integers(domain, low):
    shape = (64, 64)
    changed = apply(BY_NAME["small integers"], drawn(domain, shape), spec(domain, shape=shape), seeded())
    assert set(changed.flatten().tolist()) == set(range(low, 5))


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, ENDS], ids=lambda r: r.name)
@pytest.mark.parametrize("domain", [Domain.REAL, Domain.NON_NEGATIVE], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_shape_dtype_domain_and_the_drawn_tensor_are_kept(distribution, domain, dtype):
    x = drawn(domain).to(getattr(torch, dtype))
    before = x.clone()
    changed = apply(distribution, x, spec(domain, dtype), seeded())
    assert changed.shape == x.shape
    assert changed.dtype == x.dtype
    assert torch.equal(x, before)
    assert bool(changed.isfinite().all())
    if domain is Domain.NON_NEGATIVE:
        assert bool((changed >= 0).all())


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, ENDS], ids=lambda r: r.name)
def test_scalars_and_empty_tensors_have_regimes_too(distribution):
    assert apply(distribution, torch.tensor(2.0), spec(shape=()), seeded()).shape == ()
    assert apply(distribution, torch.empty(0, 3), spec(shape=(0, 3)), seeded()).numel() == 0


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda r: r.name)
def test_the_generator_alone_decides(distribution):
    x = drawn(Domain.REAL)
    first, again = (apply(distribution, x, spec(), seeded(3)) for _ in range(2))
    torch.manual_seed(99)
    assert torch.equal(first, again)
    assert torch.equal(first, apply(distribution, x, spec(), seeded(3)))


@pytest.mark.parametrize("name", ["one huge element", "small integers"])
def test_another_seed_chooses_otherwise(name):
    x = drawn(Domain.REAL)
    chosen = [apply(BY_NAME[name], x, spec(), seeded(s)) for s in range(4)]
    assert not all(torch.equal(chosen[0], other) for other in chosen[1:])


# --- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("domain", [Domain.REAL, Domain.NON_NEGATIVE], ids=str)
def test_no_initial_value_is_left_as_it_was(initial, domain):
    x = torch.full((4, 16), initial)
    changed = random_parameter(x, spec(domain), seeded())
    assert bool((changed != initial).all())
    assert len(changed.unique()) > 50


@pytest.mark.parametrize("domain", FLOATING, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_random_parameters_stay_in_their_domain(domain, dtype):
    x = drawn(domain).to(getattr(torch, dtype))
    changed = random_parameter(x, spec(domain, dtype), seeded())
    assert changed.dtype == x.dtype
    assert changed.shape == x.shape
    assert not torch.equal(changed, x)
    if domain is not Domain.REAL:
        assert bool((changed >= 0).all())
    if domain is Domain.PROBABILITY:
        torch.testing.assert_close(
            changed.float().sum(-1), torch.ones(4), rtol=0, atol=2e-2 if dtype == "bfloat16" else 1e-5
        )


def test_real_parameters_get_both_signs():
    changed = random_parameter(torch.ones(64, 64), spec(shape=(64, 64)), seeded())
    assert float(changed.std()) > 0.1
    assert bool((random_parameter(torch.zeros(64), spec(shape=(64,)), seeded()) < 0).any())


def test_counters_and_masks_are_not_randomised():
    for x, kind in (
        (torch.tensor(3), spec(Domain.INDEX, "int64", ())),
        (torch.rand(8) > 0.5, spec(Domain.MASK, "bool")),
    ):
        assert random_parameter(x, kind, seeded()) is x


def test_a_mask_of_minus_infinity_stays_one():
    mask = torch.full((8, 8), float("-inf")).triu(1)
    changed = random_parameter(mask, spec(shape=(8, 8)), seeded())
    assert torch.equal(changed.isneginf(), mask.isneginf())
    assert bool(changed[~mask.isneginf()].isfinite().all())


def test_a_single_weight_is_random_too():
    """Its rows sum to one, and yet it is no probability that could stay one."""
    one = torch.ones(1)
    assert float(random_parameter(one, spec(Domain.PROBABILITY, shape=(1,)), seeded())) != 1.0


def test_parameters_are_repeated_by_their_seed():
    x = torch.ones(32)
    kind = spec(shape=(32,))
    assert torch.equal(random_parameter(x, kind, seeded(1)), random_parameter(x, kind, seeded(1)))
    assert not torch.equal(random_parameter(x, kind, seeded(1)), random_parameter(x, kind, seeded(2)))
    assert random_parameter(torch.empty(0), spec(shape=(0,)), seeded()).numel() == 0


def test_pointers_stay_aligned_where_pytorchs_own_kernel_faults_otherwise():
    inputs = [spec(Domain.REAL)]
    assert UNALIGNED in admitted(inputs, ["aten.mm.default"])
    assert UNALIGNED not in admitted(inputs, ["aten.mul.Tensor", "aten.scaled_dot_product_attention.default"])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda r: r.name)
def test_an_input_is_changed_where_it_lies(distribution, monkeypatch):
    monkeypatch.setattr(distributions, "PIECE", 64)
    x = torch.randn(4096)
    wanted = spec(Domain.REAL, shape=(4096,))
    into = torch.empty_like(x)
    with LargestMade() as made:
        apply(distribution, x, wanted, seeded(), into=into)
    assert made.elements <= 64
    assert not torch.equal(into, x)


def test_the_negative_element_of_small_ones_is_as_large_as_any():
    x = torch.rand(100)
    for sign in (1, -1):
        changed = apply(DISTRIBUTIONS[1], sign * x, spec(Domain.REAL, shape=(100,)), seeded())
        assert float(changed.min()) == pytest.approx(-0.01 * float(x.max()))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_infinities_have_the_sign_and_place_that_was_drawn(dtype):
    x = torch.randn(8, 16).to(getattr(torch, dtype)).masked_fill(torch.ones(8, 16).triu(9).bool(), float("-inf"))
    for distribution in admitted([spec(dtype=dtype, shape=(8, 16))]):
        made = apply(distribution, x, spec(dtype=dtype, shape=(8, 16)), seeded())
        assert not bool(made.isnan().any() | (made == float("inf")).any()), distribution.name
        if distribution.name not in (ORDER, *REPLACED):
            assert torch.equal(made.isinf(), x.isinf()), distribution.name
            assert torch.equal(made, x) == (distribution is UNALIGNED), distribution.name
