"""Reader of definitions in JSON with their workloads, as FlashInfer-Bench and SOL-ExecBench have them (docs/formats.md).

A definition becomes a task file like any other, as text (`tasks/definitions/text.py`).
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue, ValidationError

from kernelwright.errors import TaskError
from kernelwright.records.base import first_fault
from kernelwright.records.task import TaskSource
from kernelwright.tasks.definitions.schema import Definition, Workload
from kernelwright.tasks.definitions.text import task_text
from kernelwright.tasks.files import read_text, read_within, split_size
from kernelwright.tasks.kernelbench import parse_kernelbench


def read_definition(path: Path) -> TaskSource:
    """The task of a definition and of the workloads that lie beside it or in its data set.

    Raises:
        TaskError: it is no definition, has no workload, or a part of it cannot be represented.
    """
    file, name = split_size(path)
    where = f"task {str(path)!r}"
    try:
        definition = Definition.model_validate_json(_one_of(read_text(file, "task"), name, file))
    except ValidationError as error:
        part, fault = first_fault(error)
        raise TaskError(f"{where} is no definition of a kernel ({part}: {fault})", "no_task") from None
    found, root = workloads_beside(definition.name, file)
    try:
        text = task_text(definition, found or [*definition.workloads] or [Workload()], root)
    except ValueError as error:
        raise TaskError(f"{where}: {error}") from None
    return parse_kernelbench(text, definition.name, path)


def _one_of(text: str, name: str, file: Path) -> str:
    """The text of a definition: of a file that is a list of them the one that `FILE@NAME` names.

    Raises:
        TaskError: several are there, and none or no such one is named.
    """
    try:
        listed = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        listed = None  # the schema says what is wrong
    if not listed:
        return text
    named = [(str(one.get("name")) if isinstance(one, dict) else "", one) for one in listed]
    found = [one for its, one in named if its == name] if name else [one for _, one in named]
    if len(found) != 1:
        there = ", ".join(dict.fromkeys(its for its, _ in named))[:400]
        lacks = f"none of which is {name!r}" if name and not found else "of which one is a task"
        raise TaskError(
            f"{str(file)!r} is a list of {len(listed)} definitions, {lacks}: write {file.name}@NAME; there are {there}"
        )
    return json.dumps(found[0])


def workloads_beside(name: str, file: Path) -> tuple[list[Workload], Path]:
    """The workloads of a definition, and the folder that paths of stored inputs begin at.

    They lie in `workload.jsonl` or `NAME.jsonl` beside it, or in the data set that it belongs to.
    """
    for place in (file.parent / "workload.jsonl", file.parent / "workloads.jsonl", file.with_suffix(".jsonl")):
        if place.is_file():
            return workloads_in([place], file.parent, name, strictly=True), file.parent
    root = next((parent for parent in file.parents if (parent / "definitions").is_dir()), None)
    if root is None:
        return [], file.parent
    return workloads_in(sorted((root / "workloads").rglob("*.jsonl")), root, name), root


def workloads_in(files: list[Path], folder: Path, name: str, strictly: bool = False) -> list[Workload]:
    """The workloads of one definition; lines of others are passed over, and so is what is no workload.

    Raises:
        TaskError: a line is no object or no workload, where it is asked strictly.
    """
    found = []
    for place, line in json_lines(files, folder):
        told = line.get("workload", line) if isinstance(line, dict) else line
        other = isinstance(line, dict) and line.get("definition", name) != name
        if other or (isinstance(told, dict) and "axes" not in told) or (isinstance(line, dict) and told is None):
            continue
        try:
            workload = Workload.model_validate(told)
        except ValidationError as error:
            if strictly:
                why = ": ".join(filter(None, first_fault(error)))
                raise TaskError(f"{place}: {why}. A line is one workload in JSON") from None
            continue
        if workload not in found:
            found.append(workload)
    return found


def json_lines(files: list[Path], folder: Path) -> Iterator[tuple[str, JsonValue]]:
    """Every line of these files with its place; None of one that is no JSON."""
    for file in files:
        for number, line in enumerate(read_within(folder, file, "data set").split("\n"), 1):
            try:
                table = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                table = None
            yield f"{str(file)!r}, line {number}", table
