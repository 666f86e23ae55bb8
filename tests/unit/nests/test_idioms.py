"""C++'s idioms, searches, compaction and fronts: what they are read as, and where that would be another program."""

from pathlib import Path

import pytest

from kernelwright.nests.normal import normal
from kernelwright.nests.rewritings import hindrance, source
from kernelwright.records.task import SerialArgument, SerialSpec
from kernelwright.tasks.table import read_task

SPEC = SerialSpec(
    function="f", dialect="cpp", family="pointwise", sizes={"n": 6400},
    arguments=(
        SerialArgument(name="x", dtype="float32", pointer=True, shape=("n",)),
        SerialArgument(name="out", dtype="float32", pointer=True, out=True, shape=("n",)),
        SerialArgument(name="n", dtype="int32", pointer=False, value="n"),
    ),
)  # fmt: skip
HEAD = "void f(const float *x, float *out, int n) "
PORT = frozenset({"threads-over-rows"})
VIEW = """template <typename T> class View {
 public:
  View(const T *to, int many) : to_(to), many_(many) {}
  const T &operator[](int i) const { return to_[many_ - 1 - i]; }
  T both(int i) const { return (*this)[i] + to_[i]; }
 private:
  const T *to_;
  int many_;
};
"""
PAIR = "struct P { float a, b; P operator+(const P &o) const { return {a + o.a, b - o.b}; } };\n"
EACH = "template <typename F> void each(int to, F what) { for (int i = 0; i < to; ++i) what(i); }\n"
FIRST = "template <class T> static int first(const T *p, int many, T low) "
SEIDEL = "out[i * 80 + j] = x[i] + out[(i - 1) * 80 + j] + out[i * 80 + j - 1];"


@pytest.mark.parametrize(
    "code",
    [
        f"{VIEW}{HEAD}{{ View<float> v(x, n); for (int i = 0; i < n; ++i) out[i] = v[i] + v.both(i); }}",
        f"{PAIR}{HEAD}{{ for (int i = 0; i < n; ++i) {{ P p{{x[i], 1}}; out[i] = (p + P{{2, 3}}).b; }} }}",
        f"{EACH}{HEAD}{{ float k = 2; each(n, [&](int i) {{ out[i] = k * x[i]; }}); }}",
        f"{FIRST}{{ for (int i = 0; i < many; ++i) if (p[i] > low) return i; return -1; }} "
        f"{HEAD}{{ for (int i = 0; i < n / 8; ++i) out[i] = first(x + 8 * i, 8, 0.5f); }}",
        f"enum class Way {{ up, down }}; {HEAD}{{ for (int i = 0; i < n; ++i) {{ auto w = x[i] > 0 ? Way::up : Way::down; "
        "if (const float v = x[i]; w == Way::up) out[i] = v; } }",
    ],
)
def test_idioms_are_the_loops_that_they_stand_for(code):
    assert hindrance(code, SPEC, "cpu") == ""
    assert "#pragma omp parallel for" in source(code, SPEC, "cpu", PORT)


def test_a_copy_that_a_lambda_holds_is_not_the_variable_that_changes():
    code = (
        HEAD
        + "{ float k = 1; auto by = [k](float v) { return k * v; }; "
        + "for (int i = 0; i < n; ++i) { out[i] = by(x[i]); k += 1; } }"
    )
    assert "by may do anything" in hindrance(code, SPEC, "cpu")


def test_a_parameter_of_a_lambda_hides_no_variable_outside():
    code = (
        HEAD + "{ int i = 3; auto at = [&](int i) { return x[i]; }; for (int k = 0; k < n; ++k) out[k] = at(k) + i; }"
    )
    assert "x[k]" in normal(code, "f").replace("(", "").replace(")", "")
    assert "+ 3" in normal(code, "f").replace("(", "").replace(")", "")


@pytest.mark.parametrize("product", ["(n) * x[i]", "(x[i]) - (n)", "(x[1]) + (n) * (x[i])"])
def test_a_name_in_parentheses_is_no_type(product):
    made = normal(f"{HEAD}{{ int k = 0; for (k = 0; k < 9; ++k) {{ int i = k; out[k] = {product}; }} }}", "f")
    assert " k;" not in made.split("out[")[1]
    assert "i" not in [w.strip("()[];") for w in made.split("= ")[-1].split()]


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ("int k = 0; for (int i = 0; i < n; ++i) if (x[i] > 0) { out[k] = x[i]; k++; }", True),
        ("float *to = out; for (int i = 0; i < n; ++i) { float v = x[i]; if (v > 0) *to++ = v; }", True),
        ("int k = 1; for (int i = 0; i < n; ++i) if (x[i] > 0) { out[k] = x[i] + out[k - 1]; k++; }", False),
        ("int k = 0; for (int i = 0; i < n; ++i) if (out[i] > 0) { out[k] = x[i]; k++; }", False),
        ("int k = 0; for (int i = 0; i < n; ++i) if (x[i] > 0) { out[k] = i; k++; if (k > 9) k = 3; }", False),
    ],
)
def test_what_is_kept_goes_where_a_running_sum_says(body, shared):
    made = source(f"{HEAD}{{ {body} }}", SPEC, "cpu", PORT)
    assert (made is not None and "inscan" in made) == shared


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("int i = 0; for (; i < n; i++) if (x[i] > 2) break; out[0] = i;", ""),
        ("int i = 0; while (i < n && x[i] < 2) i++; out[0] = i;", ""),
        ("int i = 0; for (; i < 2 * n; i++) if (x[i] > 2) break; out[0] = i;", "outside of the array"),
        ("for (int i = 0; i < n; i++) if (x[(int)x[i]] > 2) { out[0] = i; break; }", "leaves it before its end"),
    ],
)
def test_a_search_goes_on_behind_its_hit_where_it_may_read_there(body, why):
    found = hindrance(f"{HEAD}{{ {body} }}", SPEC, "cpu")
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(("first", "rows", "fronts"), [("1", 80, True), ("i", 80, True), ("1", 4, False)])
def test_passes_on_a_line_across_two_loops_run_side_by_side(first, rows, fronts):
    nest = f"for (int i = 1; i < {rows}; i++) for (int j = {first}; j < 80; j++) {SEIDEL}"
    made = source(f"{HEAD}{{ {nest} }}", SPEC, "cpu", PORT)
    assert (made is not None and "front_" in made) == fronts


