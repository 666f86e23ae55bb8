"""Honest kernels of unusual tasks: inputs with a structure, narrow domains, and forms that few sources have.

What a referee that mixes, scales and replaces inputs as it likes would make NaN of, or would find no dependence in. Each is
a task's arguments, what it computes, its inputs, and the body of a C++ function whose pointers are `a`, `b`, … in the task's
order, parameters behind inputs, and `y`, `z` for results.
"""

from typing import NamedTuple

HEAD = "".join(f"#include <{name}>\n" for name in ("algorithm", "cmath", "cstdint", "cstring", "numeric", "vector"))
F, H, L, M = "const float*", "const _Float16*", "const int64_t*", "const bool*"
"""Pointers to inputs: single and half precision, whole numbers, masks."""


class Odd(NamedTuple):
    """One task and one honest kernel."""

    arguments: str
    computes: str
    inputs: str
    types: str
    body: str
    init: str = "pass"

    @property
    def task(self) -> str:
        """The task's file."""
        return (
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
            "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        {self.init}\n"
            f"    def forward(self, {self.arguments}):\n        return {self.computes}\n"
            f"def get_inputs():\n    return [{self.inputs}]\n"
        )

    @property
    def kernel(self) -> str:
        """The kernel's file."""
        types = [t.strip() for t in self.types.split(",")]
        outputs = [t for t in types if not t.startswith("const")]
        inputs = [t for t in types if t.startswith("const")]
        named = [*zip(inputs, "abcdefgh", strict=False), *zip(outputs, "yz", strict=False)]
        listed = ", ".join(f"{kind} {name}" for kind, name in named)
        head = HEAD + ATTRIBUTES.get(self.body.partition("\n")[0], 'extern "C" void')
        return f"{head} entry({listed}) {{\n{self.body}\n}}\n"


ATTRIBUTES = {
    "// visible": 'extern "C" __attribute__((visibility("default"))) void',
    "// apart": 'extern "C" [[gnu::noinline]] void',
}


def each(expression: str, count: int) -> str:
    """A result element by element."""
    return f"for (long i = 0; i < {count}; i++) y[i] = {expression};"


def rows(row: str, count: int, width: int) -> str:
    """A result row by row; `x` is the row."""
    return f"for (long r = 0; r < {count}; r++) {{ auto x = a + r * {width}; {row} }}"


