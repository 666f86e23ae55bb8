"""Activations by little work: which spellings are one, and how many units in the last place they err by."""

from types import SimpleNamespace

import pytest
from author_cases import build, call, case, model

from kernelwright.propose.author.emit.triton_file import HELPERS
from kernelwright.propose.author.search.designs import cpp_design, triton_design

torch = pytest.importorskip("torch")
MISH = {
    "mish": "F.mish(x)",
    "of softplus": "torch.tanh(F.softplus(x)) * x",
    "by hand": "x * torch.tanh(torch.log(1 + torch.exp(x)))",
    "by hand, precisely": "x * torch.log1p(x.exp()).tanh()",
}
SOFTPLUS = {
    "softplus": "F.softplus(x)",
    "of a sum": "torch.log(torch.exp(x) + 1.0)",
    "precisely": "torch.log1p(torch.exp(x))",
}
ENDS = [
    -200.0,
    -87.0,
    -20.0,
    -1.0,
    -1e-5,
    0.0,
    1e-5,
    1.0,
    1.4,
    1.6,
    19.0,
    20.0,
    44.0,
    89.0,
    1e30,
    float("inf"),
    float("nan"),
]


def kernels(forward):
    """In Triton and in C++, without the task's own source, which has the words that are looked for."""
    text = model(forward, "torch.randn(7, 37)")
    designs = triton_design(case(text, "t", "cuda").task), cpp_design(case(text, "t").task)
    triton, cpp = (design.write(design.default).source for design in designs)
    return triton[triton.index("@triton.jit") : triton.index("class ModelNew")], cpp


@pytest.mark.parametrize("spelled", MISH)
def test_the_tangent_of_softplus_needs_no_logarithm_however_it_is_spelled(spelled):
    for source in kernels(MISH[spelled]):
        assert "20.0" in source
        assert not any(word in source for word in ("tanh(", "tl.log(", "::log(", "log1p(", "softplus("))


@pytest.mark.parametrize("spelled", SOFTPLUS)
def test_softplus_is_one_operation_however_it_is_spelled(spelled):
    for source in kernels(SOFTPLUS[spelled]):
        assert "softplus(" in source
        assert not any(word in source for word in ("tl.log(", "::log(", "log1p(", "* 1.0)"))


@pytest.mark.parametrize("forward", ["torch.tanh(F.softplus(x, beta=2))", "torch.tanh(torch.log(2 + torch.exp(x)))"])
def test_another_function_is_left_as_it_is(forward):
    assert all("tanh(" in source for source in kernels(forward))


def test_the_ends_of_the_line_are_right_in_cpp(tmp_path):
    text = model(
        f"{MISH['mish']}, {SOFTPLUS['softplus']}, F.softplus(x, 2, 3)",
        f"torch.tensor([{ENDS}])".replace("inf", "float('inf')"),
    )
    found = case(text.replace("nan", "float('nan')"), "ends")
    design = cpp_design(found.task)
    (entry,) = build([design.write(design.default)], tmp_path)
    for got, wanted in zip(call(entry, found), found.reference(), strict=True):
        assert torch.allclose(got.double(), wanted, rtol=2e-6, atol=1e-37, equal_nan=True), (got, wanted)


@pytest.fixture(scope="module")
def helpers():
    """The functions of Triton kernels over tensors, with PyTorch's float32 in place of Triton's."""
    tl = SimpleNamespace(
        abs=torch.abs, exp=torch.exp, exp2=torch.exp2, where=torch.where, PropagateNan=SimpleNamespace(ALL=None),
        maximum=lambda a, b, propagate_nan: torch.maximum(a, torch.tensor(b)),
    )  # fmt: skip
    scope = {"tl": tl, "triton": SimpleNamespace(jit=lambda function: function)}
    for name in EXACT:
        exec(HELPERS[name], scope)
    return scope


EXACT = {
    "_softplus": (lambda x: x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())), -20.0, 30.0, 4.0),
    "_tanh": (torch.tanh, -12.0, 12.0, 3.5),
    "_normal_cdf": (torch.special.ndtr, 0.0, 9.0, 2.0),
}
"""By name: what is meant, where, and the units in the last place that a float may be off by."""


@pytest.mark.parametrize("name", EXACT)
def test_a_function_errs_by_few_units_in_the_last_place(helpers, name):
    exact, low, high, most = EXACT[name]
    near = torch.logspace(-6, 0, 200_001)
    x = torch.cat([torch.linspace(low, high, 400_001), near, -near if low < 0 else near])
    wanted = exact(x.double())
    unit = torch.exp2(torch.floor(torch.log2(wanted.abs().clamp_min(2.0**-126))) - 23)
    worst = float(((helpers[name](x).double() - wanted) / unit).abs().max())
    assert 0.4 < worst <= most


def test_the_normal_distributions_left_tail_keeps_the_digits_that_erf_would_lose(helpers):
    x = torch.linspace(-5.6, 0.0, 100_001)
    wanted = torch.special.ndtr(x.double())
    found = helpers["_normal_cdf"](x).double()
    by_erf = (0.5 * (1.0 + torch.erf(x * 0.7071067811865476))).double()
    assert float(((found - wanted) / wanted).abs().max()) < 1e-5 < float(((by_erf - wanted) / wanted).abs().max())
    far = helpers["_normal_cdf"](torch.tensor([-6.0, -8.0, -12.0, -1e4, -float("inf"), float("inf"), float("nan")]))
    assert torch.all(far[:5].diff() <= 0)
    assert far[0] < 1e-9
    assert far[4] == 0
    assert far[5] == 1
    assert far[6].isnan()
