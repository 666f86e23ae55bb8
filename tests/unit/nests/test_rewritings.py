"""Techniques as rewritings: offered where they apply, the same whatever the spelling, and built up from the serial code."""

import pytest

from kernelwright.nests.rewritings import applied, hindrance, rewritten, source
from kernelwright.records.task import SerialSpec

ARGUMENTS = [
    {"name": "x", "dtype": "float32", "pointer": True, "shape": ["n"]},
    {"name": "out", "dtype": "float32", "pointer": True, "out": True, "shape": ["n"]},
    {"name": "n", "dtype": "int32", "pointer": False, "value": "n"},
]
SPEC = SerialSpec.model_validate(
    {"function": "f", "dialect": "c", "family": "pointwise", "arguments": ARGUMENTS, "sizes": {"n": 500}}
)
HEAD = "void f(const float *x, float *out, int n) "
TWICE = f"{HEAD}{{ for (int i = 0; i < n; i++) out[i] = 2 * x[i]; }}"
ORDERED = f"{HEAD}{{ for (int i = 1; i < n; i++) out[i] = out[i - 1] * x[i]; }}"


def names(code, of=None):
    return [one.technique for one in rewritten(code, SPEC, "cpu", code if of is None else of)]


def test_from_serial_code_only_what_makes_a_kernel_of_it_is_offered():
    assert names(TWICE) == ["function-with-constants", "threads-over-rows"]


def test_of_a_kernel_each_technique_that_changes_it_is_offered_once():
    port = source(TWICE, SPEC, "cpu", frozenset({"threads-over-rows"}))
    offered = names(TWICE, port)
    assert "simd-reduction" in offered
    assert not {"threads-over-rows", "privatised-partials", "loop-interchange", "fused-passes"} & set(offered)


def test_the_order_of_two_techniques_does_not_matter():
    port = source(TWICE, SPEC, "cpu", frozenset({"threads-over-rows"}))
    one = {r.technique: r.code for r in rewritten(TWICE, SPEC, "cpu", port)}
    two = {r.technique: r.code for r in rewritten(TWICE, SPEC, "cpu", one["simd-reduction"])}
    three = {r.technique: r.code for r in rewritten(TWICE, SPEC, "cpu", one["restrict-pointers"])}
    assert two["restrict-pointers"] == three["simd-reduction"]
    assert applied(two["restrict-pointers"]) == {"threads-over-rows", "simd-reduction", "restrict-pointers"}


def test_what_must_keep_its_order_has_no_way():
    assert names(ORDERED) == []


def test_of_a_kernel_that_was_not_made_here_nothing_is_offered():
    assert names(TWICE, 'extern "C" void kernel(const float* x, float* out) {}') == []


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) out[i] = 2 * x[i];",
        "int k; for (k = n - 1; k >= 0; --k) { float v = x[k]; out[k] = v + v; }",
        "const float *p = x; float *q = out; while (n--) *q++ = *p++ * 2;",
        "for (int i = 0; i != n; i += 1)\n{\n  *(out + i) = x[i] * 2.0f;\n}",
    ],
)
def test_any_spelling_gets_its_threads(body):
    made = source(f"{HEAD}{{ {body} }}", SPEC, "cpu", frozenset({"threads-over-rows"}))
    assert "#pragma omp parallel for" in made
    assert "memset" not in made  # every element is seen to be written


def test_for_a_gpu_one_nest_is_a_plain_launch_and_a_sum_a_cooperative_one():
    plain = source(TWICE, SPEC, "cuda", frozenset({"thread-per-element"}))
    total = "{ float s = 0; for (int i = 0; i < n; i++) s += x[i]; for (int i = 0; i < n; i++) out[i] = s; }"
    summed = source(HEAD + total, SPEC, "cuda", frozenset({"thread-per-element"}))
    assert "cooperative" not in plain
    assert "cooperative = true" in summed
    assert "all_reduce<OP_SUM>(s, work, gate)" in summed


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        (ORDERED, "cpu", "of the loop over i, passes meet in out"),
        (f"{HEAD}{{ out[0] = x[0]; }}", "cpu", "it has no loop that counts"),
        (
            f"static float seen[8]; {HEAD}{{ for (int i = 0; i < n; i++) out[i] = seen[i % 8]; }}",
            "cuda",
            "outside of functions",
        ),
        (
            f"{HEAD}{{ while (x[0] < out[0]) out[0] *= 2; }}",
            "cpu",
            "of a loop that does not count, nobody can say how often",
        ),
        (
            f"{HEAD}{{ for (int i = 0; i < n; i++) {{ out[i] = x[i]; if (x[i] > 0) break; }} }}",
            "cpu",
            "something leaves it before its end",
        ),
        (TWICE, "cuda", ""),
    ],
)
def test_what_hinders_is_said(code, kind, why):
    assert why in hindrance(code, SPEC, kind)
    assert bool(why) == bool(hindrance(code, SPEC, kind))


