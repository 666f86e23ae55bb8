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
        ("int k = -1; for (int i = 0; i < n; i++) if (x[i] > 0) k = i; *out = k;", ["max"]),
        ("int k = -1; for (int i = 0; i < n; i++) { float v = x[i]; if (v > 0) { k = i; } } *out = k;", ["max"]),
        ("int k = -1; for (int i = 0; i < n; i++) if (x[i] > k) k = i; *out = k;", ["in order"]),
        ("int k = -1; for (int i = 0; i < n; i++) { out[i] = k; if (x[i] > 0) k = i; }", ["in order"]),
        ("int k = 0, m = 0; for (int i = 0; i < n; i++) if (x[i] > 0) { k = i; m = k; } *out = m;", ["in order"]),
        ("int k = 0, m = 0; for (int i = 0; i < n; i++) { if (x[i] < x[k]) k = i; if (x[i] > x[m]) m = i; } *out = k + m;",
         ["best best"]),
        ("int k = 0; for (int i = 1; i < n; i++) { if (x[i] < x[k]) k = i; out[i] = k; }", ["in order"]),
        ("int k = 0; for (int i = 1; i < n; i++) { if (out[i] < out[k]) k = i; out[i] = 3; } *out = k;", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { s += x[i]; out[i] = s; }", ["scan"]),
        ("float s = 0; for (int i = 0; i < n; i++) out[i] = s += x[i];", ["scan"]),
        ("out[0] = x[0]; for (int i = 1; i < n; i++) out[i] = out[i - 1] + x[i];", ["scan"]),
        ("float t; for (int i = 0; i < n; i++) { t = x[i]; out[i] = t * t; }", ["free"]),
        ("float t = 0; for (int i = 0; i < n; i++) { out[i] = t; t = x[i]; }", ["in order"]),
        ("float t; for (int i = 0; i < n; i++) { if (i % 2) t = x[i]; out[i] = t; }", ["in order"]),
        (f"float t[4]; {OUTER} {{ for (int k = 0; k < 4; k++) t[k] = x[i]; out[i] = t[3]; }}", ["free", "free"]),
        (f"float t[4]; {OUTER} {{ for (int k = 0; k < 3; k++) t[k] = x[i]; out[i] = t[3]; }}", ["in order", "free"]),
        (f"float t[4]; {OUTER} {{ if (x[i] > 0) t[0] = x[i]; out[i] = t[0]; }}", ["in order"]),
        (f"float t[64]; {OUTER} {{ for (int k = 0; k < at[i]; k++) t[k] = 1; out[i] = t[3]; }}", ["in order", "free"]),
        (f"float t[64]; {OUTER} {{ t[0] = x[i]; for (int k = 1; k < m; k++) t[k] = t[k - 1] * 2; out[i] = t[m - 1]; }}",
         ["free", "in order"]),
        (f"float t[64]; {OUTER} {{ for (int k = m; k > 0; k--) t[k] = t[k - 1] * 2; out[i] = t[m - 1]; }}",
         ["in order", "in order"]),
        (f"float t[64]; {OUTER} {{ for (int k = m; k >= 0; k--) {{ if (k < m) t[k] = t[k + 1]; t[k] = 1; }} out[i] = t[1]; }}",
         ["free", "in order"]),
        ("for (int i = 0; i < n; i++) { if (x[i] < 0) break; out[i] = 1; }", ["in order"]),
        ("for (int i = 0; i < n; i++) { if (x[i] < 0) continue; out[i] = 1; }", ["free"]),
        ("for (int i = 0; i < n; i++) out[i] = rand();", ["in order"]),
        ("for (int i = 0; i < n; i++) out[i] = sqrtf(x[i]) + expf(y[i]);", ["free"]),
        ("float *p = out; for (int i = 0; i < n; i++) *p++ = x[i];", ["free"]),
        ("int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) out[k++] = x[i];", ["free", "free"]),
        ("int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];", ["scan"]),
        ("int i = 0; while (i < n) { out[i] = x[i]; ++i; }", ["free"]),
        ("int i = 0; while (i < n) { *out = *out + x[i]; i++; }", ["+"]),
        ("int i = 0; while (i < n) { *(out + (i)) = *(x + 1) - 2; i = i + 1; }", ["free"]),
        ("int i = 0; do { out[i] = x[i]; } while (++i < n);", ["free"]),
        ("int i = n; do { out[i - 1] = x[i - 1]; --i; } while (i);", ["free"]),
        ("int i = 0, j = 0; do { out[i] = x[j]; i++; j++; } while (i != n); out[0] = i;", ["free"]),
        ("int k = n; float *p = out; do *p++ = 1; while (--k > 0);", ["free"]),
        ("float *p = out; do { p[1] = p[0]; ++p; } while (p < out + n);", ["in order"]),
        ("for (const float *p = x, *end = x + n; p != end; ++p) out[p - x] = *p;", ["free"]),
        ("float *p = out, *end = out + n; while (p < end) { p[0] = 1; p[1] = 2; p += 2; }", ["free"]),
        ("float *p = out, *end = out + n; while (p < end) { p[0] = 1; p[2] = 2; p += 2; }", ["in order"]),
        ("float s = 0; const float *e = x + at[0], *stop = e + at[1]; while (e != stop) s += *e++; *out = s;", ["+"]),
        ("float *p = out; int i = 0; while (i < n) { *p++ = x[i]; *p++ = y[i]; i++; }", ["free"]),
        ("float *p = out; for (int i = 0; i < n; i++) { *p++ = x[i]; *p-- = y[i]; p++; }", ["in order"]),
        ("int i = 0; while (i < n) { for (int j = 0; j < m; j++) { if (j == 9) continue; *out += 1; } i++; }", ["+", "+"]),
        ("int i = 0; while (i < n) { if (x[i] > 0) { i++; continue; } out[i] = 1; i++; }", ["free"]),
        ("int i = 0; while (i < n) { if (x[i] > 0) { i += 2; continue; } out[i] = 1; i++; }", ["in order"]),
        ("int i = 0; while (i < n) { if (x[i] > 0) { i++; *out += i; } else i++; }", ["in order"]),
        ("float s = 0, t = 0; for (int i = 0; i < n; i++) { s += x[i]; out[i] = s; t += s; } *out = t;", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { float v = x[i] - s; s += v / 2; out[i] = s; }", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { int k = 0; if (s > 1) k = 1; s += k; out[i] = s; }", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { float v = s; if (v > 1) s += x[i]; out[i] = s; }", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { out[i] = s; s += out[i]; }", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { float *p = out + i; *p = s; s += out[i]; }", ["in order"]),
        ("float s = 0; for (int i = 0; i < n; i++) { float v = out[i]; out[i] = s; s += v; }", ["scan"]),
        ("float *to = out; for (int i = 0; i < n; i++) { if (x[i] < 0) continue; *to++ = x[i]; }", ["scan"]),
        ("float *p = out, *q = a; for (int i = 0; i < n; i++) if (x[i] > 0) { *p++ = x[i]; *q++ = y[i]; }", ["scan"]),
        ("float *p = out, *q = a; for (int i = 0; i < n; i++) { if (x[i] > 0) { *p++ = x[i]; } else { *q++ = y[i]; } }",
         ["in order"]),
        ("float *back = out, *p = out + m; for (int i = 1; i < n; i++) { p[0] = x[i] + back[0]; back = p; p += m; }",
         ["in order"]),
        ("float *back = a, *p = a + m; for (int i = 1; i < n; i++) { out[i] = back[0] + p[1]; back = p; p += m; }", ["free"]),
        ("float *back = a, *p = a + 1; for (int i = 1; i < n; i++) { out[i] = back[0]; back = p; p += m; }", ["in order"]),
        ("float *back = a; for (int k = 0; k < 2; k++) { float *p = a + m; for (int i = 1; i < n; i++) "
         "{ out[i] = back[0] + p[1]; back = p; p += m; } }", ["in order", "in order"]),
        ("int i = 0, j = n - 1; while (i < j) { float t = out[i]; out[i] = out[j]; out[j] = t; i++; j--; }", ["free"]),
        ("int i = 0, j = n; while (i <= j) { out[i] = out[j]; i++; j--; }", ["free"]),
        ("int i = 0, j = n; while (i < j) { out[i] = out[j]; i += 2; j++; }", ["in order"]),
        ("int i = 0, j = n; while (i != j) { out[i] = out[j]; i++; j--; }", ["in order"]),
        ("int i = 0; for (;;) { if (i >= n) break; out[i] = x[i]; i++; }", ["free"]),
        ("int i = 0; for (;;) { if (x[i] >= y[i]) break; out[i] = x[i]; i++; }", ["in order"]),
        ("const float *p = x + n; float *to = out + n; while (p-- > x) *--to = *p;", ["free"]),
        ("const float *p = x + n; float *to = out + n; while (--p > x) *--to = to[2];", ["in order"]),
        ("int i = n; const int limit = 2; while (i-- > limit) out[i] = x[i];", ["free"]),
        ("float s = 0; for (int i = n; i-- > 0;) { s += x[i]; out[i] = s; }", ["scan"]),
        ("out[0] = 0; for (int i = 0; i < n; i++) out[i + 1] = out[i] + x[i];", ["scan"]),
        ("out[0] = 0; for (int i = 0; i < n; i++) out[i + 2] = out[i] + x[i];", ["in order"]),
        ("for (int k = n; k; --k) out[k - 1] = x[k];", ["free"]),
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


PAIR = "struct acc { float sum, error; }; struct deep { struct acc in; float v[4]; };"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"struct acc s = {{0, 0}}; {OUTER} s.sum += x[i]; *out = s.sum;", ["+"]),
        (f"struct acc s = {{0, 0}}; {OUTER} {{ out[i] = s.sum; s.sum = x[i]; }}", ["in order"]),
        (f"struct acc s = {{0, 0}}; {OUTER} (&s)->sum += x[i]; *out = s.sum;", ["+"]),
        (f"struct acc s = {{0, 0}}, *p = &s; {OUTER} p->sum += x[i]; *out = s.sum;", ["+"]),
        (f"struct acc s = {{0, 0}}; {OUTER} keep(&s, x[i]); *out = s.sum;", ["in order"]),
        (f"struct acc s = {{0, 0}}; {OUTER} {{ struct acc t = s; t.sum *= x[i]; s = t; }} *out = s.sum;", ["in order"]),
        (f"struct acc s[4] = {{0}}; {OUTER} s[i % 4].sum = s[i % 4].sum * x[i]; *out = s[0].sum;", ["array *"]),
        (f"struct acc s[4]; {OUTER} {{ s[1].sum = x[i]; out[i] = s[1].sum; }}", ["free"]),
        (f"struct acc s[4]; s[1].error = 1; {OUTER} {{ s[1].sum = x[i]; out[i] = s[1].sum + s[1].error; }}", ["in order"]),
        (f"struct deep s = {{0}}; {OUTER} {{ s.in.sum -= s.in.sum * x[i]; out[i] = s.in.sum; }}", ["in order"]),
        (f"struct deep s = {{0}}; {OUTER} {{ s.v[i % 4] = x[i]; out[i] = s.v[0]; }}", ["in order"]),
        (f"struct acc *p = (struct acc *)out; {OUTER} p[i].sum = p[i].error * x[i];", ["free"]),
        (f"struct acc *p = (struct acc *)out; {OUTER} {{ p[i].sum = 1; out[i + 1] = 2; }}", ["in order"]),
        (f"struct acc *p = (struct acc *)out; {OUTER} {{ struct acc t = p[n - 1 - i]; p[i] = t; }}", ["in order"]),
        (f"struct acc *p = (struct acc *)out; {OUTER} {{ struct acc t = p[i]; t.sum += 1; p[i] = t; }}", ["free"]),
        (f"{OUTER} std::swap(out[i], out[n - 1 - i]);", ["in order"]),
        (f"float s = 0; {OUTER} {{ float t = x[i]; std::swap(s, t); out[i] = t; }}", ["in order"]),
        (f"float s = 0; float &r = s; {OUTER} r += x[i]; *out = s;", ["+"]),
        (f"{OUTER} {{ float &r = out[i / 2]; r = x[i]; }}", ["in order"]),
        (f"{OUTER} {{ float &r = out[i]; r = x[i]; }}", ["free"]),
        (f"float s = 0; {OUTER} add(s, x[i]); *out = s;", ["+"]),
        (f"{OUTER} add(out[at[i]], x[i]);", ["array +"]),
        (f"{OUTER} if (x[i] > 0) out[i] = half(out[i + 1]);", ["in order"]),
        (f"{OUTER} out[i] = before(&out[i]) * x[i];", ["in order"]),
        (f"{OUTER} out[i] = before(&a[i]) * x[i];", ["free"]),
        (f"float s = 0, *p = &s; {OUTER} {{ s = x[i]; out[i] = *p; }}", ["in order"]),
        (f"int k = 0; {OUTER} {{ out[k = i / 2] = x[i]; a[k] = 1; }}", ["in order"]),
        (f"float *rows[2]; rows[0] = out; rows[1] = out; {OUTER} rows[i % 2][i / 2] = x[i];", ["in order"]),
        (f"float t = 0; {OUTER} {{ switch (at[i]) {{ case 0: t = x[i]; break; default: out[i] = t; }} }}", ["in order"]),
        (f"float t; {OUTER} {{ do {{ if (x[i] > 0) break; t = x[i]; }} while (0); out[i] = t; }}", ["in order", "in order"]),
        (f"float s; int k; {OUTER} s = x[i], k = i, out[k] = s;", ["free"]),
        (f"{OUTER} cell(out, i) = x[i];", ["in order"]),
        (f"{OUTER} (x[i] > 0 ? out[0] : out[1]) = x[i];", ["in order"]),
        (f"struct deep *d = (struct deep *)out; {OUTER} d->v[i % 4] = x[i];", ["in order"]),
        (f"{OUTER} {{ auto p = where(out, i); p->sum = x[i]; }}", ["in order"]),
        (f"auto sqrt = [&](float v) {{ return out[0] += v; }}; {OUTER} a[i] = sqrt(x[i]);", ["scan"]),
    ],
)  # fmt: skip
def test_whatever_a_place_is_called_it_is_seen_as_written(body, expected):
    helpers = """static void keep(struct acc *to, float v) { float t = to->sum * v; to->error = t; to->sum = t; }
    static void add(float &to, float v) { to += v; }
    static float half(float &v) { v *= 0.5f; if (v > 1) return 1; return v; }
    static float before(const float *p) { return p[-1]; }
    static float &cell(float *p, int i) { return p[i / 2]; }
    static struct acc *where(float *p, int i) { return (struct acc *)p + i / 4; }"""
    assert said(body, f"{PAIR}\n{helpers}", "cpp") == expected


