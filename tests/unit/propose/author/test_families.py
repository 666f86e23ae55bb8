"""Every family is written right, on odd shapes, from raw and from decomposed graphs."""

import pytest
from author_cases import build, call, case, error, model

from kernelwright.errors import ProposeError
from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import CppSchedule

torch = pytest.importorskip("torch")
X = "torch.randn(7, 37)"
POSITIVE = "torch.rand(7, 37) + 0.01"
FAMILIES = {
    "activations": (
        "torch.relu(x), torch.tanh(x), torch.sigmoid(x), F.silu(x), F.elu(x), F.softplus(x), F.mish(x),"
        " F.gelu(x), F.gelu(x, approximate='tanh'), F.hardswish(x), F.leaky_relu(x), F.selu(x),"
        " F.logsigmoid(x), torch.erf(x), torch.clamp(x, -0.5, 0.5), F.celu(x, 0.7), torch.expm1(x),"
        " x.abs().sqrt(), F.relu6(x)",
        "x", X,
    ),
    "arithmetic": (
        "x * y - 2 * x, torch.where(x > y, x, -y), torch.maximum(x, y) / (y * y + 1), 1 - x, x ** 3,"
        " torch.pow(x * x + 1, -0.5), torch.add(x, y, alpha=0.5), (x > 0).float() * y",
        "x, y", f"{X}, {X}",
    ),
    "logs": ("torch.log(x), torch.log1p(x), torch.exp(x), x.rsqrt(), x.reciprocal()", "x", POSITIVE),
    "losses": (
        "F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.3),"
        " F.mse_loss(x, y, reduction='sum'), F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),"
        " F.soft_margin_loss(x, y)",
        "x, y", f"{X}, {X}",
    ),
    "divergence": (
        "F.kl_div(x.log(), y, reduction='batchmean'), F.binary_cross_entropy(x / 2, y / 2)",
        "x, y", f"{POSITIVE}, {POSITIVE}",
    ),
    "rows": (
        "torch.softmax(x, -1), torch.log_softmax(x, -1), torch.logsumexp(x, -1), x.mean(-1, keepdim=True),"
        " x.var(-1), x.std(-1), x.amax(-1), x.amin(-1), torch.linalg.vector_norm(x, dim=-1),"
        " F.layer_norm(x, (37,)), F.rms_norm(x, (37,)), x / x.abs().sum(-1, keepdim=True), x.max(-1)[0]",
        "x", X,
    ),
    "totals": (
        "x.sum(), x.mean(), x.max(), x.min(), torch.linalg.vector_norm(x), torch.logsumexp(x, -1).mean(),"
        " torch.sqrt(x.pow(2).mean() + 1)",
        "x", X,
    ),
    "labels": (
        "F.cross_entropy(x, y), F.cross_entropy(x, y, reduction='none'), F.nll_loss(F.log_softmax(x, -1), y),"
        " F.cross_entropy(x, y, label_smoothing=0.1),"
        " F.cross_entropy(x, y, ignore_index=3, reduction='sum'), x.gather(1, y[:, None]).squeeze(1) * 2",
        "x, y", f"{X}, torch.randint(0, 37, (7,))",
    ),
    "broadcasts": (
        "x * s + b, (x + b).softmax(-1) * s", "x, s, b", f"{X}, torch.randn(7, 1), torch.randn(37)",
    ),
    "square": ("(x - x.mean(-1, keepdim=True)) * b", "x, b", "torch.randn(8, 8), torch.randn(8)"),
    "three_dimensions": (
        "F.layer_norm(x, (5, 7)) * b, x.flatten(1).softmax(-1)", "x, b",
        "torch.randn(4, 5, 7), torch.randn(5, 7)",
    ),
    "views": (
        "F.cross_entropy(x.view(-1, 11), y.view(-1))", "x, y",
        "torch.randn(3, 5, 11), torch.randint(0, 11, (3, 5))",
    ),
}  # fmt: skip
RAW_OR_NOT = [(name, False) for name in FAMILIES] + [(name, True) for name in ("rows", "labels", "losses")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    cases = [case(model(f, i, arguments=a), n, decompose=d) for n, d in RAW_OR_NOT for f, a, i in [FAMILIES[n]]]
    candidates = [write_cpp(lower(c.task), CppSchedule()) for c in cases]
    entries = build(candidates, tmp_path_factory.mktemp("families"))
    return dict(zip(RAW_OR_NOT, zip(cases, entries, strict=True), strict=True))


@pytest.mark.parametrize(("name", "decomposed"), RAW_OR_NOT)
@pytest.mark.parametrize("scale", [1.0, 3.0, 0.01])
def test_right_at_every_scale(built, name, decomposed, scale):
    found, entry = built[name, decomposed]
    scale = min(scale, 1.0) if name == "divergence" else scale  # probabilities stay below one
    inputs = [t * scale if t.is_floating_point() else t for t in found.inputs]
    with torch.no_grad():
        eager = found.module(*inputs)
    eager = eager if isinstance(eager, tuple) else (eager,)
    for place, (got, wanted, own) in enumerate(
        zip(call(entry, found, inputs), found.reference(inputs), eager, strict=True)
    ):
        assert got.shape == wanted.shape
        assert error(got, wanted) < 4 * error(own, wanted) + 4e-7, (name, place, error(own, wanted))


@pytest.mark.parametrize("name", ["rows", "totals", "labels"])
def test_huge_values_stay_finite(built, name):
    found, entry = built[name, False]
    inputs = [t * 1e4 if t.is_floating_point() else t for t in found.inputs]
    for got, wanted in zip(call(entry, found, inputs), found.reference(inputs), strict=True):
        assert error(got, wanted) < 2e-6


def test_a_nan_is_the_largest_and_the_smallest(tmp_path):
    found = case(model("x.amax(-1), x.amin(-1), x.max(), x.min(), x.abs().max()", X), "extrema")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule())], tmp_path, "-O3")
    inputs = [found.inputs[0].clone()]
    for nans in (0, 1):
        inputs[0][2, 5 : 5 + nans] = float("nan")
        for got, wanted in zip(call(entry, found, inputs), found.module(*inputs), strict=True):
            assert torch.equal(got.nan_to_num(-99.0), wanted.nan_to_num(-99.0))


