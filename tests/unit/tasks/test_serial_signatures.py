"""Signatures of any kind as pointers and numbers, and the skeleton that asks for what they cannot say."""

import tomllib

import pytest

from kernelwright.errors import TaskError
from kernelwright.nests.signature import UnreadableError, read_signature
from kernelwright.tasks.serial_skeleton import skeleton
from kernelwright.tasks.table import read_task

BODIES = {
    "gemm.c": """#define NI 40
#define T double
void gemm(T A[NI][50], T B[50][30], T C[NI][30], T lambda) {
  for (int i = 0; i < NI; i++) for (int j = 0; j < 30; j++) {
    C[i][j] *= lambda;
    for (int k = 0; k < 50; k++) C[i][j] += A[i][k] * B[k][j];
  }
}""",
    "move.c": """typedef float real;
struct parts { real *x, *v; const real *m; int count; };
static real square(real a) { return a * a; }
real move(struct parts *p, real dt) {
  real e = 0;
  for (int i = 0; i < p->count; i++) { p->x[i] += dt * p->v[i]; e += p->m[i] * square(p->v[i]); }
  return e;
}""",
    "mix.cpp": """#include <vector>
void mix(std::vector<double> const& x, std::vector<double>& y) {
  for (size_t i = 1; i + 1 < x.size(); ++i) y[i] = x[i - 1] / x[i + 1];
}""",
    "count.c": """#include <stdint.h>
void count(uint8_t *class, float *weight, float *bins, size_t n, unsigned kinds) {
  for (unsigned k = 0; k < kinds; k++) bins[k] = 0;
  for (size_t i = 0; i < n; i++) bins[class[i]] += weight[i];
}""",
    "heat.c": """void heat(float *u, float *v, int rows, int columns, int steps) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < rows - 1; i++)
      for (int j = 1; j < columns - 1; j++)
        v[i * columns + j] = u[(i - 1) * columns + j] + u[(i + 1) * columns + j] + u[i * columns + j + 1];
    float *s = u; u = v; v = s;
  }
}""",
}  # fmt: skip


def of(name):
    signature = read_signature(BODIES[name], name.split(".")[1])
    return {p.name: (p.dtype, p.pointer) for p in signature.parameters}, signature


def test_arrays_of_arrays_are_pointers_and_macros_are_expanded():
    found, signature = of("gemm.c")
    assert found == {**dict.fromkeys("ABC", ("float64", True)), "lambda": ("float64", False)}
    assert "(double (*)[50])A" in signature.wrapper


def test_a_structure_is_its_members_and_what_is_returned_has_a_place():
    found, signature = of("move.c")
    assert list(found) == ["p_x", "p_v", "p_m", "p_count", "dt", "result"]
    assert found["result"] == ("float32", True)
    assert signature.function == "move_flat"
    assert [p.name for p in signature.parameters if p.pointer and p.constant] == ["p_m"]


def test_a_vector_is_a_pointer_and_its_length():
    found, _ = of("mix.cpp")
    assert found == {"x": ("float64", True), "x_n": ("int64", False), "y": ("float64", True), "y_n": ("int64", False)}


@pytest.mark.parametrize(
    "code", ["char *f(int n) { return 0; }", "void f(float **rows, int n) { }", "void f(FILE *a) { }"]
)
def test_what_no_array_can_be_is_refused(code):
    with pytest.raises(UnreadableError):
        read_signature(code, "c")


def asked(tmp_path, name):
    """The skeleton of a function, as tables."""
    (tmp_path / name).write_text(BODIES[name])
    return tomllib.loads(skeleton(tmp_path / name))


def test_the_skeleton_says_what_the_code_shows(tmp_path):
    counted = asked(tmp_path, "count.c")["arguments"]
    assert counted["class"] == {"shape": ["n"], "out": False}
    assert counted["bins"] == {"shape": ["kinds"]}
    gemm = asked(tmp_path, "gemm.c")["arguments"]
    assert gemm["A"] == {"shape": [2000], "out": False}
    assert gemm["C"] == {"shape": [1200], "inout": True}
    heat = asked(tmp_path, "heat.c")
    assert heat["sizes"] == {"rows": 1024, "columns": 1024, "steps": 10}
    assert heat["arguments"] == {name: {"shape": ["rows", "columns"], "inout": True} for name in "uv"}
    move = asked(tmp_path, "move.c")["arguments"]
    assert move["p_x"]["inout"] is True
    assert move["p_v"] == {"shape": ["p_count"], "out": False}
    assert asked(tmp_path, "mix.cpp")["arguments"]["x"] == {"shape": ["x_n"], "values": "positive"}


@pytest.mark.parametrize("name", list(BODIES))
def test_a_skeleton_beside_its_file_is_a_task(tmp_path, name):
    asked(tmp_path, name)
    (tmp_path / name).with_suffix(".toml").write_text(skeleton(tmp_path / name))
    task = read_task(tmp_path / name)
    compile(task.source, "<task>", "exec")
    assert all(a.shape for a in task.spec.arguments if a.pointer)


def test_what_is_never_written_is_no_result_even_where_it_is_not_const(tmp_path):
    asked(tmp_path, "count.c")
    text = skeleton(tmp_path / "count.c").replace(", out = false", "")
    (tmp_path / "count.toml").write_text(text)
    assert [a.name for a in read_task(tmp_path / "count.c").spec.outputs] == ["bins"]


def test_a_file_without_a_function_is_refused_with_the_cure(tmp_path):
    (tmp_path / "none.c").write_text("int x;\n")
    with pytest.raises(TaskError, match="must define one function"):
        skeleton(tmp_path / "none.c")


def test_a_number_that_nobody_says_is_asked_for(tmp_path):
    """It would be zero, and of a size that is zero every kernel is right."""
    file = tmp_path / "scale.c"
    code = "void scale(const float *x, float *y, int many, float by) { for (int i = 0; i < many; i++) y[i] = by * x[i]; }\n"
    head = "/* kernelwright\n[sizes]\nn = 8\n[arguments]\nx = {{ shape = ['n'] }}\ny = {{ shape = ['n'] }}\n{}*/\n"
    file.write_text(head.format("by = { value = 2 }\n") + code)
    with pytest.raises(TaskError, match="the argument many is passed by value and has none"):
        read_task(file)
    file.write_text(head.format("by = { value = 2 }\nmany = { value = 'n' }\n") + code)
    assert read_task(file).spec.arguments[2].value == "n"
