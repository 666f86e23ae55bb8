"""A candidate as one self-contained Python file with a drop-in `ModelNew`, and the candidate back from such a file.

A `cpp` candidate is embedded: compiled by the system's compiler on first use and kept in a private cache. A `triton`
one of the built-in author is such a file already; what guards it is appended below a line that `unwrap` knows. Nothing
is run here.
"""

import ast
import re
from contextlib import suppress
from typing import Any

from kernelwright.errors import ProposeError
from kernelwright.export import launched
from kernelwright.export.other_sizes import AT, declared, in_cpp, in_triton, room, shapes_at
from kernelwright.export.ranges import ranges
from kernelwright.export.reference import GUARD_IMPORTS, Reference, drop_in, guarded, merged_imports, part, reference
from kernelwright.export.table import table
from kernelwright.languages import language
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.free_sizes import OtherSizes
from kernelwright.records.launch import Launching
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

IMPORTS = (
    "import ctypes", "import hashlib", "import os", "import re", "import shutil", "import subprocess",
    "import tempfile", "from pathlib import Path", *GUARD_IMPORTS,
)  # fmt: skip
CONSTANTS = (
    "NAME",
    "ENTRY",
    "FLAGS",
    "TAKES",
    "GIVES",
    "HELD",
    "RANGES",
    "AXES",
    "WORKSPACE_BYTES",
    "SOURCE",
    "OTHER_SIZES",
    "TABLE",
    "MADE_WITH",
    *launched.CONSTANTS,
)
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC")
ADDED = "# ---- The kernel as it was judged ends here. What follows guards it. ----"


