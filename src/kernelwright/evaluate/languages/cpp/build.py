"""C++17 with OpenMP through the system compiler, into bytes of a shared object. The flags are here."""

import shutil

from kernelwright.errors import MachineError
from kernelwright.evaluate.languages.builder import Library, Order
from kernelwright.evaluate.languages.compiler import LIBRARY, made_text, shared_object
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.languages import too_large
from kernelwright.records.evaluation import BuildFailed, Refused

ASSEMBLY = "kernel.s"
MODULE, OWN_HOST, EXTENSION, INTERPRETED = False, False, False, False
BASE_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Wextra")
ALLOWED_FLAGS = (
    "-O2", "-O3", "-funroll-loops", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros",
    "-fassociative-math", "-freciprocal-math", "-ffp-contract=fast", "-ffp-contract=off",
    "-mprefer-vector-width=256", "-mprefer-vector-width=512", "-fopenmp-simd", "-ffast-math",
)  # fmt: skip


def compiler() -> str:
    """The C++ compiler's path.

    Raises:
        MachineError: there is none.
    """
    found = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    if found is None:
        raise MachineError("no C++ compiler was found: install one, for example with `apt-get install g++`")
    return found


def build(order: Order) -> Library | BuildFailed | Refused:
    """A Library, or why there is none.

    Raises:
        MachineError: there is no compiler.
        ChildSlowError: it took longer than `limit_s`.
        ChildGoneError: the compiler's process was killed, by its memory limit for instance.
    """
    candidate = order.candidate
    refused = [flag for flag in candidate.flags if flag not in ALLOWED_FLAGS]
    if refused:
        return Refused(reason=f"flags {refused} are not allowed; allowed are {', '.join(ALLOWED_FLAGS)}")
    if why := too_large(candidate.source):
        return Refused(reason=why)
    defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
    argv = [compiler(), *BASE_FLAGS, *candidate.flags, *defines, "kernel.cpp", "-o", LIBRARY]
    return shared_object(order.warm, argv, {"kernel.cpp": candidate.source}, order.limit_s, Jail(directory="/"))


cross_compile = build


def assembly(order: Order) -> str:
    """What the same compiler makes of the same source with the same flags, as text with the source's lines; empty: nothing.

    Raises:
        MachineError: there is no compiler.
        ChildSlowError, ChildGoneError: the compiler took too long, or was killed.
    """
    candidate = order.candidate
    defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
    argv = [compiler(), *BASE_FLAGS, *candidate.flags, *defines, "-S", "-g1", "kernel.cpp", "-o", ASSEMBLY]
    return made_text(order.warm, argv, {"kernel.cpp": candidate.source}, ASSEMBLY, order.limit_s)
