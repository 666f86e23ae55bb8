"""A serial task's own `main`: it is run, and what it calls the function with is what the task is given as inputs.

The program is built as it stands, but for what `main` calls in the function's place: a stand-in that writes every array to
a file, as long as the specification says it is, and goes on to the function. A program that never calls the function, or
calls it with other sizes than the specification's, is no driver of this task. Only its first call counts.
"""

import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.records.expression import worth
from kernelwright.records.task import SerialArgument, SerialSpec

LIMIT_S = 100
Array = NDArray[Any]
C_TYPES = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long", "uint8": "unsigned char",
    "int8": "signed char", "bool": "bool",
}  # fmt: skip
_SIZES = ".sizes"
_STAND_IN = """
#include <stdio.h>
#include <stdlib.h>
static void kernelwright_store(const char* name, const void* data, unsigned long bytes) {{
  FILE* file = fopen(name, "wb");
  if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) exit(90);
}}
static void kernelwright_driven({declared}) {{
  static int calls = 0;
  if (calls++ == 0) {{
{stored}
  }}
  {function}({passed});
}}
#define {function} kernelwright_driven
"""


def has_main(code: str) -> bool:
    """Whether a serial task's code is a program too."""
    return _place(code) >= 0


def driven(code: str, spec: SerialSpec, folder: Path, compiler: Sequence[str]) -> list[Array]:
    """The arrays that the program's first call passes, one for each of `spec.inputs`.

    Raises:
        RuntimeError: it does not compile, fails, or never calls the function at the sizes of the task.
    """
    source, program = folder / f"driver.{spec.dialect}", folder / "driver"
    source.write_text(_program(code, spec))
    _done([*compiler, str(source), "-o", str(program), "-lm"], folder, "the task's main does not compile")
    _done([str(program)], folder, "the task's main fails")
    if not (folder / _SIZES).is_file():
        raise RuntimeError(f"the task's main never calls {spec.function}: call it once with its inputs")
    _check_sizes(spec, np.fromfile(folder / _SIZES, dtype=np.int64))
    return [_read(a, spec, folder) for a in spec.inputs]


def _program(code: str, spec: SerialSpec) -> str:
    place = _place(code)
    stored = [f'    kernelwright_store("{a.name}", {a.name}, {_bytes(a, spec)}ul);' for a in spec.inputs]
    sizes = ", ".join(["0", *(f"(long){a.name}" for a in _sized(spec))])
    stored.append(f'    const long sizes[] = {{{sizes}}};\n    kernelwright_store("{_SIZES}", sizes, sizeof sizes);')
    stand_in = _STAND_IN.format(
        declared=", ".join(_declared(a) for a in spec.arguments),
        stored="\n".join(stored),
        function=spec.function,
        passed=", ".join(a.name for a in spec.arguments),
    )
    return code[:place] + stand_in + code[place:]


def _place(code: str) -> int:
    """Where `int main` begins; -1 where there is none."""
    lines, at = code.splitlines(keepends=True), 0
    for line in lines:
        if line.startswith(("int main(", "int main (")):
            return at
        at += len(line)
    return -1


def _declared(argument: SerialArgument) -> str:
    constant = "const " if argument.pointer and not (argument.out or argument.inout) else ""
    return f"{constant}{C_TYPES[argument.dtype]}{'*' if argument.pointer else ''} {argument.name}"


def _sized(spec: SerialSpec) -> list[SerialArgument]:
    """Parameters that carry a size."""
    return [a for a in spec.arguments if not a.pointer and a.value in spec.sizes]


def _check_sizes(spec: SerialSpec, called: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
    for argument, found in zip(_sized(spec), called[1:], strict=True):
        wanted = spec.sizes[str(argument.value)]
        if int(found) != wanted:
            raise RuntimeError(
                f"the task's main calls {spec.function} with {argument.name} = {found}, and [sizes] says {wanted}: "
                "let both say the same"
            )


def _bytes(argument: SerialArgument, spec: SerialSpec) -> int:
    return math.prod(_shape(argument, spec)) * np.dtype(argument.dtype).itemsize


def _shape(argument: SerialArgument, spec: SerialSpec) -> tuple[int, ...]:
    return tuple(worth(extent, spec.sizes) for extent in argument.shape)


def _read(argument: SerialArgument, spec: SerialSpec, folder: Path) -> Array:
    return np.fromfile(folder / argument.name, dtype=np.dtype(argument.dtype)).reshape(_shape(argument, spec))


def _done(argv: Sequence[str], folder: Path, fault: str) -> None:
    made = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if made.returncode != 0:
        raise RuntimeError(f"{fault} (exit status {made.returncode}):\n{made.stderr[:2000]}")
