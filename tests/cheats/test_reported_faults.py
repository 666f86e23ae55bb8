"""Faults that others' kernels had, as reported in public, in other operators and spellings; each beside a right kernel.

What a defence is for stands in `defended`; these are slips. Races, undefined lanes, grids and offsets of Triton's are in
`tests/unit/evaluate/triton`, modules that cannot be traced in `tests/unit/evaluate/pipeline/test_calls_of_the_field.py`.
"""

from typing import NamedTuple

import pytest
from cheat_tasks import QUICK

import calm
from kernelwright.records.candidate import Candidate
from lanes import sampled
from text_tasks import TextTask


class Fault(NamedTuple):
    """Two loops over the elements of `x`, of which there are `n`, in rows of 64."""

    task: TextTask
    wrong: str
    right: str
    says: str = "are not finite"


HEAD = '#include <cmath>\nconstexpr int n = {n};\nextern "C" void kernel'
HIDDEN = "torch.randn(32, 64), torch.rand(32, 64) < 0.6"
ONLINE = """
for (int r = 0; r < n / 64; ++r) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < 64; ++i) {
        const float v = keep[64 * r + i] ? x[64 * r + i] : -INFINITY, next = std::fmax(m, v);
        GUARD
        s = s * std::exp(m - next) + std::exp(v - next);
        m = next;
    }
    for (int i = 0; i < 64; ++i) out[64 * r + i] = keep[64 * r + i] ? std::exp(x[64 * r + i] - m) / s : 0;
}"""
PIECES = """
for (int r = 0; r < n / 64; ++r) {
    float m[8], s[8], most = -INFINITY, total = 0;
    for (int p = 0; p < 8; ++p) {
        m[p] = -INFINITY, s[p] = 0;
        for (int i = 8 * p; i < 8 * p + 8; ++i) if (!hide[64 * r + i]) m[p] = std::fmax(m[p], x[64 * r + i]);
        for (int i = 8 * p; i < 8 * p + 8; ++i) s[p] += std::exp((hide[64 * r + i] ? -INFINITY : x[64 * r + i]) - FROM);
        most = std::fmax(most, m[p]);
    }
    for (int p = 0; p < 8; ++p) total += s[p] * std::exp(FROM - most);
    out[r] = most + std::log(total);
}"""
SCAN = """
for (int r = 0; r < n / 64; ++r) {
    float sum = -INFINITY;
    for (int i = 0; i < 64; ++i) {
        const float v = x[64 * r + i], most = std::fmax(sum, v);
        sum = GUARD most + std::log(std::exp(sum - most) + std::exp(v - most));
        out[64 * r + i] = sum;
    }
}"""
PAIRS = """
for (int r = 0; r < 48; ++r) for (int c = 0; c < 48; ++c) {
    float s = 0;
    for (int i = 0; i < 64; ++i) { const float a = x[64 * r + i], b = w[64 * c + i]; EACH }
    out[48 * r + c] = s;
}"""
MEANS = """
for (int r = 0; r < 48; ++r) {
    float a = 0, b = 0, s = 0;
    for (int i = 0; i < 64; ++i) a += x[64 * r + i], b += w[64 * r + i];
    for (int i = 0; i < 64; ++i) s += (x[64 * r + i] - LESS * (a / 64)) * (w[64 * r + i] - LESS * (b / 64));
    out[r] = RESULT;
}"""
GRADIENT = (
    "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n    loss = {loss}\n"
    "(grad,) = torch.autograd.grad(loss, y)\ngrad"
)
SQUARE = "torch.randn(48, 64), torch.randn(64, 48)"


def each(expression, *before):
    """A loop over all elements."""
    return f"for (int i = 0; i < n; ++i) {{ const float v = x[i]; {' '.join(before)} out[i] = {expression}; }}"