def wrap(task: Task, candidate: Candidate, other: OtherSizes | None = None, launching: Launching | None = None) -> str:
    """The file's text.

    Args:
        task: what it was written for.
        candidate: with its tunables at the chosen values.
        other: what its author says of other sizes; None: nothing, so that a C++ source may say itself that its rows are open.
        launching: how kernels are launched, where their language leaves that to others.

    Raises:
        ProposeError: the language has no drop-in, the task's source has no usable `Model`, a call of it does more than
            take and give tensors, a name of it clashes with the file's own, or a tunable to be fixed is not in the source.
    """
    drop_in_as = language(candidate.language).drop_in
    if drop_in_as == "itself":
        return _guarded_triton(task, candidate, other)
    if not drop_in_as:
        raise ProposeError(f"a {candidate.language} kernel cannot be written as a ModelNew file yet: use it as it is")
    found = reference(task.source.source)
    _check_call(task)
    sections = [part("cache"), part("cpp" if launching is None else "cuda"), part("guard"), guarded(task, found)]
    _check_names(found, sections)
    other = other or declared(task, candidate)
    parts = [
        "\n".join([_title(task, candidate), "", *merged_imports(IMPORTS, found.imports)]),
        found.body,
        _constants(task, candidate, other) if launching is None else _launched(task, candidate, launching),
        *sections,
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def why_none(task: Task, written: LanguageName) -> str:
    """Why no kernel in this language can be a drop-in for the task, as far as the task alone tells; empty where one can."""
    drop_in_as = language(written).drop_in
    if drop_in_as == "itself":
        return ""
    if not drop_in_as:
        return f"a {written} kernel cannot be written as a ModelNew file yet"
    try:
        guarded(task, reference(task.source.source))
        _check_call(task)
    except ProposeError as error:
        return str(error)
    return ""


def unwrap(text: str) -> Candidate | None:
    """The kernel in a file that `wrap` made, as it was judged; None for any other text."""
    if ADDED in text:
        judged = text.split(ADDED)[0].rstrip("\n") + "\n"
        return Candidate(language="triton", source=judged)
    given = _assigned(text) if "class ModelNew(_Guarded, Model)" in text else {}
    if not {"SOURCE", "ENTRY", "FLAGS", "WORKSPACE_BYTES"} <= given.keys():
        return launched.judged(given)
    own = [flag for flag in given["FLAGS"] if flag not in FLAGS]
    defines = [flag[2:].split("=") for flag in own if flag.startswith("-D")]
    return Candidate(
        language="cpp",
        source=given["SOURCE"].lstrip("\n"),
        entry=given["ENTRY"],
        flags=tuple(flag for flag in own if not flag.startswith("-D")),
        defines=tuple(Define(name=name, value=int(value)) for name, value in defines),
        workspace_bytes=given["WORKSPACE_BYTES"],
    )


def _assigned(text: str) -> dict[str, Any]:
    """Literals that the module's top level gives names to; nothing of a text that does not parse."""
    found = {}
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def _guarded_triton(task: Task, candidate: Candidate, other: OtherSizes | None) -> str:
    """A Triton module with its tunables fixed, and guards after it where the author's frame is in it."""
    text = fixed(candidate)
    try:
        found = reference(task.source.source)
    except ProposeError:
        return text
    if not any(drop_in(task, found, over) in text for over in (False, True)) or task.workload.changes:
        return text  # the guard's operator is one that changes nothing
    more = in_triton(other) if other and other.source else "" if other else None
    axes = other.axes if other and more is not None else ()
    run = (
        f"_run{AT}(*tensors, {', '.join(f'{a.name}=sizes[{n}]' for n, a in enumerate(axes))})"
        if more
        else "_run(*tensors)"
    )
    kernel = part("triton").replace("{run}", run).replace("{general}", str(bool(more)))
    sections = [kernel, part("guard"), guarded(task, found)]
    _check_names(found, sections)
    constants = [
        f"NAME = {_name(task, candidate)!r}",
        *_tensors(task),
        *shapes_at(task, axes),
        *table(task, candidate, axes),
    ]
    head = "\n".join([ADDED, *merged_imports(GUARD_IMPORTS)])
    texts = (text, head, "\n".join(constants), more or "", *sections)
    return "\n\n\n".join(part.strip("\n") for part in texts if part) + "\n"


def _check_call(task: Task) -> None:
    """A kernel gets tensors and gives results; what else a call of `Model` does, it leaves undone."""
    if task.workload.changes:
        changed = ", ".join(task.workload.changes)
        raise ProposeError(
            f"a C++ kernel of a Model that changes its state or inputs ({changed}) cannot be a ModelNew yet"
        )


def _check_names(found: Reference, sections: list[str]) -> None:
    ours = {*CONSTANTS, *(name for section in sections for name in _defined(section))} - {"ModelNew"}
    clash = sorted(ours & found.names)
    if clash:
        raise ProposeError(f"the task's source has names that the kernel's file needs: {', '.join(clash)}")


def _defined(section: str) -> set[str]:
    return set(re.findall(r"(?m)^(?:def |class )?(_\w+)", section))


def fixed(candidate: Candidate) -> str:
    """A Triton source with its tunables at the chosen values.

    Raises:
        ProposeError: a tunable is not a module-level integer of the source.
    """
    text = candidate.source
    for define in candidate.defines:
        text, count = re.subn(rf"(?m)^{define.name} = -?\d+$", f"{define.name} = {define.value}", text)
        if count != 1:
            raise ProposeError(f"{define.name!r} is not a module-level integer of the candidate's source")
    return text


def chosen(candidate: Candidate) -> str:
    """The source of a kernel that is no drop-in, with its tunables at the chosen values: what `check` takes."""
    text = candidate.source
    for define in candidate.defines:
        if candidate.recipe is None:
            text = f"#define {define.name} {define.value}\n{text}"
        else:
            text = re.sub(rf"(?m)^({define.name}\s*=\s*)\[[^\]]*\]", rf"\g<1>[{define.value}]", text)
    return text


def _title(task: Task, candidate: Candidate) -> str:
    return (
        f'"""{task.name}: a {language(candidate.language).title} kernel behind a drop-in `ModelNew`.\n\n'
        "Compiled on first use. `Model` itself answers whatever the kernel is not for: autograd, other dtypes and\n"
        'devices, changed attributes, hooks. `ModelNew.stats()` counts both.\n"""'
    )


def _constants(task: Task, candidate: Candidate, other: OtherSizes | None) -> str:
    defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
    flags = [*FLAGS, *candidate.flags, *defines]
    if "'''" in candidate.source:
        raise ProposeError("the candidate's source has three single quotes in a row")
    axes = other.axes if other else ()
    return "\n".join(
        [
            f"NAME = {_name(task, candidate)!r}",
            f"ENTRY = {candidate.entry!r}",
            "FLAGS = (",
            *(f"    {flag!r}," for flag in flags),
            ")",
            *_tensors(task),
            f"SOURCE = r'''\n{candidate.source.rstrip()}\n'''",
            f"WORKSPACE_BYTES = {candidate.workspace_bytes}",
            "# The same kernel with sizes as arguments.",
            f"OTHER_SIZES = r'''\n{in_cpp(other, candidate.entry).rstrip()}\n'''"
            if other and other.source
            else "OTHER_SIZES = ''",
            *shapes_at(task, axes),
            "",
            "",
            *table(task, candidate, axes),
            "",
            "",
            f"def _workspace_at({', '.join(axis.name for axis in axes)}):",
            f"    return {room(other) if other and other.source else 0}",
        ]
    )


def _launched(task: Task, candidate: Candidate, launching: Launching) -> str:
    common = [f"NAME = {_name(task, candidate)!r}", f"ENTRY = {candidate.entry!r}", *_tensors(task)]
    constants = launched.constants(candidate, launching, len(task.workload.tensors), common)
    return "\n".join([constants, "OTHER_SIZES = ''", *shapes_at(task, ()), *table(task, candidate, ())])


def _tensors(task: Task) -> list[str]:
    """Lines that name the dtypes of whatever goes in and out, and what of that the module holds."""
    workload = task.workload
    both = {"TAKES": (*workload.tensors, *workload.parameters), "GIVES": workload.outputs}
    lines = [f"{name} = ({''.join(f'torch.{spec.dtype}, ' for spec in specs).strip()})" for name, specs in both.items()]
    told = [
        f"HELD = {tuple(spec.name for spec in workload.parameters)!r}",
        "# Positions: in which tensor, whether negative ones count from the end, how many, one value more.",
    ]
    return [*lines, *told, f"RANGES = {[tuple(one) for one in ranges(task)]!r}"]


def _name(task: Task, candidate: Candidate) -> str:
    """What PyTorch calls the operator: of this task and kernel, whatever the file is called."""
    words = re.sub(r"\W", "_", task.name) or "kernel"
    return f"{words}_{identity('operator', {'task': task.id, 'candidate': candidate.id})[:12]}"
