"""A program of kernels over any axes as one C++17 file with OpenMP, for the task's own shapes."""

from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.assembly.schedules import Schedules
from kernelwright.propose.author.families.strided.cpp import write_cpp
from kernelwright.propose.author.families.strided.cpp_schedule import LoopSchedule
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
HEADERS = {"algorithm": ("std::min", "std::fill"), "cmath": ("INFINITY", "NAN", "std::")}
"""What needs a header."""
MARKS = {"bfloat16": "_bfloat16(", "float16": "_float16(", "amax": "fast::amax :", "amin": "fast::amin :"}
"""How the body names the helpers that are not called by their own name."""


def write_program(program: Program, schedules: Schedules, schedule: Record) -> Candidate:
    """The program as a candidate.

    Raises:
        ProposeError: a call of PyTorch's remains, which C++ cannot make.
    """
    if program.kept:
        kept = program.kept[0]
        raise ProposeError(f"{program.name!r}: {kept.node.op}: {kept.why}")
    options = [schedules.of(schedule, number) for number in range(len(program.kernels))]
    loops = [option for option in options if isinstance(option, LoopSchedule)]
    wide = max(option.vector_bits for option in loops)
    return Candidate(
        language="cpp",
        source=_text(program, loops),
        entry=program.name,
        flags=(*FLAGS, f"-mprefer-vector-width={wide}"),
        workspace_bytes=sum(map(_room, program.buffers)),
    )


def _text(program: Program, schedules: list[LoopSchedule]) -> str:
    body = Writer("  ")
    body.line(_signature(program))
    tensors = (*program.arguments, *program.outputs, *program.buffers)
    with body.deeper("}"):
        start = 0
        for buffer in program.buffers:
            kind = MEMORY[buffer.dtype]
            where = f"static_cast<char*>(workspace) + {start}"
            body.line(f"{kind}* const {buffer.identifier} = reinterpret_cast<{kind}*>({where});")
            start += _room(buffer)
        for kernel, schedule in zip(program.kernels, schedules, strict=True):
            write_cpp(kernel.plan, schedule, body, {t.identifier for t in tensors})  # type: ignore[arg-type]
    return _head(program, body.text()) + body.text()


def _signature(program: Program) -> str:
    parameters = [f"const {MEMORY[t.dtype]}* __restrict {t.identifier}" for t in program.arguments]
    parameters += [f"{MEMORY[t.dtype]}* __restrict {t.identifier}" for t in program.outputs]
    parameters += ["void* workspace"] * bool(program.buffers)
    line = f'extern "C" void {program.name}({", ".join(parameters)}) {{'
    return line if len(line) <= WIDTH else f'extern "C" void {program.name}(\n    ' + ",\n    ".join(parameters) + ") {"


def _head(program: Program, body: str) -> str:
    """The comment, the headers and the helpers that the body needs."""
    kernels = len(program.kernels)
    helpers = selected({n for n in FUNCTIONS if _mentions(body, n)}, libm=False)
    headers = {"cstdint"} | {h for f in helpers for h in f.headers}
    headers |= {h for h, marks in HEADERS.items() if any(mark in body for mark in marks)}
    lines = [f"// {program.name}: {kernels} loop nest{'s' * (kernels > 1)}, for these shapes."]
    lines += [f"#include <{header}>" for header in sorted(headers)] + [""]
    if helpers:
        lines += ["namespace fast {"]
        for helper in helpers:
            lines += ["", *helper.text.rstrip("\n").split("\n")]
        lines += ["", "}  // namespace fast", ""]
    return "\n".join(lines) + "\n"


def _mentions(body: str, name: str) -> bool:
    return MARKS.get(name, f"fast::{name}(") in body


def _room(buffer: Tensor) -> int:
    """Bytes of the workspace that a buffer takes."""
    nbytes = prod(buffer.shape) * ITEM_BYTES[buffer.dtype]
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