FAULTS = {
    "sigmoid, its numerator first": Fault(
        TextTask("x", "torch.sigmoid(x)", "torch.randn(64, 64) * 20"), each("std::exp(v) / (1 + std::exp(v))"),
        each("v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v))"),
    ),
    "two exponentials under a logarithm": Fault(
        TextTask("x, w", "torch.logaddexp(x, w)", "torch.randn(48, 64) * 20, torch.randn(48, 64) * 20"),
        each("std::log(std::exp(v) + std::exp(w[i]))"),
        each("std::fmax(v, w[i]) + std::log1p(std::exp(-std::abs(v - w[i])))"), "are not finite or not infinite alike",
    ),
    "a cap of tanh, one exponential, in single precision": Fault(
        TextTask("x", "5 * torch.tanh(x / 5)", "torch.randn(64, 64) * 3"), each("5 - 10 / (std::exp(2 * v / 5) + 1)"),
        each("5 * e / (e + 2)", "const float e = std::expm1(std::fmin(2 * v / 5, 80.f));"), "digits are lost near zero",
    ),
    "log-sum-exp from zero": Fault(
        TextTask("x", "torch.logsumexp(x, 1)", "torch.randn(64, 64) * 9"),
        "for (int r = 0; r < n / 64; ++r) { float s = 0; for (int i = 0; i < 64; ++i) s += std::exp(x[64 * r + i]);"
        " out[r] = std::log(s); }",
        "for (int r = 0; r < n / 64; ++r) { float m = x[64 * r], s = 0;"
        " for (int i = 0; i < 64; ++i) m = std::fmax(m, x[64 * r + i]);"
        " for (int i = 0; i < 64; ++i) s += std::exp(x[64 * r + i] - m); out[r] = m + std::log(s); }",
        "not infinite alike or are not finite",
    ),
    "a running softmax that begins with what is hidden": Fault(
        TextTask("x, keep", "torch.where(keep, torch.softmax(x.masked_fill(~keep, -torch.inf), -1), 0)", HIDDEN),
        ONLINE.replace("GUARD", ""), ONLINE.replace("GUARD", "if (next == -INFINITY) continue;"),
    ),
    "pieces of which one is hidden": Fault(
        TextTask(
            "x, hide", "torch.logsumexp(x.masked_fill(hide, -torch.inf), 1)",
            "torch.randn(32, 64), torch.arange(64) // 8 == torch.arange(32)[:, None] % 8",
        ),
        PIECES.replace("FROM", "m[p]"), PIECES.replace("FROM", "(m[p] == -INFINITY ? 0 : m[p])"),
    ),
    "a scan that begins with nothing": Fault(
        TextTask("x", "torch.logcumsumexp(x, 1)", "torch.cat([torch.full((32, 4), -torch.inf), torch.randn(32, 60)], 1)"),
        SCAN.replace("GUARD", ""), SCAN.replace("GUARD", "most == -INFINITY ? most :"), "are not finite or not infinite alike",
    ),
    "squared distances by squares less products": Fault(
        TextTask("x, w", "(x[:, None] - w[None]).square().sum(-1)", "torch.randn(48, 64), torch.randn(48, 64)"),
        PAIRS.replace("EACH", "s += a * a + b * b - 2 * a * b;"), PAIRS.replace("EACH", "s += (a - b) * (a - b);"),
        "elements are off",
    ),
    "a covariance by products less means": Fault(
        TextTask(
            "x, w", "((x - x.mean(1, keepdim=True)) * (w - w.mean(1, keepdim=True))).mean(1)",
            "torch.randn(48, 64), torch.randn(48, 64)",
        ),
        MEANS.replace("LESS", "0").replace("RESULT", "s / 64 - a / 64 * (b / 64)"),
        MEANS.replace("LESS", "1").replace("RESULT", "s / 64"), "elements are off",
    ),
    "a gradient through a transpose": Fault(
        TextTask("x, w", GRADIENT.format(loss="(y.t() * w).sin().sum()"), SQUARE),
        each("std::cos(v * w[i]) * w[i]"),
        "for (int r = 0; r < 48; ++r) for (int c = 0; c < 64; ++c) { const float g = w[48 * c + r];"
        " out[64 * r + c] = std::cos(x[64 * r + c] * g) * g; }",
        "elements are off",
    ),
    "a gradient that is summed where it was expanded": Fault(
        TextTask(
            "x, w", GRADIENT.format(loss="(y.expand(48, 64) * w).exp().sum()"), "torch.randn(48, 1), torch.randn(48, 64)"
        ),
        "for (int r = 0; r < 48; ++r) out[r] = std::exp(x[r] * w[r]) * w[r];",
        "for (int r = 0; r < 48; ++r) { double s = 0;"
        " for (int c = 0; c < 64; ++c) s += std::exp(x[r] * w[64 * r + c]) * w[64 * r + c]; out[r] = s; }",
        "elements are off",
    ),
}  # fmt: skip


def kernel(fault, body):
    """A C++ candidate."""
    names = fault.task.arguments.split(", ")
    kinds = {"keep": "bool", "hide": "bool"}
    arguments = ", ".join(f"const {kinds.get(name, 'float')}* {name}" for name in names)
    count = {"x, w": 48 * 64}.get(fault.task.arguments, 32 * 64 if "32" in fault.task.inputs else 64 * 64)
    text = f"{HEAD.format(n=count)}({arguments}, float* out) {{\n{body}\n}}\n"
    return Candidate(language="cpp", source=text, entry="kernel")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_was_reported_is_found_in_another_form_and_its_repair_is_right(bench, name):
    fault = FAULTS[name]
    with bench.alone(fault.task.source("reported")) as task:
        wrong, right = (
            bench.evaluate(task, kernel(fault, body), QUICK, "verify") for body in (fault.wrong, fault.right)
        )
    assert right.outcome == "verified", getattr(right, "evidence", right)
    assert wrong.outcome == "incorrect", wrong.outcome
    assert any(words in wrong.evidence for words in fault.says.split(" or ")), wrong.evidence


COMPILING = "if torch.compiler.is_dynamo_compiling(): "
BROKEN = {
    "x = x + 1": "its result 0 is wrong",
    "x = torch.cat([x[:-1], x[-1:] * 0])": "its result 0 is wrong",
    "x = x / 0": "its result 0 is wrong",
    "x = x + torch.linalg.cholesky(-torch.eye(64))": "it raised ",
    "x = x[1:]": "its result 0 has shape [63, 64], not [64, 64]",
}
"""What PyTorch's compiler may make of a reference, for which the reference itself stands in, and what is said of it."""


@pytest.mark.parametrize("made", [*sampled(BROKEN, lambda _: False)])
def test_a_baseline_that_is_wrong_is_named_and_the_kernel_is_measured(bench, made):
    task = TextTask("x", f"{COMPILING}{made}\nx * 3 + 1", "torch.randn(64, 64)").source("compiled")
    right = f"{HEAD.format(n=4096)}(const float* x, float* out) {{ {each('v * 3 + 1')} }}"
    candidate = Candidate(language="cpp", source=right, entry="kernel")
    with bench.alone(task):
        found = calm.until(
            lambda: bench.evaluate(task, candidate, QUICK.model_copy(update={"baselines": ("eager", "compile")})),
            lambda found: found.outcome != "suspect",
        )
    assert [v.baseline for v in found.timing.versus] == ["eager"]
    assert found.timing.missing[0].startswith(f"compile: {BROKEN[made]}")
