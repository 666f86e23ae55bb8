"""What is proved of loops: which may run in any order, and why others may not."""

import pytest

from kernelwright.nests.dependence import verdicts
from kernelwright.nests.macros import preprocessed
from kernelwright.nests.normal import normal
from kernelwright.nests.reader import read_nest

SIZES = {"n": 64, "m": 48}
OUTER = "for (int i = 0; i < n; i++)"


def said(body, before="", dialect="c"):
    """A word for each loop of a function's body, outer before inner."""
    code = f"{before}\nvoid f(const float *x, const float *y, float *out, float *a, const int *at, int n, int m) {{ {body} }}"
    _, text = preprocessed(code, dialect)
    nest = read_nest(normal(text, "f"), "f", SIZES)
    return [word(verdict) for verdict in verdicts(nest).values()]


def word(verdict):
    if verdict.reason:
        return "in order"
    kinds = [*verdict.reductions.values(), *("best" for _ in verdict.extremes)]
    kinds += [f"array {o}" for o in verdict.histograms.values()] + (["scan"] if verdict.scan else [])
    return " ".join(kinds) or "free"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int i = 0; i < n; i++) out[i] = x[i] + a[n - 1 - i];", ["free"]),
        ("for (int i = 1; i < n; i++) out[i] = out[i - 1] * x[i];", ["in order"]),
        ("for (int i = 1; i < n; i += 2) out[i] = out[i - 1];", ["free"]),
        ("for (int i = 0; i < n / 2; i++) out[i] = out[i + n / 2];", ["free"]),
        ("for (int i = 0; i <= n / 2; i++) out[i] = out[i + n / 2];", ["in order"]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) out[i * m + j] = x[j * n + i];", ["free", "free"]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j <= m; j++) out[i * m + j] = 1;", ["in order", "free"]),
        ("for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) out[j * n + i] = out[i * n + j];", ["free", "free"]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) out[j * n + i] = out[i * n + j];", ["in order", "free"]),
        ("for (int i = 0; i < n; i++) out[i / 2] = x[i];", ["in order"]),
        ("for (int i = 0; i < n; i++) out[2 * (i / 2) + 1 - i % 2] = x[i];", ["free"]),
        ("for (int i = 0; i < n; i++) if (i > 8) out[i] = out[8];", ["free"]),
        ("for (int i = 0; i < n; i++) out[at[i]] = x[i];", ["in order"]),
        ("for (int i = 0; i < n; i++) out[at[i]] += x[i];", ["array +"]),
        ("for (int i = 0; i < n; i++) out[0] += x[i];", ["+"]),
        ("float s = 0; for (int i = 0; i < n; i++) s = x[i] * y[i] + s; *out = s;", ["+"]),
        ("float s = 0; for (int i = 0; i < n; i++) s = x[i] - s; *out = s;", ["in order"]),
        ("float s = x[0]; for (int i = 0; i < n; i++) if (x[i] > s) { s = x[i]; } *out = s;", ["max"]),
        ("float s = x[0]; for (int i = 0; i < n; i++) s = s < x[i] ? s : x[i]; *out = s;", ["min"]),
        ("float s = x[0]; for (int i = 0; i < n; i++) s = fmaxf(x[i], s); *out = s;", ["max"]),
        ("int ok = 1; for (int i = 0; i < n; i++) ok = ok && x[i] > 0; *out = ok;", ["&&"]),
        ("float s = 0; int k = 0; for (int i = 0; i < n; i++) if (x[i] >= s) { s = x[i]; k = i; } *out = s + k;", ["best"]),
        ("float s = 0; for (int i = 0; i < n; i++) { s += x[i]; out[i] = s; }", ["scan"]),
        ("float s = 0; for (int i = 0; i < n; i++) out[i] = s += x[i];", ["scan"]),
        ("out[0] = x[0]; for (int i = 1; i < n; i++) out[i] = out[i - 1] + x[i];", ["scan"]),
        ("float t; for (int i = 0; i < n; i++) { t = x[i]; out[i] = t * t; }", ["free"]),
        ("float t = 0; for (int i = 0; i < n; i++) { out[i] = t; t = x[i]; }", ["in order"]),
        ("float t; for (int i = 0; i < n; i++) { if (i % 2) t = x[i]; out[i] = t; }", ["in order"]),
        (f"float t[4]; {OUTER} {{ for (int k = 0; k < 4; k++) t[k] = x[i]; out[i] = t[3]; }}", ["free", "free"]),
        (f"float t[4]; {OUTER} {{ for (int k = 0; k < 3; k++) t[k] = x[i]; out[i] = t[3]; }}", ["in order", "free"]),
        ("for (int i = 0; i < n; i++) { if (x[i] < 0) break; out[i] = 1; }", ["in order"]),
        ("for (int i = 0; i < n; i++) { if (x[i] < 0) continue; out[i] = 1; }", ["free"]),
        ("for (int i = 0; i < n; i++) out[i] = rand();", ["in order"]),
        ("for (int i = 0; i < n; i++) out[i] = sqrtf(x[i]) + expf(y[i]);", ["free"]),
        ("float *p = out; for (int i = 0; i < n; i++) *p++ = x[i];", ["free"]),
        ("int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) out[k++] = x[i];", ["free", "free"]),
        ("int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];", ["in order"]),
        ("int i = 0; while (i < n) { out[i] = x[i]; ++i; }", ["free"]),
        ("int k = n; while (k-- > 0) out[k] = x[k];", ["free"]),
        ("int ok = 0; for (int i = 0; i < n; i++) if (x[i] < 0) { ok = 1; break; } *out = ok;", ["||"]),
        ("int ok = 2; for (int i = 0; i < n; i++) if (x[i] < 0) ok = 3; *out = ok;", ["in order"]),
        ("for (int i = 0; i < n; i++) { int b = at[i]; out[b] = out[b] + x[i]; }", ["array +"]),
        ("memcpy(out, x, n * sizeof(float));", ["free"]),
        ("float s = 0; for (int i = 0; i < n; i++) s += (x[i] < y[i]); *out = s;", ["+"]),
        ("int r = 0; for (int i = 0; i < n; i++) { out[r] = x[i]; r += i; }", ["in order"]),
        ("for (int i = 0; i < n; i++) { float v[2]; v[0] = x[i]; v[1] = y[i]; out[i] = v[0] * v[1]; }", ["free"]),
        ("for (int i = 0; i < n; i++) ;", ["free"]),
        ("for (int i = 1; i < n; i *= 2) out[i] = x[i];", ["in order"]),
        ("float *p = x[0] > 0 ? out : a; for (int i = 0; i < n; i++) { p[i] = 1; out[n - i] = 2; }", ["in order"]),
    ],
)  # fmt: skip
def test_a_loop_is_shared_out_only_where_its_passes_cannot_meet(body, expected):
    assert said(body) == expected


