"""Hostile and broken kernels through the real referee: one clear outcome each, and the next kernel is none the worse."""

from pathlib import Path

import pytest
from bad_input import AFFINE, GOOD, QUICK, Asked


def kernel(body, before=""):
    return f"{before}\n{GOOD.replace('{', '{ ' + body, 1)}"


@pytest.fixture(scope="module")
def task(asked):
    return asked.admit(AFFINE)


@pytest.fixture
def judge(asked, task):
    """Judges a bad kernel, and after it a good one; that again where a neighbour disturbed its clock."""
    return judging(asked, task)


@pytest.fixture
def patient(warm_referee):
    """The same with time to fill a gigabyte: three seconds are too short for it beside another test."""
    asked = Asked(referee=warm_referee.under(QUICK.model_copy(update={"run_limit_s": 60})))
    yield judging(asked, asked.admit(AFFINE))
    asked.close()


def judging(asked, task):
    def judged(source, **fields):
        found = asked.judge(task, source, **fields)
        after = next((one for _ in range(3) if (one := asked.judge(task, GOOD)).outcome != "suspect"), None)
        assert after is not None and after.outcome == "measured", after
        return found

    return judged


def test_a_syntax_error(judge):
    found = judge(GOOD.replace("float* out)", "float* out"))
    assert found.outcome == "build_failed"
    assert "kernel.cpp:1:" in found.log


def test_no_entry(judge):
    found = judge(GOOD.replace("void kernel", "void colonel"))
    assert found.outcome == "build_failed"
    assert "no function 'kernel': define it, and as extern \"C\"" in found.log


def test_a_missing_symbol(judge):
    found = judge(kernel("elsewhere();", "void elsewhere();"))
    assert found.outcome in ("build_failed", "crashed")
    assert "elsewhere" in found.log


def test_a_flag_that_is_not_allowed(judge):
    found = judge(GOOD, flags=("-fplugin=/tmp/evil.so",))
    assert found.outcome == "refused"
    assert "-fplugin" in found.reason
    assert "allowed are" in found.reason


def test_a_source_without_end(judge):
    found = judge(GOOD + "//" + "x" * (300 << 10))
    assert found.outcome == "refused"
    assert "bytes" in found.reason


def test_somebody_elses_files_are_not_compiled_in(judge, tmp_path):
    secret = Path.home() / ".kernelwright-kernels-secret"
    secret.write_text("a secret")
    try:
        for text in (f'#include "{secret}"', f'__asm__(".incbin \\"{secret}\\"");'):
            found = judge(kernel("", text))
            assert found.outcome == "build_failed"
            assert "a secret" not in found.log
    finally:
        secret.unlink()


def test_templates_without_end(judge):
    found = judge(kernel("", "template <int N> struct T { static const int v = T<N + 1>::v; }; int v = T<0>::v;"))
    assert found.outcome == "build_failed"
    assert "template instantiation depth" in found.log
    assert len(found.log) < 30000


def test_a_compile_that_takes_for_ever(judge):
    bomb = """
    template <int N, long Path> struct T {
        static constexpr long v = T<N - 1, Path * 2>::v + T<N - 1, Path * 2 + 1>::v;
    };
    template <long Path> struct T<0, Path> { static constexpr long v = Path; };
    long v = T<40, 1>::v;
    """
    found = judge(kernel("", bomb))
    assert (found.outcome, found.outcome == "timed_out" and found.stage) in (
        ("timed_out", "compile"),
        ("build_failed", False),
    )


def test_a_binary_of_gigabytes(judge):
    found = judge(kernel("", "char hoard[1 << 30] = {1};"))
    assert found.outcome == "build_failed"


def test_a_binary_larger_than_is_loaded(judge):
    found = judge(kernel("", "char hoard[20 << 20] = {1};"))
    assert found.outcome == "build_failed"
    assert "at most 16777216 are loaded" in found.log


def test_a_loop_without_end(judge):
    found = judge(kernel("for (volatile int i = 0;; i = 0) {}"))
    assert (found.outcome, found.stage, found.limit_s) == ("timed_out", "verify", 3)


def test_a_sleeper(judge):
    found = judge(kernel("for (;;) pause();", "#include <unistd.h>"))
    assert (found.outcome, found.stage) == ("timed_out", "verify")


def test_a_loop_while_loading(judge):
    found = judge(kernel("", "struct Endless { Endless() { for (volatile int i = 0;; i = 0) {} } } endless;"))
    assert (found.outcome, found.stage) == ("timed_out", "load")


def test_a_fork_bomb(judge):
    found = judge(kernel("for (;;) fork();", "#include <unistd.h>"))
    assert (found.outcome, found.stage) == ("timed_out", "verify")


def test_a_thread_bomb(judge):
    found = judge(
        kernel("for (;;) new std::thread([] { for (;;) pause(); });", "#include <thread>\n#include <unistd.h>")
    )
    assert (found.outcome, found.reason) == ("crashed", "aborted")
    assert "Resource temporarily unavailable" in found.log


def test_all_of_the_memory(patient):
    found = patient(kernel("for (;;) std::memset(new char[1 << 24], 1, 1 << 24);", "#include <cstring>"))
    assert (found.outcome, found.reason) == ("crashed", "aborted")
    assert "bad_alloc" in found.log


def test_all_of_the_stack(judge):
    body = "extern int deeper(int); if (deeper(1) == 7) return;"
    before = 'extern "C++" int deeper(int n) { volatile char page[4096]; page[0] = char(n); return deeper(n + 1) + page[0]; }'
    found = judge(kernel(body, before), flags=("-O2",))
    assert found.outcome == "crashed"
    assert "SIGSEGV" in found.reason


def test_a_write_to_nowhere(judge):
    found = judge(kernel("*reinterpret_cast<volatile int*>(8) = 1;"))
    assert found.outcome == "crashed"
    assert "SIGSEGV" in found.reason
    assert "outside its buffers" in found.reason


def test_a_write_outside_its_folder(judge, tmp_path):
    target = Path("/var/tmp/kernelwright-was-here")
    found = judge(kernel(f'if (FILE* f = fopen("{target}", "w")) fclose(f);', "#include <cstdio>"))
    assert found.outcome == "measured"
    assert not target.exists()


def test_an_exit_without_an_answer(judge):
    found = judge(kernel("_exit(0);", "#include <unistd.h>"))
    assert found.outcome == "crashed"
    assert found.reason == "exited with status 0 before it answered"


def test_an_abort(judge):
    found = judge(kernel("abort();", "#include <cstdlib>"))
    assert (found.outcome, found.reason) == ("crashed", "aborted")


def test_an_exception_that_nobody_catches(judge):
    found = judge(kernel('throw std::runtime_error("out of ideas");', "#include <stdexcept>"))
    assert found.outcome == "crashed"
    assert "out of ideas" in found.log


def test_a_gigabyte_of_words(judge):
    words = "static char line[1 << 16]; for (int i = 0; i < 1 << 14; ++i) if (write(2, line, sizeof line) < 0) break;"
    found = judge(kernel(words + " abort();", "#include <cstdlib>\n#include <unistd.h>"))
    assert found.outcome == "crashed"
    assert len(found.log) < 10000


def test_the_wrong_language(asked, task):
    found = asked.judge(task, "import triton", language="triton")
    assert found.outcome == "refused"
    assert "takes cpp or python candidates, not triton" in found.reason
