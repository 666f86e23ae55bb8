"""Reader of serial functions: one function in C or C++, and TOML that says its shapes, values and sizes.

The TOML stands in the file's comment `/* kernelwright … */`, or in a file of the same name with the ending `.toml`. Types,
and which arguments are written, are the signature's: what is not `const` is a result. The reference that comes out of it
calls the function as it is, built by the system's compiler (`evaluate/entrypoints/reference/serial.py`). Nothing is run here.
"""

import base64
import re
import tomllib
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import cast

from pydantic import JsonValue, ValidationError

from kernelwright.errors import TaskError
from kernelwright.nests.signature import Parameter, Signature, UnreadableError, read_signature
from kernelwright.pages import page
from kernelwright.records.expression import worth
from kernelwright.records.graph import FAMILIES
from kernelwright.records.task import (
    DeclaredDomain,
    SerialArgument,
    SerialCase,
    SerialSpec,
    TaskSource,
)
from kernelwright.records.tensor import Domain
from kernelwright.tasks.files import is_within, read_text, split_size
from kernelwright.tasks.serial_skeleton import touched
from kernelwright.tasks.text_task import read_limits

SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
KEYS = ("function", "description", "family", "difficulty", "sizes", "workloads", "arguments", "cases", "limits")
OTHER_FAMILIES = ("pointwise", "stencil", "geometry", "graph", "sparse", "transform", "layout")
MOST_CASE_BYTES = 1 << 20
_HEAD = re.compile(r"/\*\s*kernelwright\b(.*?)\*/", re.DOTALL)
Table = Mapping[str, object]

TEXT = (Path(__file__).parent / "parts/serial.py.txt").read_text(encoding="utf-8")


def read_serial(path: Path) -> TaskSource:
    """The task in a C or C++ file, or with `FILE@WORKLOAD` the one at those sizes; not yet run.

    Raises:
        TaskError: there is no TOML, no such function, or one of them says what cannot be.
    """
    file, size = sized = split_size(path)
    where = f"task {str(path)!r}"
    text = read_text(file, "task")
    table, code = _parts(file, text, where)
    for key in table.keys() - set(KEYS):
        raise TaskError(f"{where} has the unknown key {key!r}: there may be {', '.join(KEYS)}")
    try:
        signature = read_signature(code, "c" if file.suffix == ".c" else "cpp", str(table.get("function", "")))
    except UnreadableError as error:
        raise TaskError(f"{where}: {error}") from None
    written, _ = touched(code, "c" if file.suffix == ".c" else "cpp", signature)
    code = f"{code.rstrip()}\n\n{signature.wrapper}" if signature.wrapper else code
    spec = _spec(table, signature, written, file, size, where)
    return TaskSource(
        name=sized.name,
        format="serial",
        source=_reference(spec, code),
        domains=_domains(spec),
        description=str(table.get("description", "")),
        limits=read_limits(table.get("limits", {}), where),
        serial=code,
        sizes=spec.sizes,
        spec=spec,
    )


def _parts(file: Path, text: str, where: str) -> tuple[Table, str]:
    """The TOML, and the code without it."""
    head, beside = _HEAD.search(text), file.with_suffix(".toml")
    if head is None and not beside.is_file():
        raise TaskError(
            f"{where} has no comment /* kernelwright … */ with TOML, and there is no {beside.name}: say its [sizes] and "
            f"[arguments] in one of them ({page('serial.md')})",
            "no_task",
        )
    toml = head[1] if head else read_text(beside, "task")
    try:
        table = tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TaskError(f"{where}: its TOML cannot be read: {error}") from None
    return table, (_HEAD.sub("", text, count=1) if head else text).strip() + "\n"


def _spec(table: Table, signature: Signature, written: set[str], file: Path, size: str, where: str) -> SerialSpec:
    sizes = _sizes(table, size, where)
    said = _table(table.get("arguments", {}), f"{where}: [arguments]")
    unknown = said.keys() - {one.name for one in signature.parameters}
    if unknown:
        raise TaskError(
            f"{where}: [arguments] has {min(unknown)!r}, which the function {signature.function} does not take"
        )
    try:
        arguments = tuple(_argument(one, written, said, sizes, where) for one in signature.parameters)
        return SerialSpec(
            function=signature.function,
            dialect="c" if file.suffix == ".c" else "cpp",
            family=_family(table, where),
            arguments=arguments,
            sizes=sizes,
            cases=tuple(_case(entry, file.parent, where) for entry in cast("list[object]", table.get("cases", []))),
        )
    except (ValidationError, ValueError) as error:
        raise TaskError(f"{where}: {error}") from None