def test_an_array_that_is_read_besides_gets_no_copies():
    body = "{ for (int j = 0; j < n; j++) for (int i = 0; i < j; i++) out[j] = out[j] - out[i] * x[i]; }"
    made = source(HEAD + body, SPEC, "cpu", frozenset({"threads-over-rows", "privatised-partials"}))
    assert "reduction(+:out" not in made
    assert "atomic" in made


def test_loops_that_are_opened_together_have_nothing_between_their_heads():
    body = "{ for (int i = 0; i < 20; i++) for (int j = 0; j < 25; j++) out[i * 25 + j] = x[j * 20 + i]; }"
    made = source(HEAD + body, SPEC, "cpu", frozenset({"threads-over-rows", "simd-reduction", "loop-unrolling"}))
    assert "collapse(2)" in made
    assert "omp simd" not in made
    assert "#pragma GCC unroll" not in made


def test_code_of_an_unforeseen_form_has_no_way_and_ends_nothing():
    odd = f"{HEAD}{{ for (int i = 0; i < n; i++) out[i] = ({{ 1; }}) + [](int k) {{ return k; }}(i); @ }}"
    assert hindrance(odd, SPEC, "cpu")
    assert names(odd) == []


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_braces_around_an_inner_loop_are_closed(kind):
    body = "{ for (int i = 0; i < 20; i++) { for (int j = 0; j < 25; j++) { out[i * 25 + j] = x[j * 20 + i]; } } }"
    made = source(HEAD + body, SPEC, kind, frozenset({"threads-over-rows" if kind == "cpu" else "thread-per-element"}))
    assert made.count("{") == made.count("}")


@pytest.mark.parametrize("said", ["typedef float real;", "typedef const float cell, *cells; typedef float real;"])
def test_the_entry_knows_the_names_that_the_file_gave_to_types(said):
    code = f"{said} void f(const real *x, real *out, int n) {{ for (int i = 0; i < n; i++) out[i] = 2 * x[i]; }}"
    made = source(code, SPEC, "cpu", frozenset({"threads-over-rows"}))
    assert "serial::f((const serial::real*)in0, (serial::real*)out0)" in made


def test_a_vector_that_is_a_pointer_now_is_spoken_of_as_one():
    code = """void f(const float *x, float *out, int n) {
      std::vector<float> v(x, x + n); std::vector<float> half(n);
      for (int i = 0; i < n; i++) half.data()[i] = *(v.data() + i) + v.begin()[0] + v.end()[-1];
      for (int i = 0; i < n; i++) out[i] = half[i]; }"""
    spec = SPEC.model_copy(update={"dialect": "cpp"})
    for kind, port in (("cpu", "threads-over-rows"), ("cuda", "thread-per-element")):
        made = source(code, spec, kind, frozenset({port}))
        assert ".data()" not in made
        assert ".begin()" not in made


def test_a_loop_that_is_run_very_often_needs_more_passes():
    port = frozenset({"threads-over-rows"})
    body = "for (int i = 1; i < n; i++) {{ out[0] = out[i] / 2; for (int k = 0; k < {}; k++) out[k] *= out[n - 1]; }}"
    once, often = body.format(80), f"for (int t = 0; t < 99; t++) {{ {body.format(80)} }}"
    assert source(f"{HEAD}{{ {once} }}", SPEC, "cpu", port)
    assert source(f"{HEAD}{{ {often} }}", SPEC, "cpu", port) is None


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_a_loop_of_a_few_passes_within_another_is_not_shared_out(kind):
    port = frozenset({"threads-over-rows" if kind == "cpu" else "thread-per-element"})
    inner = "for (int c = 0; c < 3; c++) out[3 * (i % 7) + c] = out[c] * x[i];"
    assert source(f"{HEAD}{{ for (int i = 0; i < n; i++) {{ {inner} }} }}", SPEC, kind, port) is None
    pairs = "float v = x[i]; for (int c = 0; c < 3; c++) { out[3 * (i % 7) + c] += v; out[3 * (i % 5) + c] -= v; }"
    made = source(f"{HEAD}{{ for (int i = 0; i < n; i++) {{ {pairs} }} }}", SPEC, kind, port)
    assert made.count("omp parallel" if kind == "cpu" else "+= THREADS)") == 1
    assert "atomic" in made