def test_a_helper_that_only_computes_is_no_hindrance_and_one_that_remembers_is():
    pure = "static float sq(float v) { float w = v * v; return w; }"
    counting = "static int calls; static float sq(float v) { calls++; return v; }"
    body = "for (int i = 0; i < n; i++) out[i] = sq(x[i]);"
    assert said(body, pure) == ["free"]
    assert said(body, counting) == ["in order"]


def test_the_loops_of_helpers_are_seen_and_their_arguments_told_apart():
    step = (
        "static void step(const float *in, float *to, int n) { for (int i = 1; i < n; i++) to[i] = in[i] + in[i - 1]; }"
    )
    apart = "for (int t = 0; t < 4; t++) { step(out, a, n); float *s = out; out = a; a = s; }"
    assert said(apart, step) == ["in order", "free"]
    assert said("step(out, out, n);", step.replace("] +", "] *")) == ["in order"]


def test_macros_are_what_they_stand_for():
    loops = "#ifdef WRONG\n#define LOOP(i) nothing\n#else\n#define LOOP(i) for (int i = 0; i < 64; i++)\n#endif"
    macros = f"#define AT(r, c) ((r) * WIDE + (c))\n#define WIDE 48\n{loops}"
    assert said("LOOP(i) for (int j = 0; j < WIDE; j++) out[AT(i, j)] = x[AT(i, 0)];", macros) == ["free", "free"]
