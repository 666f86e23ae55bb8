"""Each fault of the interpreter's bfloat16 against torch: right when repaired, wrong or absent when not."""

import pytest
import torch
from interpreted_kernels import SIZE, awkward, launch, launch_cast


def same(a, b):
    return a.shape == b.shape and torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())


def wrong_when_raw(raw, expected, *call):
    """The fault is really there: the unrepaired interpreter raises, or gives another result."""
    try:
        result = raw(*call)
    except Exception:  # noqa: BLE001 - whatever it is, it is the fault that the repair is for
        return True
    return not same(result, expected)


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "scale": lambda a, b: a * 2.5,
    "maximum": lambda a, b: torch.fmax(a, b),
    "where": lambda a, b: torch.where(a > b, a, b * a),
    "full": lambda a, b: a + 1.25,
    "neg": lambda a, b: -a,
    "through_int": lambda a, b: (a.float() * 16).bfloat16().int().bfloat16(),
}


@pytest.mark.parametrize("op", BINARY)
def test_arithmetic(op, raw, repaired):
    x, y = awkward(1), awkward(2).roll(7)
    if op == "through_int":
        x = torch.randn(SIZE).bfloat16()
    expected = BINARY[op](x, y)
    call = ("binary", (x, y, torch.zeros_like(x)), {"OP": op, "N": SIZE})
    assert same(repaired(launch, True, *call), expected)
    assert wrong_when_raw(raw, expected, launch, False, *call)


UNHARMED = {
    "abs": lambda a, b: a.abs(),
    "bits": lambda a, b: a,
}


@pytest.mark.parametrize("op", UNHARMED)
def test_bits_stay_right(op, repaired):
    x, y = awkward(1), awkward(2)
    call = ("binary", (x, y, torch.zeros_like(x)), {"OP": op, "N": SIZE})
    assert same(repaired(launch, True, *call), UNHARMED[op](x, y))


def test_half_and_fma_and_masked_other(repaired):
    x, y = torch.randn(SIZE).bfloat16(), torch.randn(SIZE).bfloat16()
    for op, expected in {
        "through_half": x.half().bfloat16(),
        "fma": (x.double() * y.double() + x.double()).bfloat16(),
        "other": torch.where(torch.arange(SIZE) < 7, x, torch.tensor(1.5).bfloat16()),
    }.items():
        assert same(repaired(launch, True, "binary", (x, y, torch.zeros_like(x)), {"OP": op, "N": SIZE}), expected), op


@pytest.mark.parametrize("op", ["lt", "ge", "eq", "ne"])
def test_comparisons(op, raw, repaired):
    x, y = awkward(1), awkward(2)
    y[:40] = x[:40]
    expected = getattr(torch, op)(x, y).int()
    call = ("compare", (x, y, torch.zeros(SIZE, dtype=torch.int32)), {"OP": op, "N": SIZE})
    assert torch.equal(repaired(launch, True, *call), expected)
    assert wrong_when_raw(raw, expected, launch, False, *call)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_casts_round_to_nearest_even(dtype, raw, repaired):
    x = torch.randn(4096, dtype=dtype)
    x[:4] = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, float("nan")])  # two ties, one overflow
    expected = x.to(torch.bfloat16)
    assert expected[2].isinf()
    assert same(repaired(launch_cast, True, x, torch.zeros_like(expected), "bf16"), expected)
    assert wrong_when_raw(raw, expected, launch_cast, False, x, torch.zeros_like(expected), "bf16")


def test_a_store_rounds(raw, repaired):
    x = torch.randn(4096)
    expected = x.bfloat16()
    # a cast to float32 is none; the store casts
    assert same(repaired(launch_cast, True, x, torch.zeros_like(expected), "bf16"), expected)


def test_rounding_to_zero_when_asked(repaired):
    x = torch.randn(SIZE)
    expected = (x.view(torch.int32) & -65536).view(torch.float32).bfloat16()
    assert same(repaired(launch, True, "truncate", (x, torch.zeros_like(expected)), {"N": SIZE}), expected)


@pytest.mark.parametrize(("name", "dtype", "largest"), [
    ("e4m3", torch.float8_e4m3fn, 448.0), ("e5m2", torch.float8_e5m2, 57344.0),
])  # fmt: skip
def test_casts_to_float8(name, dtype, largest, raw, repaired):
    x = torch.randn(4096) * torch.exp2(torch.randint(-12, 8, (4096,)))
    x[:2] = torch.tensor([1e6, -1e6])
    expected = x.clamp(-largest, largest).to(dtype).float()
    assert same(repaired(launch_cast, True, x, torch.zeros_like(x), name), expected)
    assert wrong_when_raw(raw, expected, launch_cast, False, x, torch.zeros_like(x), name)


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_reductions(op, raw, repaired):
    x = torch.randint(-4, 5, (16, 64)).bfloat16()  # sums are exact in any order
    expected = {"sum": x.sum(1), "max": x.max(1).values, "min": x.min(1).values}[op]
    call = ("reduce", (x, torch.zeros(16, dtype=torch.bfloat16)), {"OP": op, "N": 64})
    assert same(repaired(launch, True, *call), expected)
    if op == "sum":  # the others are computed in fp32 anyway
        assert wrong_when_raw(raw, expected, launch, False, *call)


