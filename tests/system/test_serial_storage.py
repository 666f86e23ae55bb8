"""However a serial function asks for memory of its own, its kernels for a CPU, and for a GPU on the host, are right."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from serial_functions import judged  # noqa: E402 -- a program beside the package

CODE = """/* kernelwright
[sizes]
n = 3000
[arguments]
x = {{ shape = ["n"] }}
y = {{ shape = ["n"] }}
*/
#include <array>
#include <cstdlib>
#include <memory>
#include <stdlib.h>
#include <vector>
void mirrored(const float *x, float *y, int n) {{
  {}
  for (int i = 0; i < n; ++i) t[i] = x[i] * x[i];
  for (int i = 0; i < n; ++i) y[i] = t[i] + t[n - 1 - i];
  {}
}}
"""
PLACES = {
    "malloc": ("float *t = (float *)malloc(n * sizeof *t);", "free(t);"),
    "the type first": ("float *t = (float *)malloc(sizeof(float) * n);", "free(t);"),
    "calloc": ("float *t = (float *)calloc(n, sizeof *t);", "free(t);"),
    "new": ("float *t = new float[n];", "delete[] t;"),
    "new zeros": ("float *t = new float[n]();", "delete[] t;"),
    "aligned": ("float *t = (float *)aligned_alloc(64, n * sizeof(float));", "free(t);"),
    "make_unique": ("auto t = std::make_unique<float[]>(n);", ""),
    "unique_ptr": ("std::unique_ptr<float[]> t(new float[n]);", ""),
    "a local array": ("float t[n];", ""),
    "resized": ("std::vector<float> t; t.resize(n);", ""),
    "a vector of zeros": ("std::vector<float> t(n, 0.0f);", ""),
    "casts of C++": ("float *t = static_cast<float *>(std::malloc(sizeof(t[0]) * (size_t)n));", "std::free(t);"),
    "declared before": ("float *t; t = (float *)malloc(n * sizeof(float));", "free(t);"),
    "std::array": ("std::array<float, 3000> t;", ""),
    "static": ("static float t[3000];", ""),
}
SAMPLE = {("declared before", "cuda"), ("unique_ptr", "cuda"), ("resized", "cpu")}


def case(*what):
    """A way and a kind of device: of the matrix unless in the sample."""
    return pytest.param(*what, marks=[] if what in SAMPLE else [pytest.mark.matrix])


@pytest.mark.parametrize(("way", "kind"), [case(way, kind) for way in PLACES for kind in ("cpu", "cuda")])
def test_memory_of_its_own_is_seen(tmp_path, way, kind):
    (file := tmp_path / "mirrored.cpp").write_text(CODE.format(*PLACES[way]))
    found = judged(file, kind)
    assert found["port"] == "right"
    assert set(found["steps"].values()) <= {"right"}


def test_memory_that_comes_later_is_refused_on_a_gpu(tmp_path):
    later = "float *t = nullptr; if (n > 1) t = (float *)malloc(n * sizeof(float));"
    (file := tmp_path / "mirrored.cpp").write_text(CODE.format(later, "free(t);"))
    assert "no way" in judged(file, "cuda")["port"]
