"""C++17 with OpenMP through the system compiler, inside a confined child, into bytes of a shared object.

Decides the flags and which of a candidate's own are allowed. A compile is foreign code at work (template bombs,
`.incbin` of somebody's files), so it has limits and sees no more of the file system than a compiler must.
"""

import os
import shutil
import time
from dataclasses import dataclass

from kernelwright.errors import MachineError
from kernelwright.evaluate.compile.made import read_made
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute, Made
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.measure import BuildFacts

BASE_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Wextra")
ALLOWED_FLAGS = (
    "-O2", "-O3", "-funroll-loops", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros",
    "-fassociative-math", "-freciprocal-math", "-ffp-contract=fast", "-ffp-contract=off",
    "-mprefer-vector-width=256", "-mprefer-vector-width=512", "-fopenmp-simd", "-ffast-math",
)  # fmt: skip
LARGEST_SOURCE, LARGEST_BINARY = 256 << 10, 16 << 20
"""Bytes of a source that is compiled, and of a shared object that is loaded."""
LIBRARY = "kernel.so"


@dataclass(frozen=True)
class Library:
    """A shared object as an anonymous file, with the build's facts."""

    descriptor: int
    facts: BuildFacts

    def close(self) -> None:
        """Free it."""
        os.close(self.descriptor)


def compiler() -> str:
    """The C++ compiler's path.

    Raises:
        MachineError: there is none.
    """
    found = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    if found is None:
        raise MachineError("no C++ compiler was found: install one, for example with `apt-get install g++`")
    return found


def build(
    warm: Warm, candidate: Candidate, limit_s: float, off: tuple[str, ...] = ()
) -> Library | BuildFailed | Refused:
    """Compile a candidate.

    Raises:
        MachineError: there is no compiler.
        ChildSlowError: it took longer than `limit_s`.
        ChildGoneError: the compiler's process was killed, by its memory limit for instance.
    """
    refused = [flag for flag in candidate.flags if flag not in ALLOWED_FLAGS]
    if refused:
        return Refused(reason=f"flags {refused} are not allowed; allowed are {', '.join(ALLOWED_FLAGS)}")
    if len(candidate.source.encode()) > LARGEST_SOURCE:
        return Refused(reason=f"the source has more than {LARGEST_SOURCE} bytes")
    defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
    argv = [compiler(), *BASE_FLAGS, *candidate.flags, *defines, "kernel.cpp", "-o", LIBRARY]
    return library(warm, argv, {"kernel.cpp": candidate.source}, limit_s, Jail(directory="/", off=off))


def library(warm: Warm, argv: list[str], files: dict[str, str], limit_s: float, jail: Jail) -> Library | BuildFailed:
    """Run a compiler that makes LIBRARY of `files`, confined as `jail` says but for starting programs and memory.

    Raises:
        ChildSlowError, ChildGoneError: as `build`.
    """
    confined = jail.model_copy(update={"may_execute": True, "memory_bytes": 4 << 30})
    child = Contestant(warm.spawn("tool", confined), limit_s)
    try:
        start = time.perf_counter()
        executed = child.ask(Execute(argv=argv, texts=files, result=LIBRARY))
        seconds, log, made = time.perf_counter() - start, executed.log, executed.made
        if made is None:
            return BuildFailed(log=log or f"the compiler exited with status {executed.status} and said nothing")
        if made.nbytes > LARGEST_BINARY:
            return BuildFailed(log=f"the shared object has {made.nbytes} bytes; at most {LARGEST_BINARY} are loaded")
        facts = BuildFacts(compiler=argv[0], seconds=seconds, warnings=log, binary_bytes=made.nbytes)
        return Library(_fetch(child, made), facts)
    finally:
        child.close()


def _fetch(child: Contestant, made: Made) -> int:
    descriptor = os.memfd_create("kernel.so", os.MFD_CLOEXEC)
    os.write(descriptor, read_made(child, made))
    return descriptor
