"""C++ through the confined compiler: what is built, what is refused, what the proposer gets to read."""

import ctypes
import os

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.languages import LARGEST_SOURCE
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.evaluation import BuildFailed, Refused

SOURCE = """
#ifndef FACTOR
#define FACTOR 2
#endif
extern "C" void twice(const float* x, float* out) { *out = FACTOR * *x; }
"""


def candidate(source=SOURCE, **fields):
    return Candidate(language="cpp", source=source, entry="twice", **fields)


def build(warm, candidate, limit_s):
    return cpp.build(Order(warm, candidate, limit_s))


@pytest.mark.parametrize(("defines", "wanted"), [((), 3.0), ((Define(name="FACTOR", value=5),), 7.5)])
def test_a_source_becomes_a_library_with_its_tunables_set(warm, tmp_path, defines, wanted):
    library = build(warm, candidate(defines=defines), 60)
    assert library.facts.binary_bytes == os.fstat(library.descriptor).st_size
    assert library.facts.compiler == cpp.compiler()
    assert library.facts.seconds > 0
    copy = tmp_path / "kernel.so"
    copy.write_bytes(os.pread(library.descriptor, 1 << 24, 0))
    library.close()
    out = ctypes.c_float()
    ctypes.CDLL(str(copy)).twice(ctypes.byref(ctypes.c_float(1.5)), ctypes.byref(out))
    assert out.value == wanted


def test_an_error_is_told_in_the_compiler_s_words(warm):
    failed = build(warm, candidate("int main( {"), 60)
    assert isinstance(failed, BuildFailed)
    assert "kernel.cpp:1:" in failed.log


def test_warnings_are_kept(warm):
    library = build(warm, candidate("static int unused() { return 1; }" + SOURCE), 60)
    assert "unused" in library.facts.warnings
    library.close()


@pytest.mark.parametrize("flag", ["-fplugin=evil.so", "-include/etc/passwd", "-o/tmp/x", "@file", "-O3 -march=native"])
def test_flags_that_are_not_on_the_list_are_refused_before_anything_runs(flag):
    refused = build(None, candidate(flags=("-O3", flag)), 60)
    assert isinstance(refused, Refused)
    assert repr(flag) in refused.reason


def test_a_source_without_end_is_refused():
    assert isinstance(build(None, candidate("/" * (LARGEST_SOURCE + 1)), 60), Refused)


def test_the_compiler_reads_none_of_our_files(warm, tmp_path):
    secret = tmp_path / "secret.h"
    secret.write_text("#define SECRET 1\n")
    failed = build(warm, candidate(f'#include "{secret}"\n{SOURCE}'), 60)
    assert isinstance(failed, BuildFailed)
    assert "secret.h" in failed.log


def test_a_compiler_that_works_for_ever_is_killed(warm):
    bomb = "constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
    deep = "template <int n> struct T { T<n - 1> a; T<n - 2> b; };\ntemplate <> struct T<0> {};\nT<900> t;\n"
    with pytest.raises(ChildSlowError):
        build(warm, candidate(f"{bomb}static_assert(f(60) > 0);\n{deep}{SOURCE}"), 0.1)


def test_a_source_that_includes_itself_is_a_failed_build(warm):
    assert isinstance(build(warm, candidate("#include __FILE__\n"), 30), BuildFailed)


def test_without_a_compiler_the_cure_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match=r"apt-get install g\+\+"):
        build(None, candidate(), 60)
