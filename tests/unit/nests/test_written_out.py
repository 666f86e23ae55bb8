"""What of the C++ standard library is written out, and where a call has to stay; ranges, and memory in one form."""

import pytest

from kernelwright.nests.library import written_out
from kernelwright.nests.ranges import counted
from kernelwright.nests.storage import in_one_form


def body(said):
    return f"void f(const float *x, float *y, int n) {{ {said} }}"


@pytest.mark.parametrize(
    "said",
    [
        "std::adjacent_difference(y, y + n, y);",
        "*y = x[0] > 0 ? std::accumulate(x, x + n, 0.0f) : 1.0f;",
        "if (n > 1) {} else if (std::any_of(x, x + n, odd)) *y = 1;",
        "while (std::count(x, x + n, 0.0f) > k) ++k;",
        "y[k++] = std::accumulate(x, x + n, 0.0f);",
        "accumulate(x, x + n, 0.0f);",
        "std::sort(y, y + n);",
    ],
    ids=["reads what it replaced", "sometimes", "else if", "again and again", "after a step", "one's own", "no loop"],
)
def test_a_call_stays_where_a_loop_before_it_would_be_another_program(said):
    assert written_out(body(said)) == body(said)


@pytest.mark.parametrize(
    ("said", "loop"),
    [
        ("std::transform(std::execution::par, x, x + n, y, g);", "< (n); ++at_std0) y[at_std0] = g(x[at_std0]);"),
        ("std::fill(y + 2, y + n, 1);", "< (n) - (2); ++at_std0) y[(2) + at_std0] = 1;"),
        ("std::copy(&x[k], &x[k + 4], y);", "< (4); ++at_std0) y[at_std0] = x[(k) + at_std0];"),
        ("using namespace std; fill_n(y, n, 0);", "< (n); ++at_std0) y[at_std0] = 0;"),
    ],
)
def test_a_call_is_the_loop_over_what_its_iterators_span(said, loop):
    assert loop in written_out(body(said))


def test_a_range_counts_where_its_length_is_written_there():
    made = counted(body("float t[8]; for (float v : t) *y += v; for (auto v : x) *y += v;"))
    assert "at_range0 < (8); ++at_range0) { float v = t[at_range0]; *y += v; }" in made
    assert "for (auto v : x)" in made


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("float *t = new float[n];", "float *t = (float *)malloc((n) * sizeof(float));"),
        ("float *t; int k = 0; t = (float *)malloc(4);", " int k = 0; float *t = (float *)malloc(4);"),
        ("float *t; g(t); t = (float *)malloc(4);", "float *t; g(t); t = (float *)malloc(4);"),
        ("float *t = new float;", "float *t = new float;"),
    ],
)
def test_memory_has_one_form_where_nothing_spoke_of_it_before(said, form):
    assert in_one_form(body(said)) == body(form)
