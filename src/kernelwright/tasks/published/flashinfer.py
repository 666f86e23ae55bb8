"""FlashInfer-Bench's data sets: definitions, workloads, solutions and traces as JSON (docs.flashinfer.ai, its schema pages).

A definition becomes a task at the largest of its workloads, a solution a kernel: a module that writes the solution's files
to a folder of its own and calls the entry point, with outputs where the solution wants them given. What a trace says of the
speedup is the claim. Left out, each with the reason: workloads whose inputs lie in files, and bindings other than torch's.
"""

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from statistics import median
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.files import read_within
from kernelwright.tasks.published.forms import parse_speedup

DTYPES = {
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
}  # fmt: skip
WHOLE_NUMBERS = 16
"""Integers are drawn below this, since nothing says what they mean."""


class _Json(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


Model = TypeVar("Model", bound=_Json)


class Axis(_Json):
    """A size: a constant, or one that each workload gives."""

    type: str
    value: int | None = None


class TensorText(_Json):
    """An input or output; a shape of None is a number's."""

    shape: tuple[str, ...] | None
    dtype: str


class Definition(_Json):
    """What is to be computed; `reference` defines `run`."""

    name: str
    axes: dict[str, Axis]
    inputs: dict[str, TensorText]
    outputs: dict[str, TensorText]
    reference: str


class WorkloadInput(_Json):
    """How one input comes to be."""

    type: Literal["random", "scalar", "safetensors"] | str
    value: bool | int | float | None = None


class Workload(_Json):
    """The sizes that vary, and where inputs come from."""

    axes: dict[str, int] = {}
    inputs: dict[str, WorkloadInput] = {}


class Spec(_Json):
    """How a solution is built and called."""

    language: str = ""
    languages: tuple[str, ...] = ()
    entry_point: Annotated[str, Field(pattern=r"^[^:]+::\w+$")]
    destination_passing_style: bool = True
    binding: str | None = None


class SourceFile(_Json):
    """One file of a solution."""

    path: str
    content: str


class Solution(_Json):
    """One kernel."""

    name: str
    definition: str
    spec: Spec
    sources: tuple[SourceFile, ...]


def is_data_set(path: Path) -> bool:
    """Whether it has definitions and solutions."""
    return (path / "definitions").is_dir() and (path / "solutions").is_dir()


def read_solutions(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every solution, in the order of their files."""
    definitions = {d.name: d for d in _all(path / "definitions", Definition)}
    workloads = _workloads(path)
    claims = _claims(path / "traces")
    found = []
    for solution in _all(path / "solutions", Solution):
        definition = definitions.get(solution.definition)
        offered = workloads.get(solution.definition, [Workload()])
        found.append(_published(solution, definition, offered, claims.get(solution.name)))
    return found


def _published(
    solution: Solution, definition: Definition | None, offered: list[Workload], claimed: float | None
) -> PublishedKernel:
    missing, reference, kernel = "", "", ""
    if definition is None:
        missing = f"there is no definition {solution.definition!r}"
    else:
        usable = [w for w in offered if not _unusable(definition, w)]
        missing = _unbuildable(solution) or ("" if usable else _unusable(definition, offered[0]))
        if not missing:
            largest = max(usable, key=lambda w: sum(prod(_shape(definition, w, t)) for t in definition.inputs.values()))
            reference, kernel = task_text(definition, largest), kernel_text(definition, solution, largest)
    return PublishedKernel(
        name=solution.name,
        origin=f"solution {solution.name} of {solution.definition}",
        reference=reference,
        kernel=kernel,
        claimed=claimed,
        missing=missing,
    )


def _unusable(definition: Definition, workload: Workload) -> str:
    """Why a workload cannot be drawn; empty where it can."""
    for name, axis in definition.axes.items():
        if axis.value is None and name not in workload.axes:
            return f"no workload gives the size {name}"
    for name, tensor in definition.inputs.items():
        given = workload.inputs.get(name, WorkloadInput(type="random"))
        if given.type not in ("random", "scalar"):
            return f"its input {name} lies in a file of the data set"
        if tensor.dtype not in DTYPES:
            return f"its input {name} is {tensor.dtype}"
    return ""


def _unbuildable(solution: Solution) -> str:
    file = solution.spec.entry_point.partition("::")[0]
    if file not in {source.path for source in solution.sources}:
        return f"its entry point {solution.spec.entry_point} names a file that it has not"
    if file.endswith(".py") or solution.spec.binding == "torch":
        return ""
    binding = solution.spec.binding or "something else"
    return f"it is bound to Python by {binding}, and only torch's binding is known"


def _shape(definition: Definition, workload: Workload, tensor: TensorText) -> tuple[int, ...]:
    sizes = {name: axis.value for name, axis in definition.axes.items() if axis.value is not None} | workload.axes
    return tuple(int(axis) if axis.isdigit() else sizes.get(axis, 1) for axis in tensor.shape or ())


_TASK = '''"""{name}"""

import torch

{reference}


class Model(torch.nn.Module):
    """Calls the reference; a dict of results becomes a tuple in the order of the definition."""

    def forward(self, {arguments}):
        found = run({arguments})
        found = tuple(found[name] for name in {outputs}) if isinstance(found, dict) else found
        return found[0] if isinstance(found, (tuple, list)) and len(found) == 1 else found


def get_inputs():
    return [
{drawn}
    ]


def get_init_inputs():
    return []
'''


def task_text(definition: Definition, workload: Workload) -> str:
    """A task file in KernelBench's form."""
    drawn = [_drawn(definition, workload, name) for name in definition.inputs]
    return _TASK.format(
        name=definition.name.replace('"', "'"),
        reference=definition.reference.strip(),
        arguments=", ".join(definition.inputs),
        outputs=json.dumps(list(definition.outputs)),
        drawn="\n".join(f"        {line}," for line in drawn),
    )


def _drawn(definition: Definition, workload: Workload, name: str) -> str:
    tensor, given = definition.inputs[name], workload.inputs.get(name)
    if tensor.shape is None:
        return repr(given.value if given and given.value is not None else 1.0)
    shape, dtype = list(_shape(definition, workload, tensor)), f"torch.{tensor.dtype}"
    if tensor.dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    if tensor.dtype.startswith(("int", "uint")):
        return f"torch.randint({WHOLE_NUMBERS}, {shape}, dtype={dtype})"
    return f"torch.randn({shape}).to({dtype})"


_KERNEL = """import importlib
import sys
import tempfile
from pathlib import Path

import torch

SOURCES = {sources}
FILE, FUNCTION = {file!r}, {function!r}
OUTPUTS = {outputs}
GIVEN = {given!r}


def _entry():
    folder = Path(tempfile.mkdtemp(prefix="solution-"))
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
{loading}


RUN = _entry()


class ModelNew(torch.nn.Module):
    def forward(self, *inputs):
        if not GIVEN:
            found = RUN(*inputs)
            found = tuple(found.values()) if isinstance(found, dict) else found
            return found[0] if isinstance(found, (tuple, list)) and len(found) == 1 else found
        device = next(each.device for each in inputs if isinstance(each, torch.Tensor))
        outputs = [torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape, dtype in OUTPUTS]
        RUN(*inputs, *outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
"""
_IMPORTED = """    sys.path.insert(0, str(folder))
    return getattr(importlib.import_module(FILE.removesuffix(".py").replace("/", ".")), FUNCTION)"""
_COMPILED = """    from torch.utils.cpp_extension import load

    files = [str(folder / name) for name in SOURCES if name.endswith((".cu", ".cpp", ".cc"))]
    return getattr(load("solution", files), FUNCTION)"""


def kernel_text(definition: Definition, solution: Solution, workload: Workload) -> str:
    """A module with `ModelNew` that calls the solution."""
    file, _, function = solution.spec.entry_point.partition("::")
    outputs = [(_shape(definition, workload, tensor), tensor.dtype) for tensor in definition.outputs.values()]
    return _KERNEL.format(
        sources=json.dumps({source.path: source.content for source in solution.sources}, indent=1),
        file=file,
        function=function,
        outputs=repr(outputs),
        given=solution.spec.destination_passing_style,
        loading=_IMPORTED if file.endswith(".py") else _COMPILED,
    )


def _all(folder: Path, kind: type[Model]) -> Iterator[Model]:
    """What is legible of every JSON file below a folder."""
    for file in sorted(folder.rglob("*.json")):
        try:
            yield kind.model_validate_json(read_within(folder, file, "data set"))
        except ValidationError:
            continue


def _workloads(path: Path) -> dict[str, list[Workload]]:
    found: dict[str, list[Workload]] = {}
    for line in [*_lines(path / "workloads"), *_lines(path / "traces")]:
        try:
            workload = Workload.model_validate(line.get("workload"))
        except ValidationError:
            continue
        found.setdefault(str(line.get("definition")), []).append(workload)
    return found


def _claims(folder: Path) -> dict[str, float]:
    """The median of the speedups that traces tell, by solution."""
    found: dict[str, list[float]] = {}
    for trace in _lines(folder):
        evaluation = trace.get("evaluation")
        performance = evaluation.get("performance") if isinstance(evaluation, dict) else None
        claim = parse_speedup(performance.get("speedup_factor")) if isinstance(performance, dict) else None
        if claim:
            found.setdefault(str(trace.get("solution")), []).append(claim)
    return {name: median(values) for name, values in found.items()}


def _lines(folder: Path) -> Iterator[dict[str, object]]:
    for file in sorted(folder.rglob("*.jsonl")) if folder.is_dir() else ():
        for line in read_within(folder, file, "data set").splitlines():
            try:
                table = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                continue
            if isinstance(table, dict):
                yield table
