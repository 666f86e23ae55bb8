"""What a drop-in knows of sizes: where its kernel was judged, what is compiled for each, and which are left to PyTorch.

A task with one workload has one row, and one over axes a row for each workload. A module may be made with what the constructor
gets at any workload, where parameters tell that from the others; else only with what the main one gives it.
"""

import ast
import re
from collections.abc import Mapping, Sequence

from kernelwright.export.axes import leaves, macros, workspace
from kernelwright.records.candidate import ORIGINAL, Candidate
from kernelwright.records.expression import named_in
from kernelwright.records.free_sizes import FreeAxis
from kernelwright.records.task import Task
from kernelwright.records.workloads import Part


def table(task: Task, candidate: Candidate, axes: Sequence[FreeAxis]) -> list[str]:
    """Lines of the drop-in.

    Args:
        task: with its workloads, if there are several; their parts have every axis by its name.
        candidate: over the axes, where there are.
        axes: those that a call tells, in order.
    """
    parts = [part.source.part for part in task.parts if part.source.part] if axes else []
    rows = {_sizes(axes, part.sizes): _row(candidate, part.sizes) for part in parts}
    rows = rows or {tuple(axis.size for axis in axes): ((), candidate.workspace_bytes)}
    left = [f"({text})" for text in re.findall(rf"(?m)^(?://|#) {ORIGINAL}(.+)$", candidate.source)]
    names = ", ".join(axis.name for axis in axes)
    return [
        "TABLE = {  # sizes of the judgement: flags of the compiler, bytes of workspace; None: Model was faster",
        *(f"    {sizes!r}: {row!r}," for sizes, row in rows.items()),
        "}",
        f"MADE_WITH = {_made_with(task, axes, parts)!r}  # what get_init_inputs is called with",
        "",
        "",
        f"def _leaves({names}):",
        '    """Whether Model was faster than the kernel at such sizes."""',
        f"    return {(' or '.join(left) if axes else '') or False}",
    ]


def _sizes(axes: Sequence[FreeAxis], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[axis.name] for axis in axes)


def _row(candidate: Candidate, sizes: Mapping[str, int]) -> tuple[tuple[str, ...], int] | None:
    if leaves(candidate, sizes):
        return None
    flags = tuple(f"-D{define.name}={define.value}" for define in macros(candidate, sizes))
    return flags, workspace(candidate, sizes)


def _made_with(task: Task, axes: Sequence[FreeAxis], parts: Sequence[Part]) -> list[dict[str, int]]:
    """Keywords of `get_init_inputs` at each workload; of one set, which may be empty, where there is but one way."""
    taken = _arguments(task.source.source)
    given = [{name: size for name, size in part.sizes.items() if name in taken} for part in parts]
    main = next((keywords for part, keywords in zip(parts, given, strict=True) if part.main), {})
    places = task.free.places.items() if task.free else ()
    told = {word for path, text in places if path.startswith("parameters.") for word in re.findall(r"\w+", text)}
    declared = {a.name: a.expression for a in task.source.workloads.axes} if task.source.workloads else {}
    behind = {name for one in main for name in (named_in(declared[one]) if declared.get(one) else {one})}
    varying = behind & {axis.name for axis in axes}
    return given if given and varying <= told and main else [main]


def _arguments(source: str) -> set[str]:
    """What `get_init_inputs` takes."""
    found = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs"]
    return {a.arg for a in (*found[-1].args.args, *found[-1].args.kwonlyargs)} if found else set()