def test_a_sum_rounds_as_often_as_the_device(repaired):
    x = torch.ones(16, 512).bfloat16()
    x[:, 0] = 256.0
    got = repaired(launch, True, "reduce", (x, torch.zeros(16, dtype=torch.bfloat16)), {"OP": "sum", "N": 512})
    assert same(got, torch.full((16,), 768.0).bfloat16())  # 767 is not a bfloat16
    x = torch.randn(16, 512).bfloat16()
    got = repaired(launch, True, "reduce", (x, torch.zeros(16, dtype=torch.bfloat16)), {"OP": "sum", "N": 512})
    error = (got.double() - x.double().sum(1)).abs()
    assert (error <= 9 * 2.0**-8 * x.double().abs().sum(1)).all()


def test_argmax_scan_and_sort(repaired):
    x = torch.randint(-50, 50, (16, 64)).bfloat16()
    got = repaired(launch, True, "reduce", (x, torch.zeros(16, dtype=torch.int32)), {"OP": "argmax", "N": 64})
    assert torch.equal(x.gather(1, got.long()[:, None])[:, 0], x.max(1).values)
    row = torch.randint(-3, 4, (64,)).bfloat16()
    assert same(repaired(launch, True, "scan", (row, torch.zeros_like(row)), {"N": 64}), row.cumsum(0))
    assert same(repaired(launch, True, "order", (row, torch.zeros_like(row)), {"N": 64}), row.sort().values)


def test_products(raw, repaired):
    x, y = torch.randn(32, 32).bfloat16(), torch.randn(32, 32).bfloat16()
    expected = x.float() @ y.float()
    call = ("product", (x, y, torch.zeros(32, 32)), {"P": "ieee", "N": 32})
    torch.testing.assert_close(repaired(launch, True, *call), expected)
    assert wrong_when_raw(raw, expected.round(decimals=2), launch, False, *call)
    assert (raw(launch, False, *call) - expected).abs().max() > 1e6


def test_atomic_add_on_shared_addresses(raw, repaired):
    x = torch.randint(-3, 4, (64,)).bfloat16()
    expected = x.view(16, 4).sum(0)
    assert same(repaired(launch, True, "accumulate", (x, torch.zeros(4).bfloat16()), {"N": 64}), expected)


def test_descriptors(raw, repaired):
    x = torch.randn(16, 16).bfloat16()
    call = ("described", (x, torch.zeros_like(x)), {"N": 16})
    assert same(repaired(launch, True, *call), x * 2)
    assert wrong_when_raw(raw, x * 2, launch, False, *call)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_other_types_are_as_before(dtype, raw, repaired):
    x, y = torch.randn(SIZE).to(dtype), torch.randn(SIZE).to(dtype)
    for op in ("add", "sub", "mul", "div", "scale", "maximum", "where", "abs"):
        call = ("binary", (x, y, torch.zeros_like(x)), {"OP": op, "N": SIZE})
        assert torch.equal(repaired(launch, True, *call), raw(launch, False, *call)), op


def test_tf32_drops_what_the_tensor_cores_drop(repaired):
    x, y = torch.rand(32, 32), torch.rand(32, 32)
    exact = x.double() @ y.double()
    error = {}
    for p in ("tf32", "ieee", "tf32x3", "bf16x3"):
        got = repaired(launch, True, "product", (x, y, torch.zeros(32, 32)), {"P": p, "N": 32})
        error[p] = float((got - exact).norm() / exact.norm())
    assert 1e-4 < error["tf32"] < 2e-3
    assert max(error["ieee"], error["tf32x3"], error["bf16x3"]) < 1e-6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_maximum_leaves_out_nan_as_the_device_does(dtype, raw, repaired):
    x, y = torch.randn(SIZE).to(dtype), torch.randn(SIZE).to(dtype)
    x[::3], y[1::3] = float("nan"), float("nan")
    call = ("binary", (x, y, torch.zeros_like(x)), {"OP": "maximum", "N": SIZE})
    assert same(repaired(launch, True, *call), torch.fmax(x, y))
    assert wrong_when_raw(raw, torch.fmax(x, y), launch, False, *call)


@pytest.mark.parametrize(("op", "function"), [("erf", torch.erf), ("exp", torch.exp), ("sigmoid", torch.sigmoid)])
def test_special_functions(op, function, repaired):
    x = torch.randn(SIZE)
    torch.testing.assert_close(
        repaired(launch, True, "special", (x, torch.zeros_like(x)), {"OP": op, "N": SIZE}), function(x)
    )
