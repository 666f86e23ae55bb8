"""Hostile and broken kernels through the real referee: one clear outcome each, and the next kernel is none the worse."""

from pathlib import Path
from typing import NamedTuple

import pytest
from bad_input import AFFINE, GOOD, QUICK, Asked

import calm


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
        after = calm.until(lambda: asked.judge(task, GOOD), lambda found: found.outcome != "suspect")
        assert after.outcome == "measured", after
        return found

    return judged


class Bad(NamedTuple):
    """A kernel, what it ends as, words of its log or reason, and other fields of its evaluation."""

    source: str
    outcome: str
    says: str = ""
    fields: tuple[tuple[str, object], ...] = ()
    flags: tuple[str, ...] = ()
    longest_log: int = 1 << 20


UNISTD = "#include <unistd.h>"
BAD = {
    "a syntax error": Bad(GOOD.replace("float* out)", "float* out"), "build_failed", "kernel.cpp:1:"),
    "no entry": Bad(
        GOOD.replace("void kernel", "void colonel"),
        "build_failed",
        "no function 'kernel': define it, and as extern \"C\"",
    ),
    "a missing symbol": Bad(kernel("elsewhere();", "void elsewhere();"), "build_failed or crashed", "elsewhere"),
    "a flag that is not allowed": Bad(GOOD, "refused", "-fplugin", flags=("-fplugin=/tmp/evil.so",)),
    "a source without end": Bad(GOOD + "//" + "x" * (3 << 20), "refused", "bytes"),
    "templates without end": Bad(
        kernel("", "template <int N> struct T { static const int v = T<N + 1>::v; }; int v = T<0>::v;"),
        "build_failed",
        "template instantiation depth",
        longest_log=30000,
    ),
    "a binary of gigabytes": Bad(kernel("", "char hoard[1 << 30] = {1};"), "build_failed"),
    "a binary larger than is loaded": Bad(
        kernel("", "char hoard[20 << 20] = {1};"), "build_failed", "at most 16777216 are loaded"
    ),
    "a loop without end": Bad(
        kernel("for (volatile int i = 0;; i = 0) {}"), "timed_out", fields=(("stage", "verify"), ("limit_s", 3))
    ),
    "a sleeper": Bad(kernel("for (;;) pause();", UNISTD), "timed_out", fields=(("stage", "verify"),)),
    "a loop while loading": Bad(
        kernel("", "struct Endless { Endless() { for (volatile int i = 0;; i = 0) {} } } endless;"),
        "timed_out",
        fields=(("stage", "load"),),
    ),
    "a fork bomb": Bad(kernel("for (;;) fork();", UNISTD), "timed_out", fields=(("stage", "verify"),)),
    "a thread bomb": Bad(
        kernel("for (;;) new std::thread([] { for (;;) pause(); });", f"#include <thread>\n{UNISTD}"),
        "crashed",
        "Resource temporarily unavailable",
        fields=(("reason", "aborted"),),
    ),
    "all of the stack": Bad(
        kernel(
            "extern int deeper(int); if (deeper(1) == 7) return;",
            'extern "C++" int deeper(int n) '
            "{ volatile char page[4096]; page[0] = char(n); return deeper(n + 1) + page[0]; }",
        ),
        "crashed",
        "SIGSEGV",
        flags=("-O2",),
    ),
    "a write to nowhere": Bad(
        kernel("*reinterpret_cast<volatile int*>(8) = 1;"), "crashed", "SIGSEGV & outside its buffers"
    ),
    "an exit without an answer": Bad(
        kernel("_exit(0);", UNISTD), "crashed", fields=(("reason", "exited with status 0 before it answered"),)
    ),
    "an abort": Bad(kernel("abort();", "#include <cstdlib>"), "crashed", fields=(("reason", "aborted"),)),
    "an exception that nobody catches": Bad(
        kernel('throw std::runtime_error("out of ideas");', "#include <stdexcept>"), "crashed", "out of ideas"
    ),
    "a gigabyte of words": Bad(
        kernel(
            "static char line[1 << 16];"
            " for (int i = 0; i < 1 << 14; ++i) if (write(2, line, sizeof line) < 0) break; abort();",
            f"#include <cstdlib>\n{UNISTD}",
        ),
        "crashed",
        longest_log=10000,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_kernel_has_one_clear_outcome(judge, name):
    bad = BAD[name]
    found = judge(bad.source, **({"flags": bad.flags} if bad.flags else {}))
    assert found.outcome in bad.outcome.split(" or "), found
    log, reason = getattr(found, "log", ""), getattr(found, "reason", "")
    assert all(words in log or words in reason for words in bad.says.split(" & ")), found
    assert len(log) < bad.longest_log
    assert all(getattr(found, field) == value for field, value in bad.fields), found


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


def test_all_of_the_memory(patient):
    found = patient(kernel("for (;;) std::memset(new char[1 << 24], 1, 1 << 24);", "#include <cstring>"))
    assert (found.outcome, found.reason) == ("crashed", "aborted")
    assert "bad_alloc" in found.log


def test_a_write_outside_its_folder(judge, tmp_path):
    target = Path("/var/tmp/kernelwright-was-here")
    found = judge(kernel(f'if (FILE* f = fopen("{target}", "w")) fclose(f);', "#include <cstdio>"))
    assert found.outcome == "measured"
    assert not target.exists()


def test_the_wrong_language(asked, task):
    found = asked.judge(task, "import triton", language="triton")
    assert found.outcome == "refused"
    assert "takes cpp or python candidates, not triton" in found.reason
