"""Kernels that are launched by a plan, as constants of a drop-in file: what `parts/cuda.py.txt` compiles and launches."""

import struct
from collections.abc import Sequence
from typing import Any

from kernelwright.errors import ProposeError
from kernelwright.records.candidate import Candidate, Define, Recipe
from kernelwright.records.launch import Argument, Launch, Launching, Null, Number, Pointer, TensorMap

CONSTANTS = ("HOST", "HEADERS", "LAUNCHES", "WORKSPACES", "ZEROED", "MULTIPROCESSORS", "RECIPE", "DEFINES")
TYPES = {
    "i8": "c_int8", "i16": "c_int16", "i32": "c_int32", "i64": "c_int64", "u8": "c_uint8", "u16": "c_uint16",
    "u32": "c_uint32", "u64": "c_uint64", "f32": "c_float", "f64": "c_double",
}  # fmt: skip
"""Of numbers, by ctypes' names."""
FIXED = ("--std=c++17",)
"""What NVRTC is given where the candidate says nothing else."""


def constants(candidate: Candidate, launching: Launching, inputs: int, common: Sequence[str]) -> str:
    """The file's constants.

    Args:
        candidate: with its tunables at the chosen values.
        launching: its launches.
        inputs: tensors of a call; parameters come behind them.
        common: lines that every compiled drop-in has.

    Raises:
        ProposeError: the plan has what only the referee's own launcher does, or the source cannot stand in a string.
    """
    plan = launching.plan
    if any(max(each.cluster) > 1 for each in plan.launches) or plan.renewed:
        raise ProposeError("kernels in clusters, or with new state, cannot be a ModelNew yet: use them as they are")
    if "'''" in candidate.source or candidate.recipe is None:
        raise ProposeError("the candidate's source has three single quotes in a row, or no launch plan")
    lines = [
        *common,
        f"FLAGS = {_flags(candidate, launching)!r}",
        f"SOURCE = r'''\n{candidate.source.rstrip()}\n'''",
        f"HOST = {tuple(at + 1 for at in launching.host)!r}  # host code that is no part of the kernels",
        f"HEADERS = {launching.headers!r}  # that NVRTC lacks",
        "LAUNCHES = [  # kernel, grid, block, bytes of shared memory, whether all blocks run at once, arguments",
        *(f"    {_launch(each, inputs)!r}," for each in plan.launches),
        "]",
        f"WORKSPACES = {[(w.nbytes, w.zeroed) for w in plan.workspaces]!r}  # bytes, whether they begin as zeros",
        f"ZEROED = {plan.zeroed_outputs!r}",
        f"MULTIPROCESSORS = {launching.multiprocessors}",
        f"RECIPE = {candidate.recipe.model_dump_json()!r}  # the plan as it was written",
        f"DEFINES = {[(d.name, d.value) for d in candidate.defines]!r}",
    ]
    return "\n".join(lines)


def judged(given: dict[str, Any]) -> Candidate | None:
    """The candidate out of a file's constants; None where they are not of such a file."""
    if not {"SOURCE", "RECIPE", "DEFINES", "FLAGS"} <= given.keys():
        return None
    defines = tuple(Define(name=name, value=value) for name, value in given["DEFINES"])
    return Candidate(
        language="cuda",
        source=given["SOURCE"].removeprefix("\n"),
        entry=given["ENTRY"],
        flags=tuple(flag for flag in given["FLAGS"] if flag not in FIXED and not flag.startswith("-D")),
        defines=defines,
        recipe=Recipe.model_validate_json(given["RECIPE"]),
    )


def _flags(candidate: Candidate, launching: Launching) -> tuple[str, ...]:
    own = [flag for flag in candidate.flags if flag != "-O3"]
    standard = () if any("-std" in flag for flag in own) else FIXED
    return (*standard, *own, *(f"-D{name}={value}" for name, value in launching.macros.items()))


def _launch(launch: Launch, inputs: int) -> tuple[object, ...]:
    arguments = [_argument(each, inputs) for each in launch.arguments]
    return launch.kernel, launch.grid, launch.block, launch.shared_bytes, launch.cooperative, arguments


def _argument(argument: Argument, inputs: int) -> tuple[object, ...]:
    match argument:
        case Pointer(buffer="parameter"):
            return "given", inputs + argument.index, argument.offset
        case Pointer():
            kind = {"input": "given", "output": "made", "workspace": "space"}[argument.buffer]
            return kind, argument.index, argument.offset
        case Null():
            return "c_uint64", 0
        case Number():
            return _number(argument)
        case TensorMap():
            raise ProposeError("kernels that take tensor maps cannot be a ModelNew yet: use them as they are")


def _number(number: Number) -> tuple[object, ...]:
    """Of 16 bits as the integer with the same bits, which ctypes knows."""
    match number.type:
        case "f16":
            return "c_uint16", struct.unpack("<H", struct.pack("<e", number.value))[0]
        case "bf16":
            return "c_uint16", struct.unpack("<I", struct.pack("<f", number.value))[0] >> 16
        case "f32" | "f64":
            return TYPES[number.type], float(number.value)
        case _:
            return TYPES[number.type], int(number.value)