def test_macros_are_what_they_stand_for():
    loops = "#ifdef WRONG\n#define LOOP(i) nothing\n#else\n#define LOOP(i) for (int i = 0; i < 64; i++)\n#endif"
    macros = f"#define AT(r, c) ((r) * WIDE + (c))\n#define WIDE 48\n{loops}"
    assert said("LOOP(i) for (int j = 0; j < WIDE; j++) out[AT(i, j)] = x[AT(i, 0)];", macros) == ["free", "free"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"float s = 0, c = 0; {OUTER} {{ float y = x[i] - c, t = s + y; c = (t - s) - y; s = t; }} *out = s;", ["+"]),
        (f"float s = 0, c = 0, y, t; {OUTER} {{ y = x[i] - c; t = s + y; c = (t - s) - y; s = t; }} *out = s;", ["+"]),
        (f"float s = 0, c = 0; {OUTER} {{ float y = x[i] - c, t = s + y; c = (t - s) + y; s = t; }} *out = s;", ["in order"]),
        (f"float s = 0, c = 1; {OUTER} {{ float y = x[i] - c, t = s + y; c = (t - s) - y; s = t; }} *out = s;", ["in order"]),
        (f"double s = 0, c = 0; {OUTER} {{ double y = x[i] - c, t = s + y; c = (t - s) - y; s = t; }} *out = s;",
         ["in order"]),
        (f"float s = 0, c = 0; {OUTER} {{ int y = x[i] - c; float t = s + y; c = (t - s) - y; s = t; }} *out = s;",
         ["in order"]),
        (f"float s = 0, c = 0; {OUTER} {{ float t = s + x[i]; if (s > x[i]) c += (s - t) + x[i]; else c += (x[i] - t) + s; "
         "s = t; } *out = s + c;", ["+"]),
        (f"float s = 0, c = 0; {OUTER} {{ float t = s + x[i]; if (s > x[i]) c += (s - t) + x[i]; s = t; }} *out = s + c;",
         ["in order"]),
        (f"float s = 0, t = 0; {OUTER} {{ s += x[i]; t += s; }} *out = s + t;", ["+ +"]),
        (f"float s = 0, t = 0; {OUTER} {{ t += s; s += x[i]; }} *out = s + t;", ["+ +"]),
        (f"float s = 0, t = 0; {OUTER} {{ s += x[i]; if (x[i] > 0) t += s; }} *out = s + t;", ["in order"]),
        (f"unsigned s = 0, t = 0; {OUTER} {{ s += at[i]; t += s; }} *out = s + t;", ["+ +"]),
        (f"unsigned s = 0, t = 0; {OUTER} {{ s += x[i]; t += s; }} *out = s + t;", ["in order"]),
        (f"unsigned s = 0; long t = 0; {OUTER} {{ s += at[i]; t += s; }} *out = s + t;", ["in order"]),
        (f"unsigned s = 0; {OUTER} s = (s + b[i]) % 251; *out = s;", ["+"]),
        (f"unsigned s = 0, t = 0; {OUTER} {{ s = (b[i] + s) % 251; t = (t + s) % 251; }} *out = s + t;", ["+ +"]),
        (f"unsigned s = 0, t = 0; {OUTER} {{ s = (b[i] + s) % 251; t = (t + s) % 241; }} *out = s + t;", ["in order"]),
        (f"unsigned s = 300; {OUTER} s = (s + b[i]) % 251; *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} s = (s + at[i]) % 251; *out = s;", ["in order"]),
        (f"unsigned char s = 0; {OUTER} s = (s + b[i]) % 251; *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} s = (s - b[i]) % 251; *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} s = (s + *(at + b[i])) % 251; *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} s = (s + ((const int *)b)[i]) % 251; *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} {{ unsigned char v = at[i]; s = (s + v + 7) % 251; }} *out = s;", ["in order"]),
        (f"unsigned s = 0; {OUTER} {{ unsigned char v = at[i]; s = (s + (v + 7)) % 251; }} *out = s;", ["+"]),
    ],
)  # fmt: skip
def test_a_recurrence_that_is_a_sum_by_algebra_is_one(body, expected):
    body = body.replace("float y = x[i] - c, t", "float y = x[i] - c; float t")
    assert said(f"const unsigned char *b = (const unsigned char *)y; {body}") == expected
