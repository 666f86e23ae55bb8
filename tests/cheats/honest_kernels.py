"""Honest C++ kernels, borderline ones too: right answers by other ways than the reference's. None may be refused.

Text only. A task is a `forward` over named inputs; a kernel is the body of a function that gets its inputs, parameters and
outputs as pointers. All kernels of a task are compiled together.
"""

from dataclasses import dataclass, field

HEAD = """
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>
using half = _Float16;
[[maybe_unused]] static float widened(uint16_t b) { uint32_t u = uint32_t(b) << 16; float f; std::memcpy(&f, &u, 4); return f; }
[[maybe_unused]] static uint16_t rounded(float f) {
    uint32_t u; std::memcpy(&u, &f, 4);
    return uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
"""


@dataclass(frozen=True)
class Honest:
    """A task and kernels that are right."""

    forward: str
    inputs: dict[str, str]
    arguments: str
    kernels: dict[str, str]
    init: str = "pass"
    extra: str = ""
    flags: tuple[str, ...] = field(default=())

    @property
    def task(self):
        names, values = ", ".join(self.inputs), ", ".join(self.inputs.values())
        return (
            f"import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n{self.extra}\n"
            f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {self.init}\n"
            f"    def forward(self, {names}):\n        return {self.forward}\n"
            f"def get_inputs():\n    return [{values}]\n"
        )

    @property
    def source(self):
        return HEAD + "".join(
            f'extern "C" void {name}({self.arguments}) {{{body}}}\n' for name, body in self.kernels.items()
        )


X = {"x": "torch.randn(64, 96)"}
FLAT = "const float* x, float* out"