N = 64 * 128
ODD: dict[str, Odd] = {
    # --- narrow domains ---------------------------------------------------------------------------------------------
    "half_exp": Odd("x", "torch.exp(x)", "torch.randn(64, 128).half()",
                f"{H}, _Float16*", each("std::exp(float(a[i]))", N)),
    "half_cube": Odd("x", "x * x * x", "torch.randn(64, 128).half()", f"{H}, _Float16*",
                     each("_Float16(_Float16(a[i] * a[i]) * a[i])", N)),
    "acos": Odd("x", "torch.acos(x)", "torch.rand(64, 128) * 2 - 1", f"{F}, float*", each("std::acos(a[i])", N)),
    "asin": Odd("x", "torch.asin(x)", "torch.rand(64, 128) * 1.98 - 0.99", f"{F}, float*", each("std::asin(a[i])", N)),
    "atanh": Odd("x", "torch.atanh(x)", "torch.rand(64, 128) * 1.8 - 0.9", f"{F}, float*", each("std::atanh(a[i])", N)),
    "logit": Odd("x", "torch.logit(x)", "torch.rand(64, 128) * 0.998 + 0.001", f"{F}, float*",
                 each("std::log(double(a[i]) / (1 - double(a[i])))", N)),
    "log": Odd("x", "torch.log(x)", "torch.rand(64, 128) + 0.01", f"{F}, float*", each("std::log(a[i])", N)),
    "rsqrt": Odd("x", "torch.rsqrt(x)", "torch.rand(64, 128) + 0.01", f"{F}, float*", each("1 / std::sqrt(a[i])", N)),
    "single_exp": Odd("x", "torch.exp(x * 8)", "torch.randn(64, 128)", f"{F}, float*", each("std::exp(a[i] * 8)", N)),
    "acosh": Odd("x", "torch.acosh(x)", "torch.rand(64, 128) + 1.001", f"{F}, float*",
                 each("std::acosh(double(a[i]))", N)),
    "entropy": Odd("p", "-(p * torch.log(p)).sum(-1)", "torch.rand(64, 128) * 0.9 + 0.05", f"{F}, float*",
                   rows("double s = 0; for (int i = 0; i < 128; i++) s -= x[i] * std::log(x[i]); y[r] = s;", 64, 128)),
    "pi": Odd("p", "((p * p).sum(-1) < 1).float().mean() * 4", "torch.rand(8192, 2)", f"{F}, float*",
              "long n = 0; for (int i = 0; i < 8192; i++) n += a[2*i]*a[2*i] + a[2*i+1]*a[2*i+1] < 1; "
              "*y = n * (4.0 / 8192);"),
    "cross_entropy": Odd("p, t", "F.binary_cross_entropy(p, t)", "torch.rand(4096) * 0.98 + 0.01, torch.rand(4096)",
                         f"{F}, {F}, float*",
                         "double s = 0; for (int i = 0; i < 4096; i++) "
                         "s -= b[i] * std::log(a[i]) + (1 - b[i]) * std::log1p(-a[i]);\n*y = s / 4096;"),
    "unit_rows": Odd("x", "1 / (1.0001 - (x[:-1] * x[1:]).sum(-1))", "F.normalize(torch.randn(65, 128))",
                f"{F}, float*",
                     "for (int r = 0; r < 64; r++) { double s = 0; for (int i = 0; i < 128; i++) "
                     "s += double(a[r*128+i]) * a[(r+1)*128+i]; y[r] = 1 / (1.0001 - s); }"),
    # --- structured integers and masks -------------------------------------------------------------------------------
    "lengths": Odd("x, n", "(x * (torch.arange(128) < n[:, None])).sum(-1) / n",
                   "torch.randn(64, 128), torch.randint(1, 129, (64,))", f"{F}, {L}, float*",
                   rows("double s = 0; for (int i = 0; i < b[r]; i++) s += x[i]; y[r] = s / b[r];", 64, 128)),
    "one_true": Odd("x, m", "x.masked_fill(~m, float('-inf')).amax(-1)",
                    "torch.randn(64, 128), F.one_hot(torch.randint(128, (64,)), 128).bool()", f"{F}, {M}, float*",
                    rows("for (int i = 0; i < 128; i++) if (b[r * 128 + i]) y[r] = x[i];", 64, 128)),
    "scatter": Odd("x, p", "torch.empty_like(x).index_copy_(0, p, x)", "torch.randn(4096), torch.randperm(4096)",
                   f"{F}, {L}, float*", "for (int i = 0; i < 4096; i++) y[b[i]] = a[i];"),
    "unshuffled": Odd("x, p", "x[torch.argsort(p)]", "torch.randn(8192), torch.randperm(8192)", f"{F}, {L}, float*",
                      "for (int i = 0; i < 8192; i++) y[b[i]] = a[i];"),
    "edges": Odd("x, e", "x.new_zeros(256).index_add_(0, e, x)",
                 "torch.randn(8192), torch.randint(256, (8192,)).sort().values", f"{F}, {L}, float*",
                 "std::vector<double> s(256); for (int i = 0; i < 8192; i++) s[b[i]] += a[i];\n"
                 "for (int i = 0; i < 256; i++) y[i] = s[i];"),
    "bag": Odd("t, i, o", "F.embedding_bag(i, t, o, mode='sum')",
               "torch.randn(99, 16), torch.randint(99, (512,)), "
               "torch.cat([torch.zeros(1), torch.rand(63).sort().values * 512]).long()",
               f"{F}, {L}, {L}, float*",
               "for (int r = 0; r < 64; r++) { double s[16] = {}; long end = r < 63 ? c[r + 1] : 512;\n"
               "for (long k = c[r]; k < end; k++) for (int j = 0; j < 16; j++) s[j] += a[b[k] * 16 + j];\n"
               "for (int j = 0; j < 16; j++) y[r * 16 + j] = s[j]; }"),
    "repeat": Odd("x, n", "torch.repeat_interleave(x, n, output_size=640)",
                  "torch.randn(64), torch.diff(torch.randperm(639)[:63].sort().values + 1, "
                  "prepend=torch.zeros(1).long(), append=torch.tensor([640]))",
                  f"{F}, {L}, float*", "for (int i = 0; i < 64; i++) for (long k = 0; k < b[i]; k++) *y++ = a[i];"),
    "ragged": Odd("x, o", "torch.stack([s.sum() for s in torch.tensor_split(x, [16, 48, 96])]) + o.float().sum()",
                  "torch.randn(128), torch.tensor([16, 48, 96])", f"{F}, {L}, float*",
                  "const long o[5] = {0, 16, 48, 96, 128}; float n = b[0] + b[1] + b[2];\n"
                  "for (int r = 0; r < 4; r++) { double s = 0; for (long i = o[r]; i < o[r + 1]; "
                  "i++) s += a[i]; y[r] = s + n; }"),
    "positions": Odd("x, p", "x + p.float()[:, None] * 0.5", "torch.randn(128, 64), torch.arange(128)",
                f"{F}, {L}, float*",
                     each("a[i] + b[i / 64] * 0.5f", N)),
    "causal": Odd("x, m", "torch.softmax(x.masked_fill(~m, float('-inf')), -1)",
                  "torch.randn(64, 64), torch.ones(64, 64).tril().bool()", f"{F}, {M}, float*",
                  rows("double s = 0; float v[64], most = x[0]; for (int i = 0; i <= r; i++) most = std::max(most, x[i]);\n"
                       "for (int i = 0; i < 64; i++) s += v[i] = b[r*64+i] ? std::exp(x[i] - most) : 0;\n"
                       "for (int i = 0; i < 64; i++) y[r*64+i] = v[i] / s;", 64, 64)),
    "additive_mask": Odd("x, m", "torch.softmax(x + m, -1)",
                         "torch.randn(64, 64), torch.full((64, 64), float('-inf')).triu(1)", f"{F}, {F}, float*",
                         rows("double s = 0; float v[64], most = -INFINITY; auto m = b + r * 64;\n"
                              "for (int i = 0; i < 64; i++) most = std::max(most, x[i] + m[i]);\n"
                              "for (int i = 0; i < 64; i++) s += v[i] = std::exp(x[i] + m[i] - most);\n"
                              "for (int i = 0; i < 64; i++) y[r*64+i] = v[i] / s;", 64, 64)),
    "inverse_permutation": Odd("p", "torch.argsort(p)", "torch.randperm(8192)", f"{L}, int64_t*",
                               "for (int i = 0; i < 8192; i++) y[a[i]] = i;"),
    "search": Odd("s, x", "torch.searchsorted(s, x)", "torch.randn(1024).sort().values, torch.randn(4096)",
                  f"{F}, {F}, int64_t*", each("std::lower_bound(a, a + 1024, b[i]) - a", 4096)),
    "merged": Odd("s", "torch.diff(s)", "torch.rand(16, 257).sort().values", f"{F}, float*",
                  "for (int r = 0; r < 16; r++) for (int i = 0; i < 256; "
                  "i++) y[r * 256 + i] = a[r * 257 + i + 1] - a[r * 257 + i];"),
    "counts": Odd("i", "torch.zeros(64, dtype=torch.int64).scatter_add_(0, i, torch.ones_like(i))",
                  "torch.randint(64, (8192,))", f"{L}, int64_t*",
                  "std::fill(y, y + 64, 0); for (int i = 0; i < 8192; i++) y[a[i]]++;"),
    "labels": Odd("x, t", "F.cross_entropy(x, t)", "torch.randn(256, 32), torch.randint(32, (256,))",
                f"{F}, {L}, float*",
                  "double total = 0; " + rows(
                      "double s = 0; float most = *std::max_element(x, x + 32);\n"
                      "for (int i = 0; i < 32; i++) s += std::exp(double(x[i]) - most);\n"
                      "total += std::log(s) + most - x[b[r]];", 256, 32) + " *y = total / 256;"),
    # --- structured matrices -----------------------------------------------------------------------------------------
    "triangular": Odd("l, b", "torch.linalg.solve_triangular(l, b[:, None], upper=False)[:, 0]",
                      "torch.randn(64, 64).tril(-1) * 0.1 + 2 * torch.eye(64), torch.randn(64)", f"{F}, {F}, float*",
                      "double v[64]; for (int i = 0; i < 64; i++) { double s = b[i]; for (int j = 0; j < i; j++) "
                      "s -= a[i*64+j] * v[j]; y[i] = v[i] = s / a[i*64+i]; }"),
    "cholesky": Odd("m", "torch.linalg.cholesky(m)",
                    "(lambda a: a @ a.mT / 32 + torch.eye(32))(torch.randn(32, 32))", f"{F}, float*",
                    "double l[32][32] = {}; for (int i = 0; i < 32; i++) for (int j = 0; j <= i; "
                    "j++) { double s = a[i*32+j];\n"
                    "for (int k = 0; k < j; k++) s -= l[i][k] * l[j][k]; "
                    "l[i][j] = i == j ? std::sqrt(s) : s / l[j][j]; }\n"
                    "for (int i = 0; i < 1024; i++) y[i] = l[i / 32][i % 32];"),
    "symmetric": Odd("m, x", "m @ x", "(lambda a: a + a.mT)(torch.randn(64, 64)), torch.randn(64)", f"{F}, {F}, float*",
                     "double s[64] = {}; for (int i = 0; i < 64; i++) { s[i] += a[i*65] * b[i]; "
                     "for (int j = 0; j < i; j++) "
                     "{ s[i] += a[i*64+j] * b[j]; s[j] += a[i*64+j] * b[i]; } }\nfor (int i = 0; i < 64; "
                     "i++) y[i] = s[i];"),
    "tied": Odd("x", "F.linear(F.relu(self.first(x)), self.second.weight)", "torch.randn(64, 32)",
                f"{F}, {F}, {F}, float*",
                rows("float h[32]; for (int j = 0; j < 32; j++) { double s = 0; for (int i = 0; i < 32; "
                "i++) s += x[i] * b[j*32+i];\n"
                     "h[j] = s > 0 ? s : 0; } for (int j = 0; j < 32; j++) { double s = 0; for (int i = 0; "
                     "i < 32; i++) "
                     "s += h[i] * b[j*32+i]; y[r*32+j] = s; }", 64, 32),
                "self.first, self.second = nn.Linear(32, 32, bias=False), nn.Linear(32, 32, bias=False); "
                "self.second.weight = self.first.weight"),
    "own_seed": Odd("x", "x * 2 + 1", "torch.randn(64, 128, generator=torch.Generator().manual_seed(5))",
                f"{F}, float*",
                    each("a[i] * 2 + 1", N)),
    # --- forms of kernels ----------------------------------------------------------------------------------------------
    "visible": Odd("x", "torch.relu(x)", "torch.randn(64, 128)",
                f"{F}, float*", "// visible\n" + each("a[i] > 0 ? a[i] : 0", N)),
    "apart": Odd("x", "torch.relu(x)", "torch.randn(64, 128)",
                f"{F}, float*", "// apart\n" + each("a[i] > 0 ? a[i] : 0", N)),
    "serial_softmax": Odd("x", "torch.softmax(x, -1)", "torch.randn(64, 1024)", f"{F}, float*",
                          rows("float most = x[0], s = 0; for (int i = 1; i < 1024; i++) most = std::max(most, x[i]);\n"
                               "for (int i = 0; i < 1024; i++) s += y[r*1024+i] = std::exp(x[i] - most);\n"
                               "for (int i = 0; i < 1024; i++) y[r*1024+i] /= s;", 64, 1024)),
    "online_softmax": Odd("x", "torch.softmax(x, -1)", "torch.randn(64, 1024)", f"{F}, float*",
                          rows("float most = -INFINITY, s = 0; for (int i = 0; i < 1024; i++) if (x[i] > most) "
                               "{ s = s * std::exp(most - x[i]) + 1; most = x[i]; } else s += std::exp(x[i] - most);\n"
                               "for (int i = 0; i < 1024; i++) y[r*1024+i] = std::exp(x[i] - most) / s;", 64, 1024)),
    "cached": Odd("x", "x * 0.5", "torch.randn(1024, 1024)", f"{F}, float*", each("a[i] * 0.5f", 1 << 20)),
    "backwards": Odd("x", "torch.flip(x, (0, 1))", "torch.randn(64, 128)", f"{F}, float*", each("a[8191 - i]", N)),
    "one_number": Odd("x", "x.sum()", "torch.randn(5)", f"{F}, float*", "*y = std::accumulate(a, a + 5, 0.0);"),
    "cancelling": Odd("x, w", "(x * w).sum(-1)", "torch.randn(3), torch.randn(3)", f"{F}, {F}, float*",
                      "*y = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];"),
    "two_results": Odd("x", "(x.amax(-1), x.argmax(-1))", "torch.randn(64, 128)", f"{F}, float*, int64_t*",
                       rows("auto m = std::max_element(x, x + 128); y[r] = *m; z[r] = m - x;", 64, 128)),
    "many_zeros": Odd("x", "F.relu(x - 2.5)", "torch.randn(64, 128)",
                f"{F}, float*", each("std::max(a[i] - 2.5f, 0.f)", N)),
    "wide_range": Odd("x, g", "x * torch.exp(6 * g)[:, None]", "torch.randn(64, 512), torch.randn(64)",
                f"{F}, {F}, float*",
                      rows("float g = std::exp(6 * b[r]); for (int i = 0; i < 512; "
                      "i++) y[r*512+i] = x[i] * g;", 64, 512)),
    "threshold": Odd("x", "(x * 3 + 1) > 2.2", "torch.randn(64, 128)", f"{F}, bool*", each("a[i] * 3 + 1 > 2.2f", N)),
    "rare": Odd("x", "torch.sigmoid(x) > 0.97", "torch.randn(64, 128)", f"{F}, bool*",
                each("1 / (1 + std::exp(-a[i])) > 0.97f", N)),
    "running": Odd("x", "torch.cumsum(x, -1)", "torch.randn(16, 1024)", f"{F}, float*",
                   rows("float s = 0; for (int i = 0; i < 1024; i++) y[r*1024+i] = s += x[i];", 16, 1024)),
    "convolution": Odd("x, k", "F.conv1d(x, k, padding=2)", "torch.randn(8, 1, 512), torch.randn(1, 1, 5)",
                f"{F}, {F}, float*",
                       "for (int r = 0; r < 8; r++) for (int i = 0; i < 512; i++) { double s = 0; "
                       "for (int j = 0; j < 5; j++) "
                       "if (i + j >= 2 && i + j < 514) s += a[r*512+i+j-2] * b[j]; y[r*512+i] = s; }"),
    "bits": Odd("x", "(x & 255) ^ (x >> 3)", "torch.randint(0, 1 << 30, (8192,))", f"{L}, int64_t*",
                each("(a[i] & 255) ^ (a[i] >> 3)", N)),
    "spectrum": Odd("x", "torch.abs(torch.fft.rfft(x)) ** 2", "torch.randn(8, 64)", f"{F}, float*",
                    "for (int r = 0; r < 8; r++) for (int k = 0; k < 33; k++) { double s = 0, t = 0; "
                    "for (int i = 0; i < 64; i++) "
                    "{ s += a[r*64+i] * std::cos(2 * M_PI * k * i / 64); "
                    "t += a[r*64+i] * std::sin(2 * M_PI * k * i / 64); }\n"
                    "y[r*33+k] = s * s + t * t; }"),
}  # fmt: skip
"""By name."""
