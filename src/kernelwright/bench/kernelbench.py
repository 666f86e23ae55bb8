"""A user's checkout of KernelBench as tasks: which files are problems, which are unfit, and in which precision.

Only file names (`NN_Name.py` below `KernelBench/levelN/` or `levelN/`) and the lists in `unfit.toml` count. A precision
is code appended to the task's text; the text itself is never run here.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from kernelwright.bench.plan import LeftOut
from kernelwright.bench.request import KernelBench, Precision
from kernelwright.errors import TaskError, UsageError
from kernelwright.records.task import TaskSource
from kernelwright.tasks.kernelbench import read_kernelbench

DTYPES: Mapping[Precision, str] = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_PROBLEM = re.compile(r"(\d+)_.+\.py")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")

# `Model` is changed in place, not derived from: its own methods may say `super(Model, self)`.
_CAST = """

# Precision: the model and its floating-point inputs are {dtype}, as KernelBench casts them.
def _in_precision(model):
    import torch

    construct = model.__init__

    def __init__(self, *arguments, **settings):
        construct(self, *arguments, **settings)
        self.to(torch.{dtype})

    model.__init__ = __init__
    return model


def _cast_inputs(draw):
    import torch

    def get_inputs():
        return [x.to(torch.{dtype}) if torch.is_tensor(x) and x.is_floating_point() else x for x in draw()]

    return get_inputs


Model = _in_precision(Model)
get_inputs = _cast_inputs(get_inputs)
"""


class Suite(NamedTuple):
    """The tasks that were asked for."""

    sources: tuple[tuple[Path, TaskSource], ...]
    left_out: tuple[LeftOut, ...]
    words: str
    """Which tasks these are."""
    doubtful: tuple[LeftOut, ...] = ()
    """Those of them that somebody's list leaves out."""


def read_level(asked: KernelBench) -> Suite:
    """The problems of one level.

    Raises:
        UsageError: there is no such level at the path, a problem that was named is not there, or two have one number.
    """
    found = _problems(asked)
    numbers = read_numbers(asked.problems) if asked.problems else sorted(found)
    missing = [number for number in numbers if number not in found]
    if missing:
        raise UsageError(
            f"level {asked.level} of {str(asked.path)!r} has no problem {', '.join(map(str, missing))}: "
            f"it has {len(found)}, from {min(found)} to {max(found)}"
        )
    sources: list[tuple[Path, TaskSource]] = []
    left_out: list[LeftOut] = []
    doubts: list[LeftOut] = []
    for number in numbers:
        name, reason = f"l{asked.level}_{found[number].stem}", unfit().get((asked.level, number))
        doubt = reason or doubtful().get((asked.level, number))
        if reason is not None and not asked.include_unfit:
            left_out.append(LeftOut(name=name, reason=reason))
            continue
        try:
            sources.append((found[number], read_problem(found[number], name, asked.precision)))
            doubts += [LeftOut(name=name, reason=doubt)] if doubt else []
        except TaskError as error:
            left_out.append(LeftOut(name=name, reason=str(error)))
    words = f"KernelBench level {asked.level}, {asked.precision}"
    return Suite(tuple(sources), tuple(left_out), words, tuple(doubts))


def read_problem(file: Path, name: str, precision: Precision) -> TaskSource:
    """One problem in a precision; `fp32` is as the file has it.

    Raises:
        TaskError: the file is no task.
    """
    source = read_kernelbench(file)
    text = source.source if precision == "fp32" else source.source.rstrip() + "\n" + in_precision(precision)
    return source.model_copy(update={"name": name, "source": text})


def in_precision(precision: Precision) -> str:
    """What is appended to a task's text so that model and inputs come in that precision."""
    return _CAST.format(dtype=DTYPES[precision])


def read_numbers(text: str) -> list[int]:
    """Problem numbers as the command line spells them: `1,5-9`.

    Raises:
        UsageError: they are spelled otherwise.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise UsageError(f"problems {text!r} must be numbers and ranges, such as 1,5-9")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


@cache
def unfit() -> Mapping[tuple[int, int], str]:
    """Known unfit problems, by level and number, with the reason and who found it."""
    return _listed("problem")


@cache
def doubtful() -> Mapping[tuple[int, int], str]:
    """Problems that are fit for this referee and stand on somebody's list of unfit ones, likewise."""
    return _listed("doubtful")


def _listed(table: str) -> dict[tuple[int, int], str]:
    rows = tomllib.loads((files("kernelwright.bench") / "unfit.toml").read_text("utf-8"))[table]
    return {(row["level"], number): f"{row['reason']} ({row['source']})" for row in rows for number in row["ids"]}


def _problems(asked: KernelBench) -> dict[int, Path]:
    """Files by problem number."""
    for folder in (asked.path / "KernelBench" / f"level{asked.level}", asked.path / f"level{asked.level}"):
        if folder.is_dir():
            named = ((_PROBLEM.fullmatch(file.name), file) for file in sorted(folder.iterdir()))
            found: dict[int, Path] = {}
            for number, file in ((int(match[1]), file) for match, file in named if match):
                if number in found:
                    raise UsageError(
                        f"{str(folder)!r} has two problems {number}, {found[number].name} and {file.name}: remove one"
                    )
                found[number] = file
            if found:
                return found
    raise UsageError(
        f"{str(asked.path)!r} has no problems of level {asked.level}: expected files such as 1_Name.py below "
        f"KernelBench/level{asked.level}/ or level{asked.level}/; name the folder of a KernelBench checkout"
    )
