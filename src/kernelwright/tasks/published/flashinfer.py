"""FlashInfer-Bench's data sets: definitions, workloads, solutions and traces as JSON (docs.flashinfer.ai, its schema pages).

A definition becomes a task with its workloads (`tasks/definition.py`), a solution a kernel: a module that writes the
solution's files to a folder of its own and calls the entry point, with outputs where the solution wants them given. What a
trace says of the speedup is the claim. Left out, each with the reason: what cannot be represented, and bindings other than
torch's.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernelwright.records.expression import named_in
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.definition import json_lines, workloads_in
from kernelwright.tasks.definitions.schema import Definition, Workload, expressions
from kernelwright.tasks.definitions.text import task_text
from kernelwright.tasks.files import read_within
from kernelwright.tasks.published.forms import parse_speedup

Model = TypeVar("Model", bound=BaseModel)


class _Json(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


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
    claims = _claims(path / "traces")
    files = [*sorted((path / "workloads").rglob("*.jsonl")), *sorted((path / "traces").rglob("*.jsonl"))]
    found = []
    for solution in _all(path / "solutions", Solution):
        definition = definitions.get(solution.definition)
        offered = workloads_in(files, path, solution.definition) or [Workload()]
        found.append(_published(solution, definition, (offered, path), claims.get(solution.name)))
    return found


def _published(
    solution: Solution, definition: Definition | None, offered: tuple[list[Workload], Path], claimed: float | None
) -> PublishedKernel:
    missing, reference, kernel = "", "", ""
    if definition is None:
        missing = f"there is no definition {solution.definition!r}"
    else:
        missing = _unbuildable(solution)
        if not missing:
            try:
                reference, kernel = task_text(definition, *offered), kernel_text(definition, solution)
            except ValueError as error:
                missing = str(error)
    return PublishedKernel(
        name=solution.name,
        origin=f"solution {solution.name} of {solution.definition}",
        reference=reference,
        kernel=kernel,
        claimed=claimed,
        missing=missing,
    )


def _unbuildable(solution: Solution) -> str:
    file = solution.spec.entry_point.partition("::")[0]
    if file not in {source.path for source in solution.sources}:
        return f"its entry point {solution.spec.entry_point} names a file that it has not"
    if file.endswith(".py") or solution.spec.binding == "torch":
        return ""
    binding = solution.spec.binding or "something else"
    return f"it is bound to Python by {binding}, and only torch's binding is known"


_KERNEL = (Path(__file__).parent / "parts/solution.py.txt").read_text(encoding="utf-8")
_IMPORTED = """    sys.path.insert(0, str(folder))
    return getattr(importlib.import_module(FILE.removesuffix(".py").replace("/", ".")), FUNCTION)"""
_COMPILED = """    from torch.utils.cpp_extension import load

    files = [str(folder / name) for name in SOURCES if name.endswith((".cu", ".cpp", ".cc"))]
    return getattr(load("solution", files), FUNCTION)"""


def kernel_text(definition: Definition, solution: Solution) -> str:
    """A module with `ModelNew` that calls the solution, at whatever sizes its inputs have.

    Raises:
        ValueError: it wants its outputs given, and no input says how large one is.
    """
    file, _, function = solution.spec.entry_point.partition("::")
    return _KERNEL.format(
        sources=json.dumps({source.path: source.content for source in solution.sources}, indent=1),
        file=file,
        function=function,
        inputs=repr([tensor.shape for tensor in definition.inputs.values()]),
        outputs=repr({name: (tensor.shape, tensor.dtype) for name, tensor in definition.outputs.items()}),
        axes=repr({name: axis.value for name, axis in definition.axes.items() if axis.type == "const"}),
        expressions=repr(expressions(definition.axes)),
        following=repr(_following(definition) if solution.spec.destination_passing_style else {}),
        given=solution.spec.destination_passing_style,
        loading=_IMPORTED if file.endswith(".py") else _COMPILED,
    )


def _following(definition: Definition) -> dict[str, list[str]]:
    """Axes of outputs alone, with the equations that they are in.

    Raises:
        ValueError: there is none.
    """
    follow, axes = expressions(definition.axes), definition.axes
    known = {axis for tensor in definition.inputs.values() for axis in tensor.shape or ()}
    wanted = {axis for tensor in definition.outputs.values() for axis in tensor.shape or ()}
    for name in reversed(follow):
        wanted |= named_in(follow[name]) if name in wanted else set()
    equations = [f"{name} == {text}" for name, text in follow.items() if name in known]
    equations += [text for text in definition.constraints or () if "==" in text]
    known |= {name for name, axis in axes.items() if axis.type == "const"}
    found = {
        name: [e for e in equations if name in (n := named_in(e)) and n <= known | {name}] for name in wanted - known
    }
    found = {name: ties for name, ties in found.items() if name in axes and axes[name].type == "var"}
    if unknown := sorted(name for name, ties in found.items() if not ties):
        raise ValueError(f"it wants its outputs given, and no input has the axis {unknown[0]}: have it return them")
    return found


def _all(folder: Path, kind: type[Model]) -> Iterator[Model]:
    """What is legible of every JSON file below a folder."""
    for file in sorted(folder.rglob("*.json")):
        try:
            yield kind.model_validate_json(read_within(folder, file, "data set"))
        except ValidationError:
            continue


def _claims(folder: Path) -> dict[str, float]:
    """The median of the speedups that traces tell, by solution."""
    found: dict[str, list[float]] = {}
    for _, trace in json_lines(sorted(folder.rglob("*.jsonl")) if folder.is_dir() else [], folder):
        evaluation = trace.get("evaluation") if isinstance(trace, dict) else None
        performance = evaluation.get("performance") if isinstance(evaluation, dict) else None
        claim = parse_speedup(performance.get("speedup_factor")) if isinstance(performance, dict) else None
        if claim and isinstance(trace, dict):
            found.setdefault(str(trace.get("solution")), []).append(claim)
    return {name: median(values) for name, values in found.items()}