def test_extreme_arguments_behave_as_in_torch(tmp_path):
    source = model("torch.exp(x), torch.log1p(x), torch.tanh(x), torch.sigmoid(x), F.gelu(x), torch.expm1(x)", X)
    found = case(source, "extremes")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule())], tmp_path)
    values = torch.tensor([0.0, -1.0, 88.6, 89.0, -87.0, -104.0, 1e30, -1e30, 1e-30, 12.0, -12.0])
    inputs = [values.repeat(24)[: 7 * 37].reshape(7, 37).contiguous()]
    with torch.no_grad():
        wanted = found.module(*inputs)
    for got, reference in zip(call(entry, found, inputs), wanted, strict=True):
        assert torch.allclose(got, reference, rtol=1e-5, atol=1e-30, equal_nan=True)


def test_a_label_outside_the_row_reads_nothing(built):
    found, entry = built["labels", False]
    labels = torch.tensor([0, 1, 2, 10**12, -100, -7, 36])
    losses = call(entry, found, [found.inputs[0], labels])[1]
    assert losses.isnan().tolist() == [False, False, False, True, False, True, False]
    assert losses[4] == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_accumulates_in_float(dtype, tmp_path):
    source = model("torch.softmax(x, -1), F.layer_norm(x, (513,))", f"torch.randn(5, 513).to(torch.{dtype})")
    found = case(source, "half")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule(stores="streaming"))], tmp_path)
    step = 2.0**-10 if dtype == "float16" else 2.0**-7
    for got, wanted in zip(call(entry, found), found.reference(), strict=True):
        assert got.dtype == getattr(torch, dtype)
        assert error(got, wanted) < 0.51 * step


def test_every_half_is_read_and_written_as_the_hardware_does(tmp_path):
    source = model("torch.relu(x), -torch.relu(-x)", "torch.zeros(8, 8192).half()")
    found = case(source, "halves")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule())], tmp_path)
    bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    values = bits.view(torch.float16).reshape(8, 8192)
    above, below = call(entry, found, [values])
    wanted = torch.where(values >= 0, above, below)
    assert torch.equal(wanted.isnan(), values.isnan())
    assert torch.equal(wanted.nan_to_num(0.0), values.nan_to_num(0.0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_results_round_to_nearest_even(dtype, tmp_path):
    source = model(f"(x * 2).to(torch.{dtype})", "torch.zeros(64, 4096)")
    found = case(source, "rounded")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule())], tmp_path)
    torch.manual_seed(0)
    values = torch.randint(-(2**31), 2**31, (64, 4096)).to(torch.int32).view(torch.float32)
    ties = torch.arange(0, 1 << 20, 4).reshape(64, 4096) * 2.0**-27  # between two halves, tiny ones too
    for inputs in (values, ties, values.clamp(-4e4, 4e4).nan_to_num(0.0), torch.full_like(values, 32760.0)):
        (got,) = call(entry, found, [inputs])
        torch.testing.assert_close(got, (inputs * 2).to(getattr(torch, dtype)), rtol=0, atol=0, equal_nan=True)


def test_sums_do_not_drift_with_length(tmp_path):
    found = case(model("x.sum(), x.mean()", "torch.rand(1 << 22) + 1"), "long")
    (entry,) = build([write_cpp(lower(found.task), CppSchedule())], tmp_path)
    for got, wanted in zip(call(entry, found), found.reference(), strict=True):
        assert error(got, wanted) < 2e-7


REFUSED = {
    "aten.matmul.default": ("x @ x", "torch.randn(4, 4)"),
    "aten.conv1d.default": ("F.conv1d(x, x)", "torch.randn(3, 3, 3)"),
    "aten.permute.default": ("x.permute(1, 0) + 1", "torch.randn(4, 5)"),
    "float64": ("x + 1", "torch.randn(4, dtype=torch.float64)"),
    "aten.softmax.int.*leading axes": ("torch.softmax(x, 0)", "torch.randn(4, 5)"),
    "over all rows first": ("x / x.sum()", "torch.randn(4, 5)"),
    "exponent 2.3": ("x ** 2.3", "torch.rand(4)"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_it_cannot_write_it_names(words):
    forward, inputs = REFUSED[words]
    with pytest.raises(ProposeError, match=words):
        lower(case(model(forward, inputs)).task)


def test_a_tensor_and_its_transpose_are_not_confused():
    source = model("x.softmax(-1) + y.softmax(-1).amax(-1)", "torch.randn(6, 6), torch.randn(6, 6)", arguments="x, y")
    with pytest.raises(ProposeError):
        lower(case(source).task)
