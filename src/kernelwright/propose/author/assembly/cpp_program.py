"""A program of kernels over any axes as one C++17 file with OpenMP, for the task's own shapes."""

from collections.abc import Sequence
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.assembly.schedules import Schedules
from kernelwright.propose.author.families.strided.cpp_schedule import CpuSchedule
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.propose.author.plan.program import Program
from kernelwright.propose.author.source.cpp import FLAGS
from kernelwright.propose.author.source.cpp_expr import MEMORY
from kernelwright.propose.author.source.cpp_math import FUNCTIONS, selected
from kernelwright.propose.author.source.writer import WIDTH, Writer
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.tensor import ITEM_BYTES

ALIGNMENT = 64
"""Bytes: where a buffer in the workspace begins."""
HEADERS = {"vector": ("std::vector",), "algorithm": ("std::min", "std::fill"), "cmath": ("INFINITY", "NAN", "std::")}
"""What needs a header."""
MARKS = {"bfloat16": "_bfloat16(", "float16": "_float16(", "amax": "fast::amax :", "amin": "fast::amin :"}
"""How the body names the helpers that are not called by their own name."""


def write_program(program: Program, schedules: Schedules, schedule: Record) -> Candidate:
    """The program as a candidate.

    Raises:
        ProposeError: a call of PyTorch's remains, which C++ cannot make, or a tensor of a type that it does not have.
    """
    if program.kept:
        kept = program.kept[0]
        raise ProposeError(f"{program.name!r}: {kept.node.op}: {kept.why}")
    for tensor in (*program.arguments, *program.outputs, *program.buffers):
        if tensor.dtype not in MEMORY:
            raise ProposeError(
                f"{program.name!r}: {tensor.identifier} is {tensor.dtype}, which the C++ author does not have"
            )
    options = [schedules.of(schedule, number) for number in range(len(program.kernels))]
    wide = max(option.vector_bits for option in options if isinstance(option, CpuSchedule))
    return Candidate(
        language="cpp",
        source=_text(program, schedules, options),
        entry=program.name,
        flags=(*FLAGS, f"-mprefer-vector-width={wide}"),
        workspace_bytes=sum(_nbytes(t) for t in (*program.buffers, *_rooms(program, schedules))),
    )


def _rooms(program: Program, schedules: Schedules) -> list[Tensor]:
    """What each kernel needs for itself."""
    sizes = [schedules.family(kernel).scratch(kernel.plan) for kernel in program.kernels]
    return [Tensor("", f"room{n}", (size,), "float32", ()) for n, size in enumerate(sizes)]


def _text(program: Program, schedules: Schedules, options: Sequence[Record]) -> str:
    body, rooms = Writer("  "), _rooms(program, schedules)
    needed = (*program.buffers, *(room for room in rooms if _nbytes(room)))
    body.line(_signature(program, workspace=bool(needed)))
    taken = {t.identifier for t in (*program.arguments, *program.outputs, *needed)}
    with body.deeper("}"):
        start = 0
        for buffer in needed:
            kind = MEMORY[buffer.dtype]
            where = f"static_cast<char*>(workspace) + {start}"
            body.line(f"{kind}* const {buffer.identifier} = reinterpret_cast<{kind}*>({where});")
            start += _nbytes(buffer)
        for kernel, schedule, room in zip(program.kernels, options, rooms, strict=True):
            schedules.family(kernel).write(kernel.plan, schedule, body, taken, room.identifier)
    return _head(program, body.text()) + body.text()


def _signature(program: Program, *, workspace: bool) -> str:
    parameters = [f"const {MEMORY[t.dtype]}* __restrict {t.identifier}" for t in program.arguments]
    parameters += [f"{MEMORY[t.dtype]}* __restrict {t.identifier}" for t in program.outputs]
    parameters += ["void* workspace"] * workspace
    line = f'extern "C" void {program.name}({", ".join(parameters)}) {{'
    return line if len(line) <= WIDTH else f'extern "C" void {program.name}(\n    ' + ",\n    ".join(parameters) + ") {"


def _head(program: Program, body: str) -> str:
    """The comment, the headers and the helpers that the body needs."""
    kernels = len(program.kernels)
    helpers = selected({n for n in FUNCTIONS if _mentions(body, n)}, libm=False)
    headers = {"cstdint"} | {h for f in helpers for h in f.headers}
    headers |= {h for h, marks in HEADERS.items() if any(mark in body for mark in marks)}
    lines = [f"// {program.name}: {kernels} loop nest{'s' * (kernels > 1)}, for these shapes."]
    lines += [f"// By algebra: {', '.join(program.rules)}."] if program.rules else []
    lines += [f"#include <{header}>" for header in sorted(headers)] + [""]
    if helpers:
        lines += ["namespace fast {"]
        for helper in helpers:
            lines += ["", *helper.text.rstrip("\n").split("\n")]
        lines += ["", "}  // namespace fast", ""]
    return "\n".join(lines) + "\n"


def _mentions(body: str, name: str) -> bool:
    return MARKS.get(name, f"fast::{name}(") in body


def _nbytes(buffer: Tensor) -> int:
    """Bytes of the workspace that a buffer takes."""
    nbytes = prod(buffer.shape) * ITEM_BYTES[buffer.dtype]
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