def test_a_front_is_bent_as_far_as_what_meets_asks():
    nest = (
        "for (int i = 1; i < 79; i++) for (int j = 1; j < 79; j++) out[i * 80 + j] = x[i] + {} + out[i * 80 + j - 1];"
    )
    bent = source(f"{HEAD}{{ {nest.format('out[(i - 1) * 80 + j + 1]')} }}", SPEC, "cpu", PORT)
    assert "- 2 * i" in bent
    far = nest.format("out[(i - 1) * 80 + j + 30]")
    assert source(f"{HEAD}{{ {far} }}", SPEC, "cpu", PORT) is None


@pytest.mark.parametrize(
    ("helper", "said"),
    [
        ("static int whole(float v) { return v; }", "(int)(x[i])"),
        ("static int whole(float v) { for (int k = 0; k < 2; ++k) v += k; return v; }", "= (int) (v_1)"),
        (
            "static int whole(unsigned char v) { for (int k = 0; k < 2; ++k) if (v > k) return 1; return v; }",
            "unsigned char v_1",
        ),
    ],
)
def test_what_is_given_and_returned_becomes_the_type_that_the_function_says(helper, said):
    made = normal(f"{helper} {HEAD}{{ for (int i = 0; i < n; ++i) out[i] = whole(x[i]); }}", "f")
    assert (said in made) or "whole(x[i])" in made
    if "for (int k" in helper:
        assert said in made


@pytest.mark.parametrize(
    "code",
    [
        "struct S { float s = 0; void add(int v) { s += 2 * v; } void add(float v) { s += v; } }; " + HEAD
        + "{ for (int i = 0; i < n; ++i) { S s; s.add(x[i]); out[i] = s.s; } }",
        "struct A { float k = 2; }; struct B : A { float get() const { return k; } }; " + HEAD
        + "{ for (int i = 0; i < n; ++i) { B b; out[i] = b.get(); } }",
    ],
)  # fmt: skip
def test_what_the_reader_would_take_for_another_function_stays(code):
    assert hindrance(code, SPEC, "cpu")


def test_an_array_that_another_pointer_leads_to_is_not_asked_behind_a_write():
    body = "float *p = out; int k = 0; for (int i = 0; i < n; ++i) if (p[i] > 0) { out[k] = -1; k++; }"
    assert "? 1 : 0" not in normal(f"{HEAD}{{ {body} }}", "f")


ON_A_GPU = frozenset({"thread-per-element"})
AFTER = "for (int i = 0; i < n; ++i) out[i] += x[i];"


@pytest.mark.parametrize(
    "fill",
    [
        "std::fill(out, out + n, 1.0f);",
        "std::fill_n(out, n, 1.0f);",
        "std::fill(out, (out + 6400), 1.0f);",
        "std::fill(out, out + n - 1, 1.0f);",
    ],
)
def test_a_fill_is_a_loop(fill):
    made = source(f"{HEAD}{{ {fill} {AFTER} }}", SPEC, "cuda", ON_A_GPU)
    assert made.count("+= THREADS)") == 2 + made.count("copied")
    assert "fill" not in made


@pytest.mark.parametrize(
    "loop",
    [
        "for (auto *to : all) memset(to, 0, n * sizeof(float));",
        "for (auto *to : all) for (int k = 0; k < 8; ++k) to[k] = 0;",
        "for (auto *to : all) *to = 0;",
    ],
)
def test_what_a_loop_over_a_range_stores_is_done_by_one_before_others_go_on(loop):
    why = hindrance(code := f"{HEAD}{{ float *all[] = {{out}}; {loop} {AFTER} }}", SPEC, "cuda")
    made = "" if why else source(code, SPEC, "cuda", ON_A_GPU)
    _, _, behind = made.partition("if (THREAD == 0) { for (auto *to : all)")
    assert why or -1 < behind.find("GRID_SYNC") < behind.index("+= THREADS")


def test_a_function_of_the_library_is_told_from_a_local_of_its_name():
    """`clamp` is a lambda of this file."""
    task = read_task(Path(__file__).parents[2] / "serial_functions" / "speckle.b.cpp")
    made = source(task.serial, task.spec, "cuda", ON_A_GPU)
    assert "= ::clamp(" in made
    assert "std::" not in made


def test_a_pointer_to_a_structure_is_the_structure():
    own = "struct V { const float *at; int many; };\nstatic float twice(const V *v, int i) { return 2 * v->at[i]; }\n"
    code = f"{own}{HEAD}{{ V v = {{x, n}}; const V *p = &v; for (int i = 0; i < p->many; ++i) out[i] = twice(p, i); }}"
    assert hindrance(code, SPEC, "cuda") == ""
    two = code.replace("for (int", "V w = {out, n}; if (x[0] > 0) p = &w; for (int")
    assert "= (&v)" in normal(two, "f") or "= &v" in normal(two, "f"), "it leads elsewhere in between"
