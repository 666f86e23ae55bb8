"""Serial functions of which rounding decides a part: a kernel that fuses its products is right, a wrong one stays wrong."""

import pytest

from kernelwright import api
from kernelwright.nests.rewritings import rewritten
from kernelwright.records.policy import Policy
from kernelwright.tasks.table import read_task
from lanes import sampled

ESCAPE = """/* kernelwright
[sizes]
h = 240
w = 320
[arguments]
u = { shape = ["w"], values = "uniform" }
count = { shape = ["h", "w"] }
*/
void escape(const float *u, int *count, int h, int w) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float cr = -2.0f + 2.6f * u[x], ci = -1.2f + 2.4f * y / h, zr = 0, zi = 0;
      int k = 0;
      while (k < 200 && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        k++;
      }
      count[y * w + x] = k;
    }
}
"""
HITS = """/* kernelwright
[sizes]
rays = 30000
balls = 40
[arguments]
dir = { shape = ["rays", 3], values = "uniform" }
ball = { shape = ["balls", 4], values = "positive" }
hit = { shape = ["rays"] }
depth = { shape = ["rays"] }
*/
#include <math.h>
void hits(const float *dir, const float *ball, int *hit, float *depth, int rays, int balls) {
  for (int i = 0; i < rays; ++i) {
    const float *d = dir + 3 * i;
    float closest = 1e30f;
    int which = -1;
    for (int k = 0; k < balls; ++k) {
      const float *c = ball + 4 * k;
      float b = d[0] * c[0] + d[1] * c[1] + d[2] * c[2], a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      float r = 0.2f * c[3], e = c[0] * c[0] + c[1] * c[1] + c[2] * c[2] - r * r, disc = b * b - a * e;
      if (disc < 0) continue;
      float t = (b - sqrtf(disc)) / a;
      if (t > 0 && t < closest) { closest = t; which = k; }
    }
    hit[i] = which;
    depth[i] = which < 0 ? 0 : closest;
  }
}
"""
SOLVE = """/* kernelwright
[sizes]
systems = 200
n = 300
[arguments]
lower = { shape = ["systems", "n"], values = "uniform" }
diag = { shape = ["systems", "n"], values = "uniform" }
rhs = { shape = ["systems", "n"] }
x = { shape = ["systems", "n"] }
c = { shape = ["systems", "n"] }
*/
void solve(const double *lower, const double *diag, const double *rhs, double *x, double *c, int systems, int n) {
  for (int s = 0; s < systems; s++) {
    const double *l = lower + s * n, *d = diag + s * n, *r = rhs + s * n;
    double *y = x + s * n, *u = c + s * n;
    u[0] = 1 / (d[0] + 1.5);
    y[0] = r[0] / (d[0] + 1.5);
    for (int i = 1; i < n; i++) {
      double m = 1 / (d[i] + 1.5 - l[i] * u[i - 1]);
      u[i] = m;
      y[i] = (r[i] - l[i] * y[i - 1]) * m;
    }
    for (int i = n - 2; i >= 0; i--) y[i] -= u[i] * y[i + 1];
  }
}
"""
RIGHT = {"escape": ESCAPE, "hits": HITS, "solve": SOLVE}
WRONG = {
    "fewer turns": (ESCAPE, ("k < 200", "k < 199")),
    "another circle": (ESCAPE, ("< 4.0f", "< 3.99f")),
    "another place": (ESCAPE, ("2.6f", "2.6001f")),
    "rows that are left out": (ESCAPE, ("int y = 0; y < h", "int y = 0; y < h - 1")),
    "another ball": (HITS, ("k < balls", "k < balls - 1")),
    "another radius": (HITS, ("0.2f", "0.2003f")),
    "the last of equals, and no sign": (HITS, ("t > 0 && ", "")),
    "rays that are left out": (HITS, ("int i = 0; i < rays", "int i = 0; i < rays - 60")),
    "single precision": (SOLVE, ("double m", "float m")),
    "a constant": (SOLVE, ("(d[i] + 1.5 -", "(d[i] + 1.5000000001 -")),
}


@pytest.fixture
def check(tmp_path, warm_referee):
    def check(code, changed=("", "")):
        (task := tmp_path / "f.c").write_text(code)
        read = read_task(task)
        serial = read.serial.replace(*changed)
        assert changed == ("", "") or serial != read.serial
        (file := tmp_path / "kernel.cpp").write_text(next(rewritten(serial, read.spec, "cpu", serial)).code)
        request = api.CheckRequest(task, file, "cpu", effort="search", policy=Policy(baselines=("eager",)))
        return api.check(request, warm_referee.suppliers())

    return check


@pytest.mark.parametrize("name", sampled(RIGHT, lambda name: name == "solve"))
def test_a_kernel_that_fuses_its_products_is_right(check, name):
    code = RIGHT[name]
    found = check(code)
    assert found.outcome == "measured", found


@pytest.mark.parametrize("name", sampled(WRONG, [*WRONG][::4].__contains__))
def test_a_wrong_one_is_none(check, name):
    assert check(*WRONG[name]).outcome == "incorrect"
