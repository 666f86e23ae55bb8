"""What the doctor looks at for C++ candidates: a compiler, with OpenMP."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright.evaluate.backends import look
from kernelwright.records.run import Check

PROGRAM = """\
#include <omp.h>
int main() { int n = 0; _Pragma("omp parallel reduction(+ : n)") n += omp_get_num_threads() > 0; return n ? 0 : 1; }
"""
"""Two lines that only an OpenMP compiler with its runtime can build and run."""
PLAIN = "int main() { return 0; }\n"


def checks() -> list[Check]:
    """Whether a program is compiled and runs."""
    compiler = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    fix = "Install one: apt-get install g++"
    if compiler is None:
        return [Check(name="c++ compiler", status="missing", detail="none of g++, c++, clang++ is here", fix=fix)]
    if (log := _tried(compiler, PLAIN, [])) is not None:
        return [Check(name="c++ compiler", status="missing", detail=f"{compiler} does not work: {log}", fix=fix)]
    version = look.run([compiler, "--version"])
    line = version.stdout.splitlines()[0] if version and version.stdout else "of unknown version"
    found = Check(name="c++ compiler", status="ok", detail=f"{compiler}: {line}")
    return [found, _openmp(compiler)]


def _openmp(compiler: str) -> Check:
    log = _tried(compiler, PROGRAM, ["-fopenmp"])
    if log is None:
        return Check(name="openmp", status="ok", detail=f"works with {len(os.sched_getaffinity(0))} threads")
    fix = "Install the compiler's OpenMP runtime: libgomp1 for g++, libomp-dev for clang++."
    return Check(name="openmp", status="missing", detail=f"{compiler} -fopenmp does not work: {log}", fix=fix)


def _tried(compiler: str, program: str, flags: Sequence[str]) -> str | None:
    """What went wrong when a program was compiled and run; None if it worked."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "program.cpp"), Path(folder, "program")
        source.write_text(program)
        for command in ([compiler, *flags, str(source), "-o", str(made)], [str(made)]):
            done = look.run(command)
            if done is None:
                return f"no end after {look.LIMIT_S:.0f} s"
            if done.returncode:
                said = (done.stdout + done.stderr).strip()[-400:]
                return said or f"{command[0]} ended with status {done.returncode}"
    return None