@pytest.mark.parametrize(
    "body", ["if (x[i] > 0) out[i] = 1;", "if (x[i] > 0) continue; out[i] = 1;", "x[i] > 0 && (out[i] = 1);"]
)
def test_what_may_stay_unwritten_begins_as_zeros(body):
    assert "memset" in source(
        f"{HEAD}{{ for (int i = 0; i < n; i++) {{ {body} }} }}", SPEC, "cpu", frozenset({"threads-over-rows"})
    )


@pytest.mark.parametrize(
    ("body", "meets"),
    [
        ("float v = out[3]; for (int i = 0; i < n; i++) out[i] = x[i] * v;", 1),
        ("float v = x[3]; for (int i = 0; i < n; i++) out[i] = x[i] * v;", 0),
        ("float v = out[3]; out[3] = 1; for (int i = 0; i < n; i++) out[n - 1 - i] = v;", 3),
        ("int k = 0; while (out[0] < 9 && k < 3) { for (int i = 0; i < n; i++) out[i] += x[i]; k++; }", 2),
    ],
)
def test_nobody_stores_what_another_thread_may_still_have_to_read(body, meets):
    made = source(f"{HEAD}{{ {body} }}", SPEC, "cuda", frozenset({"thread-per-element"}))
    assert made[made.rindex("__launch_bounds__") :].count("GRID_SYNC") == meets


def test_lanes_wait_before_they_store_what_others_of_the_warp_read():
    code = f"""{HEAD}{{ for (int i = 0; i < n / 20; i++) {{ float t = 0;
      for (int k = 1; k < 20; k++) t = t * out[i * 20 + k - 1] + 1;
      for (int k = 0; k < 20; k++) out[i * 20 + k] = t; }} }}"""
    made = source(code, SPEC, "cuda", frozenset({"thread-per-element", "warp-per-row"}))
    assert made[made.rindex("__launch_bounds__") :].count("__syncwarp") == 2


SQUARE = "void f(const float *x, float *out, int n) { for (int k = 0; k < 100; k++) for (int i = 0; i < 100; i++) "


@pytest.mark.parametrize(
    ("inner", "halves"),
    [
        ("for (int j = 0; j < 100; j++) out[i * 100 + j] += out[i * 100 + k] * out[k * 100 + j];", 2),
        ("for (int j = 0; j < 100; j++) out[i * 100 + j] += out[(99 - k) * 100 + j];", 3),
        ("for (int j = 0; j < 100; j++) out[i * 100 + j] += out[7 * 100 + j];", 3),
        ("for (int j = 0; j < 100; j++) out[i * 100 + j] += out[k * 100 + j] + out[(k + 1) * 100 + j];", 0),
        ("for (int j = 0; j < 100; j++) out[i * 100 + j] += out[k * 100 + j] + out[i * 100 + j - 100];", 0),
        ("for (int j = 0; j < 100; j++) { if (x[j] > 2) break; out[i * 100 + j] += out[k * 100 + j]; }", 2),
        ("{ for (int j = 0; j < 100; j++) out[i * 100 + j] += out[k * 100 + j]; if (x[i] > 9) break; }", 0),
    ],
)
def test_a_loop_that_one_pass_keeps_in_order_is_cut_around_it(inner, halves):
    wide = SPEC.model_copy(update={"sizes": {"n": 10_000}})
    made = source(f"{SQUARE}{inner} }}", wide, "cpu", frozenset({"threads-over-rows"}))
    assert (made or "").count("#pragma omp parallel for") == halves


def test_what_stands_before_an_inner_loop_goes_first_only_where_it_needs_nothing_of_it():
    row = "for (int i = 1; i < 100; i++) { FIRST for (int j = 1; j < 100; j++) out[i * 100 + j] = IN + x[i + j]; }"
    inner = "out[i * 100 + j - 1] * out[i * 100 + j - 100]"
    code = f"{HEAD}{{ {row} }}".replace("IN", inner)
    wide = SPEC.model_copy(update={"sizes": {"n": 10_000}})
    assert hindrance(code.replace("FIRST", "out[i * 100] = out[i * 100 - 100] * 2;"), wide, "cpu") == ""
    assert "passes meet" in hindrance(code.replace("FIRST", "out[i * 100] = out[i * 100 - 1] * 2;"), wide, "cpu")


def test_a_copy_for_each_core_is_only_of_an_array_under_its_own_name():
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) { TO[i] += x[j]; TO[j] -= x[i]; }"
    used = frozenset({"threads-over-rows", "privatised-partials"})
    own = source(f"{HEAD}{{ {body.replace('TO', 'out')} }}", SPEC, "cpu", used)
    other = source(f"{HEAD}{{ float *to = out; {body.replace('TO', 'to')} }}", SPEC, "cpu", used)
    assert "reduction(+:out[:500])" in own
    assert "reduction(+:" not in other
    assert "#pragma omp atomic" in other