HONEST = {
    # --- sums: order, compensation, precision, blocking ---------------------------------------------------------
    "row_sum": Honest("x.sum(1)", {"x": "torch.randn(33, 1000)"}, FLAT, {
        "plain": "for (int r = 0; r < 33; ++r) { float s = 0; for (int i = 0; i < 1000; ++i) s += x[r*1000+i]; out[r] = s; }",
        "backwards": "for (int r = 0; r < 33; ++r) { float s = 0; for (int i = 999; i >= 0; --i) s += x[r*1000+i]; out[r] = s; }",
        "two_stage": "for (int r = 0; r < 33; ++r) { float p[10] = {}; for (int i = 0; i < 1000; ++i) p[i/100] += x[r*1000+i];"
                     " float s = 0; for (float v : p) s += v; out[r] = s; }",
        "strided": "for (int r = 0; r < 33; ++r) { float p[8] = {}; for (int i = 0; i < 1000; ++i) p[i%8] += x[r*1000+i];"
                   " out[r] = ((p[0]+p[1])+(p[2]+p[3]))+((p[4]+p[5])+(p[6]+p[7])); }",
        "kahan": "for (int r = 0; r < 33; ++r) { volatile float s = 0, c = 0; for (int i = 0; i < 1000; ++i) {"
                 " volatile float y = x[r*1000+i] - c; volatile float t = s + y; c = (t - s) - y; s = t; } out[r] = s; }",
        "in_double": "for (int r = 0; r < 33; ++r) { double s = 0; for (int i = 0; i < 1000; ++i) s += x[r*1000+i];"
                     " out[r] = float(s); }",
        "onto_its_own_output": "for (int r = 0; r < 33; ++r) out[r] = 0;"
                               " for (int i = 0; i < 1000; ++i) for (int r = 0; r < 33; ++r) out[r] += x[r*1000+i];",
    }),
    "leading_sum": Honest("x.sum(0)", {"x": "torch.randn(1000, 33)"}, FLAT, {
        "row_by_row": "for (int j = 0; j < 33; ++j) out[j] = 0;"
                      " for (int i = 0; i < 1000; ++i) for (int j = 0; j < 33; ++j) out[j] += x[i*33+j];",
        "blocks_of_rows": "float p[4][33] = {}; for (int i = 0; i < 1000; ++i) for (int j = 0; j < 33; ++j)"
                          " p[i/250][j] += x[i*33+j]; for (int j = 0; j < 33; ++j) out[j] = p[0][j]+p[1][j]+p[2][j]+p[3][j];",
    }),
    "long_mean": Honest("(x * x).mean()", {"x": "torch.randn(1 << 24)"}, FLAT, {
        "lanes": "static float p[4096]; std::fill(p, p + 4096, 0.f);"
                 " for (int b = 0; b < 4096; ++b) { float q[16] = {}; for (int i = 0; i < 4096; i += 16)"
                 " for (int k = 0; k < 16; ++k) q[k] += x[b*4096+i+k] * x[b*4096+i+k]; for (float v : q) p[b] += v; }"
                 " float s = 0; for (float v : p) s += v; *out = s / (1 << 24);",
        "in_double": "double s = 0; for (int i = 0; i < 1 << 24; ++i) s += double(x[i]) * x[i]; *out = float(s / (1 << 24));",
    }),
    "variance": Honest("x.var(1)", {"x": "torch.randn(32, 500) + 3"}, FLAT, {
        "two_passes": "for (int r = 0; r < 32; ++r) { float m = 0, v = 0; for (int i = 0; i < 500; ++i) m += x[r*500+i];"
                      " m /= 500; for (int i = 0; i < 500; ++i) v += (x[r*500+i]-m)*(x[r*500+i]-m); out[r] = v / 499; }",
        "welford": "for (int r = 0; r < 32; ++r) { float m = 0, v = 0; for (int i = 0; i < 500; ++i) {"
                   " float d = x[r*500+i] - m; m += d / (i + 1); v += d * (x[r*500+i] - m); } out[r] = v / 499; }",
        "merged": "for (int r = 0; r < 32; ++r) { float M[5], V[5]; for (int b = 0; b < 5; ++b) { float m = 0, v = 0;"
                  " for (int i = 0; i < 100; ++i) { float d = x[r*500+b*100+i] - m; m += d / (i + 1);"
                  " v += d * (x[r*500+b*100+i] - m); } M[b] = m; V[b] = v; }"
                  " float m = M[0], v = V[0], n = 100; for (int b = 1; b < 5; ++b) { float d = M[b] - m, t = n + 100;"
                  " m += d * 100 / t; v += V[b] + d * d * n * 100 / t; n = t; } out[r] = v / 499; }",
    }),
    # --- rows ---------------------------------------------------------------------------------------------------
    "softmax": Honest("torch.softmax(x, -1)", {"x": "torch.randn(40, 333)"}, FLAT, {
        "three_passes": "for (int r = 0; r < 40; ++r) { const float* a = x + r*333; float* o = out + r*333; float m = a[0], s = 0;"
                        " for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);"
                        " for (int i = 0; i < 333; ++i) s += o[i] = std::exp(a[i] - m);"
                        " for (int i = 0; i < 333; ++i) o[i] /= s; }",
        "online": "for (int r = 0; r < 40; ++r) { const float* a = x + r*333; float m = -INFINITY, s = 0;"
                  " for (int i = 0; i < 333; ++i) { float n = std::max(m, a[i]); s = s * std::exp(m - n) + std::exp(a[i] - n);"
                  " m = n; } for (int i = 0; i < 333; ++i) out[r*333+i] = std::exp(a[i] - m) / s; }",
        "powers_of_two": "const float l = 1.44269504f; for (int r = 0; r < 40; ++r) { const float* a = x + r*333;"
                         " float m = a[0], s = 0; for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);"
                         " for (int i = 0; i < 333; ++i) s += std::exp2((a[i] - m) * l); const float inverse = 1 / s;"
                         " for (int i = 0; i < 333; ++i) out[r*333+i] = std::exp2((a[i] - m) * l) * inverse; }",
        "of_logarithms": "for (int r = 0; r < 40; ++r) { const float* a = x + r*333; float m = a[0], s = 0;"
                         " for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);"
                         " for (int i = 0; i < 333; ++i) s += std::exp(a[i] - m);"
                         " for (int i = 0; i < 333; ++i) out[r*333+i] = std::exp(a[i] - m - std::log(s)); }",
    }),
    "layer_norm": Honest(
        "F.layer_norm(x, (96,), self.weight, self.bias)", X,
        "const float* x, const float* w, const float* b, float* out", {
        "two_passes": "for (int r = 0; r < 64; ++r) { const float* a = x + r*96; float m = 0, v = 0;"
                      " for (int i = 0; i < 96; ++i) m += a[i]; m /= 96; for (int i = 0; i < 96; ++i) v += (a[i]-m)*(a[i]-m);"
                      " const float k = 1 / std::sqrt(v / 96 + 1e-5f);"
                      " for (int i = 0; i < 96; ++i) out[r*96+i] = (a[i] - m) * k * w[i] + b[i]; }",
        "moments": "for (int r = 0; r < 64; ++r) { const float* a = x + r*96; double m = 0, q = 0;"
                   " for (int i = 0; i < 96; ++i) { m += a[i]; q += double(a[i]) * a[i]; } m /= 96;"
                   " const double k = 1 / std::sqrt(q / 96 - m * m + 1e-5);"
                   " for (int i = 0; i < 96; ++i) out[r*96+i] = float((a[i] - m) * k * w[i] + b[i]); }",
        "folded": "for (int r = 0; r < 64; ++r) { const float* a = x + r*96; float m = 0, v = 0;"
                  " for (int i = 0; i < 96; ++i) { float d = a[i] - m; m += d / (i + 1); v += d * (a[i] - m); }"
                  " const float k = 1 / std::sqrt(v / 96 + 1e-5f);"
                  " for (int i = 0; i < 96; ++i) out[r*96+i] = std::fma(a[i] - m, k * w[i], b[i]); }",
        }, init="self.weight = nn.Parameter(torch.ones(96)); self.bias = nn.Parameter(torch.zeros(96))"),
    "log_sum_exp": Honest("torch.logsumexp(x, 1)", X, FLAT, {
        "shifted": "for (int r = 0; r < 64; ++r) { const float* a = x + r*96; float m = *std::max_element(a, a + 96), s = 0;"
                   " for (int i = 0; i < 96; ++i) s += std::exp(a[i] - m); out[r] = m + std::log(s); }",
        "online": "for (int r = 0; r < 64; ++r) { float m = -INFINITY, s = 0; for (int i = 0; i < 96; ++i) {"
                  " float v = x[r*96+i], n = std::max(m, v); s = s * std::exp(m - n) + std::exp(v - n); m = n; }"
                  " out[r] = m + std::log(s); }",
    }),
    "running_sum": Honest("torch.cumsum(x, 1)", {"x": "torch.randn(16, 777)"}, FLAT, {
        "serial": "for (int r = 0; r < 16; ++r) { float s = 0; for (int i = 0; i < 777; ++i) out[r*777+i] = s += x[r*777+i]; }",
        "in_blocks": "for (int r = 0; r < 16; ++r) { float before = 0; for (int b = 0; b < 777; b += 37) { float s = 0;"
                     " for (int i = b; i < b + 37; ++i) { s += x[r*777+i]; out[r*777+i] = before + s; } before += s; } }",
    }),
    "normalised": Honest("F.normalize(x, dim=1)", X, FLAT, {
        "divided": "for (int r = 0; r < 64; ++r) { float s = 0; for (int i = 0; i < 96; ++i) s += x[r*96+i]*x[r*96+i];"
                   " s = std::max(std::sqrt(s), 1e-12f); for (int i = 0; i < 96; ++i) out[r*96+i] = x[r*96+i] / s; }",
        "multiplied": "for (int r = 0; r < 64; ++r) { float s = 0; for (int i = 0; i < 96; ++i) s += x[r*96+i]*x[r*96+i];"
                      " s = 1 / std::max(std::sqrt(s), 1e-12f); for (int i = 0; i < 96; ++i) out[r*96+i] = x[r*96+i] * s; }",
    }),
    # --- products -----------------------------------------------------------------------------------------------
    "product": Honest("a @ b", {"a": "torch.randn(48, 80)", "b": "torch.randn(80, 56)"},
        "const float* a, const float* b, float* out", {
        "inner_products": "for (int i = 0; i < 48; ++i) for (int j = 0; j < 56; ++j) { float s = 0;"
                          " for (int k = 0; k < 80; ++k) s += a[i*80+k] * b[k*56+j]; out[i*56+j] = s; }",
        "outer_products": "std::fill(out, out + 48*56, 0.f); for (int k = 0; k < 80; ++k) for (int i = 0; i < 48; ++i)"
                          " for (int j = 0; j < 56; ++j) out[i*56+j] += a[i*80+k] * b[k*56+j];",
        "split_in_k": "static float p[4][48*56]; for (int q = 0; q < 4; ++q) for (int i = 0; i < 48; ++i)"
                      " for (int j = 0; j < 56; ++j) { float s = 0; for (int k = q*20; k < q*20+20; ++k)"
                      " s += a[i*80+k] * b[k*56+j]; p[q][i*56+j] = s; }"
                      " for (int i = 0; i < 48*56; ++i) out[i] = (p[0][i] + p[1][i]) + (p[2][i] + p[3][i]);",
        }),
    "bfloat_product": Honest("a @ b", {"a": "torch.randn(32, 200).bfloat16()", "b": "torch.randn(200, 24).bfloat16()"},
        "const uint16_t* a, const uint16_t* b, uint16_t* out", {
        "accumulated_in_floats": "for (int i = 0; i < 32; ++i) for (int j = 0; j < 24; ++j) { float s = 0;"
                                 " for (int k = 0; k < 200; ++k) s += widened(a[i*200+k]) * widened(b[k*24+j]);"
                                 " out[i*24+j] = rounded(s); }",
        "two_halves": "for (int i = 0; i < 32; ++i) for (int j = 0; j < 24; ++j) { float s = 0, t = 0;"
                      " for (int k = 0; k < 100; ++k) { s += widened(a[i*200+k]) * widened(b[k*24+j]);"
                      " t += widened(a[i*200+k+100]) * widened(b[(k+100)*24+j]); } out[i*24+j] = rounded(s + t); }",
        }),
    "small_convolution": Honest("F.conv1d(x, self.weight)", {"x": "torch.randn(2, 3, 40)"},
        "const float* x, const float* w, float* out", {
        "direct": "for (int n = 0; n < 2; ++n) for (int o = 0; o < 4; ++o) for (int t = 0; t < 36; ++t) { float s = 0;"
                  " for (int c = 0; c < 3; ++c) for (int k = 0; k < 5; ++k) s += x[(n*3+c)*40+t+k] * w[(o*3+c)*5+k];"
                  " out[(n*4+o)*36+t] = s; }",
        "taps_outside": "std::fill(out, out + 2*4*36, 0.f); for (int k = 4; k >= 0; --k) for (int c = 0; c < 3; ++c)"
                        " for (int n = 0; n < 2; ++n) for (int o = 0; o < 4; ++o) for (int t = 0; t < 36; ++t)"
                        " out[(n*4+o)*36+t] += x[(n*3+c)*40+t+k] * w[(o*3+c)*5+k];",
        }, init="self.weight = nn.Parameter(torch.randn(4, 3, 5))"),
    # --- elementwise --------------------------------------------------------------------------------------------
    "gelu": Honest("F.gelu(x)", X, FLAT, {
        "with_erf": "for (int i = 0; i < 64*96; ++i) out[i] = 0.5f * x[i] * (1 + std::erf(x[i] * 0.70710678f));",
        "with_erfc": "for (int i = 0; i < 64*96; ++i) out[i] = 0.5f * x[i] * std::erfc(-x[i] * 0.70710678f);",
    }),
    "silu": Honest("F.silu(x)", X, FLAT, {
        "divided": "for (int i = 0; i < 64*96; ++i) out[i] = x[i] / (1 + std::exp(-x[i]));",
        "by_tanh": "for (int i = 0; i < 64*96; ++i) { const double h = 0.5 * x[i]; out[i] = float(h + h * std::tanh(h)); }",
    }),
    "fast_math": Honest("torch.exp(-x * x) + torch.sqrt(torch.abs(x))", X, FLAT, {
        "whatever_the_compiler_does": "for (int i = 0; i < 64*96; ++i) out[i] = std::exp(-x[i]*x[i]) + std::sqrt(std::abs(x[i]));",
        "reordered": "for (int i = 0; i < 64*96; ++i) { float s = std::sqrt(std::abs(x[i])); out[i] = s + std::exp(-(s*s)*(s*s)); }",
    }, flags=("-ffast-math",)),
    "half_scale": Honest("x * 1.5 + 0.25", {"x": "torch.randn(50, 50).half()"}, "const half* x, half* out", {
        "by_way_of_floats": "for (int i = 0; i < 2500; ++i) out[i] = half(float(x[i]) * 1.5f + 0.25f);",
        "in_halves": "for (int i = 0; i < 2500; ++i) out[i] = half(half(x[i] * half(1.5)) + half(0.25));",
    }),
    "half_mean": Honest("x.mean(1)", {"x": "torch.randn(20, 600).half()"}, "const half* x, half* out", {
        "accumulated_in_floats": "for (int r = 0; r < 20; ++r) { float s = 0; for (int i = 0; i < 600; ++i) s += float(x[r*600+i]);"
                                 " out[r] = half(s / 600); }",
    }),
    "broadcast": Honest("x * row + column", {"x": "torch.randn(30, 50)", "row": "torch.randn(50)", "column": "torch.randn(30, 1)"},
        "const float* x, const float* row, const float* column, float* out", {
        "fused": "for (int i = 0; i < 30; ++i) for (int j = 0; j < 50; ++j) out[i*50+j] = std::fma(x[i*50+j], row[j], column[i]);",
        "rounded_twice": "for (int i = 0; i < 1500; ++i) { volatile float p = x[i] * row[i % 50]; out[i] = p + column[i / 50]; }",
        }),
    "clamped": Honest("torch.clamp(x, -0.5, 0.5)", {"x": "torch.randn(1)"}, FLAT, {
        "one_element": "out[0] = x[0] < -0.5f ? -0.5f : x[0] > 0.5f ? 0.5f : x[0];",
    }),
    "tiny": Honest("(a * b).sum()", {"a": "torch.randn(3)", "b": "torch.randn(3)"}, "const float* a, const float* b, float* out", {
        "three_products": "*out = a[2]*b[2] + a[1]*b[1] + a[0]*b[0];",
        "fused": "*out = std::fma(a[0], b[0], std::fma(a[1], b[1], a[2]*b[2]));",
    }),
    "odd": Honest("x.transpose(0, 1) * 2", {"x": "torch.randn(7, 13)"}, FLAT, {
        "moved": "for (int i = 0; i < 13; ++i) for (int j = 0; j < 7; ++j) out[i*7+j] = x[j*13+i] + x[j*13+i];",
    }),
    "partly_empty": Honest("torch.cat([x, y], 0) + 1", {"x": "torch.randn(5, 4)", "y": "torch.zeros(0, 4)"},
        "const float* x, const float*, float* out", {
        "nothing_of_y": "for (int i = 0; i < 20; ++i) out[i] = x[i] + 1;",
        }),
    # --- losses -------------------------------------------------------------------------------------------------
    "cross_entropy": Honest("F.cross_entropy(x, y)", {"x": "torch.randn(50, 20)", "y": "torch.randint(0, 20, (50,))"},
        "const float* x, const int64_t* y, float* out", {
        "in_floats": "float t = 0; for (int r = 0; r < 50; ++r) { const float* a = x + r*20; float m = *std::max_element(a, a+20),"
                     " s = 0; for (int i = 0; i < 20; ++i) s += std::exp(a[i] - m); t += m + std::log(s) - a[y[r]]; } *out = t / 50;",
        "rows_then_mean": "float p[50]; for (int r = 0; r < 50; ++r) { const float* a = x + r*20; float m = *std::max_element(a, a+20),"
                          " s = 0; for (int i = 19; i >= 0; --i) s += std::exp(a[i] - m); p[r] = std::log(s) - (a[y[r]] - m); }"
                          " *out = std::accumulate(p, p + 50, 0.f) / 50;",
        }),
    "hinge": Honest("torch.clamp(1 - x * y, min=0).mean()",
        {"x": "torch.randn(400)", "y": "torch.randint(0, 2, (400,)).float() * 2 - 1"},
        "const float* x, const float* y, float* out", {
        "by_sign": "float s = 0; for (int i = 0; i < 400; ++i) s += std::max(0.f, y[i] > 0 ? 1 - x[i] : 1 + x[i]); *out = s / 400;",
        }),
    "divergence": Honest("F.kl_div(x.log(), y, reduction='batchmean')",
        {"x": "torch.softmax(torch.randn(30, 25), -1)", "y": "torch.softmax(torch.randn(30, 25), -1)"},
        "const float* x, const float* y, float* out", {
        "of_a_quotient": "double s = 0; for (int i = 0; i < 750; ++i) s += y[i] * std::log(double(y[i]) / x[i]);"
                         " *out = float(s / 30);",
        "of_a_difference": "float s = 0; for (int i = 0; i < 750; ++i) s += y[i] * (std::log(y[i]) - std::log(x[i])); *out = s / 30;",
        }),
    # --- integers, masks, positions -----------------------------------------------------------------------------
    "count": Honest("(x > 0.5).sum(1)", X, "const float* x, int64_t* out", {
        "counted": "for (int r = 0; r < 64; ++r) out[r] = std::count_if(x + r*96, x + r*96 + 96, [](float v) { return v > 0.5f; });",
    }),
    "mask": Honest("(a @ b) > 0", {"a": "torch.randn(40, 30)", "b": "torch.randn(30, 40)"},
        "const float* a, const float* b, bool* out", {
        "another_order": "for (int i = 0; i < 40; ++i) for (int j = 0; j < 40; ++j) { float s = 0;"
                         " for (int k = 29; k >= 0; --k) s += a[i*30+k] * b[k*40+j]; out[i*40+j] = s > 0; }",
        }),
    "quantised": Honest("torch.clamp((x / 0.05).round(), -127, 127).to(torch.int8)", X, "const float* x, int8_t* out", {
        "divided": "for (int i = 0; i < 64*96; ++i) out[i] = int8_t(std::min(127.f, std::max(-127.f, std::nearbyint(x[i] / 0.05f))));",
        "multiplied": "for (int i = 0; i < 64*96; ++i)"
                      " out[i] = int8_t(std::min(127.f, std::max(-127.f, std::nearbyint(x[i] * 20.f))));",
    }),
    "embedding": Honest("table[rows]", {"table": "torch.randn(20, 12)", "rows": "torch.randint(0, 20, (35,))"},
        "const float* table, const int64_t* rows, float* out", {
        "copied": "for (int i = 0; i < 35; ++i) std::memcpy(out + i*12, table + rows[i]*12, 48);",
        }),
    "largest": Honest("x.argmax(1)", {"x": "torch.randint(0, 6, (64, 40)).float()"}, "const float* x, int64_t* out", {
        "the_first": "for (int r = 0; r < 64; ++r) out[r] = std::max_element(x + r*40, x + r*40 + 40) - (x + r*40);",
        "the_last": "for (int r = 0; r < 64; ++r) { int b = 0; for (int i = 0; i < 40; ++i) if (x[r*40+i] >= x[r*40+b]) b = i;"
                    " out[r] = b; }",
    }),
    "best_row": Honest("(x @ x.t()).argmin(1)", {"x": "torch.randn(30, 20)"}, "const float* x, int64_t* out", {
        "in_another_order": "for (int i = 0; i < 30; ++i) { float least = INFINITY; for (int j = 29; j >= 0; --j) { float s = 0;"
                            " for (int k = 19; k >= 0; --k) s += x[i*20+k] * x[j*20+k]; if (s <= least) { least = s; out[i] = j; } } }",
    }),
    "top": Honest("torch.topk(x, 5, dim=1)", {"x": "torch.randint(0, 9, (20, 30)).float() - 4"},
        "const float* x, float* out, int64_t* index", {
        "by_partial_sort": "for (int r = 0; r < 20; ++r) { std::vector<int> p(30); std::iota(p.begin(), p.end(), 0);"
                           " std::partial_sort(p.begin(), p.begin() + 5, p.end(), [&](int a, int b) { return x[r*30+a] > x[r*30+b]; });"
                           " for (int i = 0; i < 5; ++i) { index[r*5+i] = p[i]; out[r*5+i] = x[r*30+p[i]]; } }",
        "from_behind": "for (int r = 0; r < 20; ++r) { bool used[30] = {}; for (int i = 0; i < 5; ++i) { int b = -1;"
                       " for (int j = 29; j >= 0; --j) if (!used[j] && (b < 0 || x[r*30+j] > x[r*30+b])) b = j;"
                       " used[b] = true; index[r*5+i] = b; out[r*5+i] = x[r*30+b]; } }",
        }),
    "order": Honest("torch.argsort(x, 1)", {"x": "torch.randint(0, 7, (16, 25)).float() - 3"}, "const float* x, int64_t* out", {
        "unstable": "for (int r = 0; r < 16; ++r) { int64_t* o = out + r*25; std::iota(o, o + 25, 0);"
                    " std::sort(o, o + 25, [&](int a, int b) { return x[r*25+a] != x[r*25+b] ? x[r*25+a] < x[r*25+b] : a > b; }); }",
    }),
    "row_maxima": Honest("x.max(1)", {"x": "torch.randn(24, 31)"}, "const float* x, float* out, int64_t* index", {
        "both": "for (int r = 0; r < 24; ++r) { const float* a = x + r*31; index[r] = std::max_element(a, a + 31) - a;"
                " out[r] = a[index[r]]; }",
    }),
    "whole_numbers": Honest("a * b - a // 3", {"a": "torch.randint(0, 100, (40, 9))", "b": "torch.randint(0, 50, (40, 9))"},
        "const int64_t* a, const int64_t* b, int64_t* out", {
        "exact": "for (int i = 0; i < 360; ++i) out[i] = a[i] * (b[i]) - a[i] / 3;",
        }),
    # --- declared comparators -----------------------------------------------------------------------------------
    "bits": Honest("torch.flip(x, (1,))", X, FLAT, {
        "copied": "for (int r = 0; r < 64; ++r) std::reverse_copy(x + r*96, x + r*96 + 96, out + r*96);",
    }, extra="COMPARATORS = {0: 'exact'}"),
    "dropout": Honest("F.dropout(x, 0.25)", {"x": "torch.randn(32, 32)"}, FLAT, {
        "another_generator": "static uint64_t s = 88172645463325252u; for (int i = 0; i < 1024; ++i) {"
                             " s ^= s << 13; s ^= s >> 7; s ^= s << 17; out[i] = (s >> 40) % 4 ? x[i] * (4.f / 3) : 0; }",
        "a_counter_hashed": "static uint64_t n = 0; for (int i = 0; i < 1024; ++i) { uint64_t z = (n += 0x9e3779b97f4a7c15u);"
                            " z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u; z = (z ^ (z >> 27)) * 0x94d049bb133111ebu; z ^= z >> 31;"
                            " out[i] = (z >> 11) * 0x1p-53 < 0.75 ? x[i] / 0.75f : 0; }",
    }, extra="COMPARATORS = {0: 'statistical'}"),
}  # fmt: skip
