"""A program of kernels over any axes as one C++17 file with OpenMP, for the task's own shapes."""

from collections.abc import Sequence
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.emit.cpp import MEMORY
from kernelwright.propose.author.emit.cpp_file import FLAGS, aligned, cpp_file, headers_of, helpers_in, signature
from kernelwright.propose.author.emit.scope import Writer
from kernelwright.propose.author.families.family import CpuSchedule, Family
from kernelwright.propose.author.ir.program import Program, Tensor
from kernelwright.propose.author.lower.schedules import Schedules
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task
from kernelwright.records.tensor import ITEM_BYTES


def write_program(task: Task, program: Program, families: Sequence[Family], schedule: Record) -> Candidate:
    """The program as a candidate.

    Raises:
        ProposeError: a call of PyTorch's remains, which C++ cannot make, or a tensor of a type that it does not have.
    """
    schedules = Schedules(program, families)
    if family := schedules.claimed:
        claimed: Candidate = family.write(task, program.kernels[0].plan, schedules.of(schedule, 0))
        return claimed
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
    body.line(signature(program.name, program.arguments, program.outputs, workspace=bool(needed)))
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
    kernels, text = len(program.kernels), body.text()
    comment = [f"{program.name}: {kernels} loop nest{'s' * (kernels > 1)}, for these shapes."]
    comment += [f"By algebra: {', '.join(program.rules)}."] if program.rules else []
    return cpp_file(comment, text, helpers_in(text), headers_of(text))


def _nbytes(buffer: Tensor) -> int:
    """Bytes of the workspace that a buffer takes."""
    return aligned(prod(buffer.shape) * ITEM_BYTES[buffer.dtype])
