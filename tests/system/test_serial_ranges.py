"""Loops over whole numbers of every width, empty, of one pass and of many: the plain function is the oracle.

The forms were written before a look at how they fare. A port computes what the function does, or there is none and a reason.
"""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from serial_functions import judged  # noqa: E402 -- a program beside the package

FORMS = {
    "while": "unsigned lo = A, hi = B, i = lo; while (i < hi) { y[i] = x[i]; i++; } at[0] = i;",
    "step of three": "size_t i; for (i = A; i < (size_t)B; i += 3) y[i] = 2 * x[i]; at[0] = i;",
    "countdown": "unsigned i; for (i = B > A ? B - A : 0; i-- > 0;) y[i] = x[i]; at[0] = i;",
    "countdown of its own": "const unsigned m = B > A ? B - A : 0; for (unsigned i = m; i-- > 0;) y[i] = 3 * x[i];",
    "down to": "unsigned k = B, lo = A; while (k > lo) { k--; y[k] = x[k] + 1; } at[0] = k;",
    "down by two": "unsigned lo = A, i; for (i = B; i >= lo; i -= 2) y[i] = x[i]; at[0] = i;",
    "difference of bytes": "uint8_t p = A, q = B; int i; for (i = 0; i < q - p; i++) y[i] = x[i + p]; at[0] = i;",
    "quotient of a difference": (
        "unsigned lo = A, hi = B; long i; for (i = 0; i < (hi - lo) / 0x10000000u; i++) y[i] = x[i]; at[0] = i;"
    ),
    "not equal": "unsigned i = A < B ? A : B, hi = B; while (i != hi) { y[i] = x[i]; ++i; } at[0] = i;",
    "not equal around": "uint8_t i = 250 + A, hi = B; for (; i != hi; i++) y[i] = x[i]; at[0] = i;",
    "once at least": "unsigned i = A, hi = B; do { y[i] = x[i]; i++; } while (i < hi); at[0] = i;",
    "byte around": "uint8_t i; for (i = A; i < 250; i += 100) y[i] = x[i]; at[0] = i;",
    "word around": (
        "unsigned i, k = 0; for (i = A; i < 3489660928u; i += 1610612736u) { y[i >> 28] += x[k]; k = i >> 27; } at[0] = i;"
    ),
    "signs mixed": "unsigned hi = B; int i; for (i = -A; i < hi; i++) y[i] = x[i]; at[0] = i;",
    "signs mixed with a literal": "int i; for (i = A - 20; i < 20u; i++) y[i] = x[i]; at[0] = i;",
    "another one": "unsigned j = 7; for (unsigned i = A, hi = B; i < hi; i++) { y[j] = x[i]; j += 2; } at[0] = j;",
    "a byte beside": "uint8_t j = 250; for (unsigned i = A; i < B; i++) { y[j] = x[i]; j++; } at[0] = j;",
    "towards each other": "unsigned l = A, r = B; while (l < r) { y[l] = x[r]; l++; r--; } at[0] = l; at[1] = r;",
    "with its end": "unsigned lo = A, hi = B - 1; for (unsigned i = lo; i <= hi; i++) y[i] = x[i];",
    "with its end, read": "size_t i, hi = B; for (i = A; i <= hi; i += 2) y[i] = x[i]; at[0] = i;",
    "sums of sums": (
        "unsigned s = 1, u = 0; for (unsigned i = A, hi = B; i < hi; i++) { s += t[i]; u += s; } at[0] = s; at[1] = u;"
    ),
    "two at once": "unsigned i, j, hi = B; for (i = A, j = 0; i < hi; ++i, ++j) y[j] = x[i]; at[0] = i; at[1] = j;",
    "triangle": (
        "unsigned lo = A, hi = B; for (unsigned i = 0; i < 20; i++) "
        "for (unsigned j = i + lo; j < hi; j++) y[i * 20 + j] = x[j];"
    ),
    "short": "short i; for (i = B; i > A; i--) y[i] = x[i]; at[0] = i;",
    "length less one": "unsigned m = B > A ? B - A : 0, i; for (i = 0; i + 1 < m; i++) y[i] = x[i + 1]; at[0] = i;",
    "sum": "double s = 0; unsigned lo = A, hi = B; for (unsigned i = lo; i < hi; i += 2) s += x[i]; y[0] = s;",
    "running sum": "float s = 0; unsigned lo = A, hi = B; for (unsigned i = lo; i < hi; i++) { s += x[i]; y[i] = s; }",
    "pointer back": "float *p = y + 40; for (unsigned i = A, m = B; i < m; i++) { --p; *p = x[i]; } at[0] = p - y;",
    "place back": "size_t j = 300; for (unsigned i = A, m = B; i < m; i++) { j--; y[j] = x[i]; } at[0] = j;",
    "stride without a sign": "unsigned s = 2; float *p = y + 99; for (int i = A; i < B; i++) { *p = x[i]; p -= s; }",
    "guard around": "unsigned m = B + 10; for (unsigned i = 0; i < m; i++) if (i - 5 > m) y[0] = x[i];",
    "narrow place": "for (int i = A; i < 300 + B; i++) y[(uint8_t)i] = x[i];",
    "narrow name": "for (int i = A; i < 300 + B; i++) { uint8_t k = i; y[k] = x[i]; }",
    "narrow name, later": "uint8_t k; for (int i = A; i < 300 + B; i++) { k = i; y[k] = x[i]; }",
    "largest": "size_t i; for (i = (size_t)-1 - A; i < (size_t)B; i++) y[i] = x[i]; at[0] = i == (size_t)-1 - A;",
    "begin that moves": "int k = A, i; for (i = k; i < B; i++) { k = i * 2; y[i] = x[i]; } at[0] = i; at[1] = k;",
    "length of bytes": "uint8_t m = B, i; for (i = A; i < m; i++) y[i] = x[i]; at[0] = i;",
    "do in bytes": "uint8_t m = B, i = A; do { y[i] = x[i]; i += 3; } while (i < m); at[0] = i;",
    "long against int": "long m = B; unsigned i; for (i = A; i < m - 10; i++) y[i] = x[i]; at[0] = i;",
}
RANGES = {"none": (5, 3), "one": (4, 5), "many": (3, 29)}
FILE = """/* kernelwright
[sizes]
n = 600
a = {a}
b = {b}
[arguments]
x = {{ shape = ["n"] }}
t = {{ shape = ["n"], values = "index", bound = 1 }}
y = {{ shape = ["n"], inout = true }}
at = {{ shape = [2], inout = true }}
*/
#include <stdint.h>
#include <stddef.h>
void f(const float *x, const int *t, float *y, int *at, int n, int a, int b) {{
  {body}
  for (int e = 0; e < n; e++) y[e] = y[e] * 2 + x[e];
}}
"""


def case(*what):
    return pytest.param(*what, marks=[] if what[0] == "while" else [pytest.mark.matrix])


@pytest.mark.parametrize(
    ("form", "length", "where"),
    [case(form, length, where) for form in FORMS for length in RANGES for where in ("known", "read")],
)
def test_a_range_has_the_passes_that_it_has_in_c(tmp_path, form, length, where):
    (a, b), file = RANGES[length], tmp_path / "f.c"
    known = {"A": "a", "B": "b"} if where == "known" else {"A": "(a + t[0])", "B": "(b + t[1])"}
    body = FORMS[form].replace("A", known["A"]).replace("B", known["B"])
    file.write_text(FILE.format(a=a, b=b, body=body))
    for kind in ("cpu", "cuda"):
        found = judged(file, kind, "port")["port"]
        assert found == "right" or found.startswith("no way: "), (kind, found)
