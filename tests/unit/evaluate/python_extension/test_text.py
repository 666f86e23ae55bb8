"""C++ read as text: what is hidden, where items end."""

import pytest

from kernelwright.evaluate.python_extension.split import UnclearError, closing, items, masked, split_list

SOURCE = """#include <a.h>
#define TWO \\
  lines {
// a comment with { and __global__
struct Pair { int a; int b; };
namespace {
constexpr int N = 1'000;  /* } */
const char* text = "}{ \\" <<<";
}
template <typename T = Pair> __global__ void k(T x) { if (x.a) { x.b = R"(})"[0]; } }
int table[] = {1, 2};
auto f = [](int i) { return i; };
extern "C" { void g(); }
int h() noexcept { return '{'; }
"""


def test_comments_and_literals_are_hidden_and_nothing_moves():
    code = masked(SOURCE)
    assert len(code) == len(SOURCE)
    assert code.count("\n") == SOURCE.count("\n")
    assert "comment" not in code
    assert "<<<" not in code
    assert "1'000" in code


def test_items_are_what_a_scope_declares():
    code = masked(SOURCE)
    found = [(item.kind, SOURCE[item.start : item.end].split("\n")[0]) for item in items(code)]
    assert found == [
        ("directive", "#include <a.h>"),
        ("directive", "#define TWO \\"),
        ("declaration", "struct Pair { int a; int b; };"),
        ("scope", "namespace {"),
        ("declaration", "constexpr int N = 1'000;"),
        ("declaration", 'const char* text = "}{ \\" <<<";'),
        ("function", SOURCE.splitlines()[9]),
        ("declaration", "int table[] = {1, 2};"),
        ("function", "auto f = [](int i) { return i; }"),
        ("scope", 'extern "C" {'),
        ("declaration", "void g();"),
        ("function", "int h() noexcept { return '{'; }"),
    ]


@pytest.mark.parametrize("code", ["void f() {", "int a", "void f(("])
def test_what_has_no_end_is_told(code):
    with pytest.raises(UnclearError):
        list(items(code))


def test_lists_are_split_at_their_own_commas():
    assert split_list("f(a, b), c<d, e>, {1, 2}") == ["f(a, b)", "c<d, e>", "{1, 2}"]
    assert split_list(" ") == []
    assert closing("(a[b]{c})d", 0) == 8