def _sizes(table: Table, size: str, where: str) -> dict[str, int]:
    sizes = _table(table.get("sizes", {}), f"{where}: [sizes]")
    workloads = _table(table.get("workloads", {}), f"{where}: [workloads]")
    if size and size not in workloads:
        raise TaskError(f"{where} has no workload {size!r}: there are {', '.join(workloads) or 'none'}")
    found = {**sizes, **_table(workloads.get(size, {}), f"{where}: the workload {size}")}
    for name, value in found.items():
        if type(value) is not int or not 0 < value < 1 << 40:
            raise TaskError(f"{where}: the size {name} must be a positive whole number, not {value!r}")
    return cast("dict[str, int]", found)


def _argument(one: Parameter, written: set[str], said: Table, sizes: Mapping[str, int], where: str) -> SerialArgument:
    given = dict(_table(said.get(one.name, {}), f"{where}: the argument {one.name}"))
    if one.length_of:
        shape = _table(said.get(one.length_of, {}), f"{where}: the argument {one.length_of}").get("shape", [])
        given = {"value": " * ".join(f"({e})" for e in cast("list[object]", shape)) or 0}
    argument = SerialArgument.model_validate(
        {
            "name": one.name,
            "dtype": one.dtype,
            "pointer": one.pointer,
            "out": one.pointer and not one.constant and one.name in written,
            **({"value": one.name} if not one.pointer and one.name in sizes else {}),
            **({"shape": [1]} if one.name == "result" and one.pointer else {}),
            **given,
        }
    )
    if one.pointer and not argument.shape:
        raise TaskError(
            f'{where}: the argument {one.name} has no shape: write {one.name} = {{shape = ["n"]}} under [arguments]'
        )
    if not one.pointer and one.name not in sizes and "value" not in given:
        raise TaskError(
            f"{where}: the argument {one.name} is passed by value and has none: write {one.name} = {{value = 1}} under "
            "[arguments], or a size of that name under [sizes]"
        )
    for extent in argument.shape:
        worth(extent, sizes)
    return argument


def _family(table: Table, where: str) -> str:
    family = str(table.get("family", "pointwise"))
    known = (*FAMILIES, *OTHER_FAMILIES)
    if family not in known:
        raise TaskError(f"{where}: the family {family!r} must be one of {', '.join(known)}")
    return family


def _case(entry: object, folder: Path, where: str) -> SerialCase:
    given = _table(entry, f"{where}: a case")
    files = {side: _table(given.get(side, {}), f"{where}: {side} of a case") for side in ("inputs", "outputs")}
    stored = {side: {n: _stored(folder, str(f), where) for n, f in named.items()} for side, named in files.items()}
    return SerialCase.model_validate({**given, **stored})


def _stored(folder: Path, name: str, where: str) -> str:
    file = folder / name
    if not is_within(folder, file) or not file.is_file():
        raise TaskError(f"{where}: the stored file {name!r} is not in the task's folder: put it beside the task")
    if file.stat().st_size > MOST_CASE_BYTES:
        raise TaskError(
            f"{where}: the stored file {name!r} has more than {MOST_CASE_BYTES} bytes: store a smaller case"
        )
    return base64.b64encode(file.read_bytes()).decode()


def _domains(spec: SerialSpec) -> tuple[DeclaredDomain, ...]:
    return tuple(
        DeclaredDomain(position=i, domain=Domain.INDEX, bound=worth(a.bound, spec.sizes))
        for i, a in enumerate(spec.inputs)
        if a.values == "index"
    )


def _table(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TaskError(f"{what} must be a table, not {value!r:.60}")
    return value


def _reference(spec: SerialSpec, code: str) -> str:
    quoted = f'r"""\n{code}"""' if '"""' not in code and not code.endswith("\\\n") else repr(code)
    arguments = ", ".join(f"{a.name}_" if iskeyword(a.name) else a.name for a in spec.inputs)
    data: JsonValue = spec.model_dump(mode="json", exclude_defaults=True)
    return TEXT.format(function=spec.function, code=quoted, spec=repr(data), arguments=arguments)
