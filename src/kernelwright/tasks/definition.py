"""Reader of definitions in JSON with their workloads, as FlashInfer-Bench and SOL-ExecBench have them (docs/formats.md).

A definition becomes a task file like any other, as text: its `reference`, a `Model` that calls `run`, the axes and workloads
as literals, and a `get_inputs` that draws what each workload says. What integers must be is nowhere said in these formats:
names and constraints tell offsets, lengths and choices apart. What cannot be represented is refused, and its part is named.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from kernelwright.errors import TaskError
from kernelwright.records.base import first_fault
from kernelwright.records.expression import named_in
from kernelwright.records.task import TaskSource
from kernelwright.tasks.files import is_within, read_text, read_within, split_size
from kernelwright.tasks.kernelbench import parse_kernelbench

DTYPES = {
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
}  # fmt: skip
SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
MOST_FILE_BYTES = 2 << 20
"""Of a workload's inputs that lie in files: they are written into the task's text."""
_LAST = r"(\w+)\s*\[\s*-1\s*\](?:\.item\(\))?"
_ENDS = re.compile(rf"\s*(?:(\w+)\s*==\s*{_LAST}|{_LAST}\s*==\s*(\w+))\s*")


class _Json(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Axis(_Json):
    """A size: a constant (`const`), one that each workload gives (`var`), or one that follows from others (`expr`)."""

    type: str
    value: int | None = None
    expression: str = ""


class TensorText(_Json):
    """An input or output; a shape of None is a number's."""

    shape: tuple[str, ...] | None
    dtype: str


class Definition(_Json):
    """What is to be computed; `reference` defines `run`."""

    name: Annotated[str, Field(min_length=1)]
    axes: dict[str, Axis]
    inputs: dict[str, TensorText]
    outputs: dict[str, TensorText]
    reference: str
    custom_inputs_entrypoint: str | None = None
    constraints: tuple[str, ...] | None = None


class WorkloadInput(_Json):
    """How one input comes to be."""

    type: str
    value: JsonValue = None
    path: str = ""
    tensor_key: str = ""


class Workload(_Json):
    """The sizes that vary, and where inputs come from."""

    uuid: str = ""
    axes: dict[str, int] = {}
    inputs: dict[str, WorkloadInput] = {}


def read_definition(path: Path) -> TaskSource:
    """The task of a definition and of the workloads that lie beside it or in its data set.

    Raises:
        TaskError: it is no definition, has no workload, or a part of it cannot be represented.
    """
    file = split_size(path).file
    where = f"task {str(path)!r}"
    try:
        definition = Definition.model_validate_json(read_text(file, "task"))
    except ValidationError as error:
        part, fault = first_fault(error)
        raise TaskError(f"{where} is no definition of a kernel ({part}: {fault})", "no_task") from None
    found, root = workloads_beside(definition.name, file)
    try:
        text = task_text(definition, found or [Workload()], root)
    except ValueError as error:
        raise TaskError(f"{where}: {error}") from None
    return parse_kernelbench(text, definition.name, path)


def workloads_beside(name: str, file: Path) -> tuple[list[Workload], Path]:
    """The workloads of a definition, and the folder that paths of stored inputs begin at.

    They lie in `workload.jsonl` or `NAME.jsonl` beside it, or in the data set that it belongs to.
    """
    for place in (file.parent / "workload.jsonl", file.parent / "workloads.jsonl", file.with_suffix(".jsonl")):
        if place.is_file():
            return workloads_in([place], file.parent, name), file.parent
    root = next((parent for parent in file.parents if (parent / "definitions").is_dir()), None)
    if root is None:
        return [], file.parent
    return workloads_in(sorted((root / "workloads").rglob("*.jsonl")), root, name), root


def workloads_in(files: list[Path], folder: Path, name: str) -> list[Workload]:
    """The workloads of one definition; lines of others are passed over, and so is what is no workload."""
    found = []
    for line in json_lines(files, folder):
        told = line.get("workload", line)
        if line.get("definition", name) == name and isinstance(told, dict) and "axes" in told:
            try:
                workload = Workload.model_validate(told)
            except ValidationError:
                continue
            if workload not in found:
                found.append(workload)
    return found


def json_lines(files: list[Path], folder: Path) -> Iterator[dict[str, JsonValue]]:
    """Every legible object of these files of lines."""
    for file in files:
        for line in read_within(folder, file, "data set").splitlines():
            try:
                table = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                continue
            if isinstance(table, dict):
                yield table


_TASK = '''"""{name}"""

import base64

import torch

AXES = {axes}
CONSTRAINTS = {constraints}
WORKLOADS = {workloads}

{reference}


class Model(torch.nn.Module):
    """Calls the reference; a dict of results becomes a tuple in the order of the definition."""

    def forward(self, {arguments}):
        found = run({arguments})
        found = tuple(found[name] for name in {outputs}) if isinstance(found, dict) else found
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        found = tuple(each if isinstance(each, torch.Tensor) else torch.as_tensor(each) for each in found)
        return found[0] if len(found) == 1 else found


def _offsets(count, end):
    """So many offsets from 0 to the end, in order."""
    inside = torch.randint(0, end + 1, (max(0, count - 2),)).sort().values
    return torch.cat([torch.zeros(1), inside, torch.full((1,), end)])[:count]


def _stored(dtype, shape, data):
    """A tensor that lay in a file."""
    return torch.frombuffer(bytearray(base64.b64decode(data)), dtype=dtype).reshape(shape).clone()


def get_inputs({parameters}):
    given = given or {{}}
{custom}    return [
{drawn}
    ]
'''
_CUSTOM = """    sizes = dict({axes}, **{{n: v for n, v in given.items() if not isinstance(v, list) or v[:1] != ["stored"]}})
    made = {entry}(sizes, torch.device("cpu"))
"""


def task_text(definition: Definition, workloads: list[Workload], root: Path) -> str:
    """A task file with every workload.

    Raises:
        ValueError: a part cannot be represented; it says which.
    """
    _must_be_drawable(definition, workloads)
    tied = [text for text in definition.constraints or () if named_in(text) <= definition.axes.keys()]
    custom = any(each.type == "custom" for workload in workloads for each in workload.inputs.values())
    names = list(definition.axes)
    entry = _CUSTOM.format(axes=", ".join(f"{n}={n}" for n in names), entry=definition.custom_inputs_entrypoint)
    return _TASK.format(
        name=definition.name.replace('"', "'"),
        axes=repr({name: _axis(axis) for name, axis in definition.axes.items()}),
        constraints=repr([text for text in tied if "[" not in text and "." not in text]),
        workloads=repr([_point(definition, each, number, root) for number, each in enumerate(workloads, 1)]),
        reference=definition.reference.strip(),
        arguments=", ".join(definition.inputs),
        outputs=json.dumps(list(definition.outputs)),
        parameters=", ".join([*names, "given=None"]),
        custom=entry if custom else "",
        drawn="\n".join(f"        {_drawn(definition, name, custom)}," for name in definition.inputs),
    )


def _must_be_drawable(definition: Definition, workloads: list[Workload]) -> None:
    for name, axis in definition.axes.items():
        _must_be_a_name("axis", name)
        if axis.type not in ("const", "var", "expr"):
            raise ValueError(f"its axis {name} is of the type {axis.type}: there are const, var and expr")
        if axis.type == "var" and any(name not in workload.axes for workload in workloads):
            raise ValueError(f"no workload gives the size {name}: put workload.jsonl beside the definition")
    for kind, tensors in (("input", definition.inputs), ("output", definition.outputs)):
        for name, tensor in tensors.items():
            _must_be_a_name(kind, name)
            _must_be_a_tensor(definition, f"{kind} {name}", tensor)
    for workload in workloads:
        for name, given in workload.inputs.items():
            _must_have_a_source(definition, name, given)


def _must_be_a_name(kind: str, name: str) -> None:
    if not name.isidentifier() or not name.isascii() or iskeyword(name):
        raise ValueError(f"its {kind} {name[:80]!r} is no name that Python has: call it otherwise")


def _must_be_a_tensor(definition: Definition, what: str, tensor: TensorText) -> None:
    if tensor.dtype not in DTYPES and tensor.shape is not None:
        raise ValueError(f"its {what} is {tensor.dtype}, of which PyTorch has no arithmetic here")
    if unknown := [axis for axis in tensor.shape or () if not axis.isdigit() and axis not in definition.axes]:
        raise ValueError(f"its {what} has the axis {unknown[0]}, which is none of its axes")


def _must_have_a_source(definition: Definition, name: str, given: WorkloadInput) -> None:
    if given.type not in ("random", "scalar", "safetensors", "custom"):
        raise ValueError(f"its input {name} is {given.type}: there are random, scalar, safetensors and custom")
    if given.type == "custom" and not definition.custom_inputs_entrypoint:
        raise ValueError(f"its input {name} is custom, and it names no custom_inputs_entrypoint")


def _axis(axis: Axis) -> int | str | None:
    """A constant, an expression, or None for what varies; what is the same everywhere still does."""
    return axis.value if axis.type == "const" else axis.expression if axis.type == "expr" else None


def _point(definition: Definition, workload: Workload, number: int, root: Path) -> dict[str, JsonValue]:
    given: dict[str, JsonValue] = {}
    for name, one in workload.inputs.items():
        if one.type == "scalar":
            given[name] = one.value
        elif one.type == "safetensors":
            given[name] = _from_file(root, one, name)
    axes = {
        name: size for name, size in workload.axes.items() if definition.axes.get(name, Axis(type="")).type == "var"
    }
    stored = any(one.type == "safetensors" for one in workload.inputs.values())
    fixed: dict[str, JsonValue] = {"fixed": True} if stored else {}
    return {"name": workload.uuid or f"workload {number}", **axes, **fixed, "given": given}


def _from_file(root: Path, one: WorkloadInput, name: str) -> JsonValue:
    """A tensor as text: the format is a length, a table in JSON, and bytes.

    Raises:
        ValueError: it is not there, too large, or no such file.
    """
    file = root / one.path
    if not is_within(root, file) or not file.is_file():
        raise ValueError(f"its input {name} lies in {one.path!r}, which is not in its data set")
    with file.open("rb") as stream:
        try:
            length = int.from_bytes(stream.read(8), "little")
            told = json.loads(stream.read(min(length, MOST_FILE_BYTES)))[one.tensor_key]
            begin, end = told["data_offsets"]
            dtype, shape = SAFETENSORS[told["dtype"]], [int(size) for size in told["shape"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"its input {name}: {one.path!r} has no tensor {one.tensor_key!r} ({error})") from None
        if end - begin > MOST_FILE_BYTES:
            raise ValueError(
                f"its input {name} lies in {one.path!r} and has {end - begin:,} bytes, at most {MOST_FILE_BYTES:,} are "
                "written into a task's text: leave the workload out, or have it drawn"
            )
        stream.seek(8 + length + begin)
        data = stream.read(end - begin)
    if len(data) != prod(shape) * max(1, (end - begin) // max(1, prod(shape))):
        raise ValueError(f"its input {name}: {one.path!r} ends early")
    return ["stored", dtype, list[JsonValue](shape), base64.b64encode(data).decode()]


def _drawn(definition: Definition, name: str, custom: bool) -> str:
    """The expression that makes an input: what the workload gives, or else what its name, shape and dtype say."""
    tensor = definition.inputs[name]
    drawn = _number(tensor) if tensor.shape is None else _random(definition, name, tensor)
    told = f"given.get({name!r})"
    stored = f"_stored(getattr(torch, {told}[1]), {told}[2], {told}[3])"
    kept = f"{stored} if {name!r} in given" if tensor.shape is not None else f"{told} if {name!r} in given"
    other = f"made[{name!r}]" if custom else drawn
    return f"{kept} else {other}"


def _number(tensor: TensorText) -> str:
    return "True" if tensor.dtype == "bool" else "1" if tensor.dtype.startswith(("int", "uint")) else "1.0"


def _random(definition: Definition, name: str, tensor: TensorText) -> str:
    shape, dtype = f"({''.join(f'{axis}, ' for axis in tensor.shape or ())})", f"torch.{tensor.dtype}"
    if tensor.dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    if not tensor.dtype.startswith(("int", "uint")):
        return f"torch.randn({shape}).to({dtype})"
    return _whole_numbers(definition, name.lower(), tensor, shape, dtype)


WHOLE_NUMBERS = 16
"""Integers of which nothing tells what they mean are drawn below this."""
_BELOW = (
    (("expert", "topk", "router"), ("expert",)), (("page", "block_table", "slot", "kv_indices"), ("page", "block")),
    (("target", "label", "token", "input_id"), ("vocab", "class", "label")),
)  # fmt: skip
"""Words in an input's name, and those in the name of the axis that bounds its values."""


def _whole_numbers(definition: Definition, name: str, tensor: TensorText, shape: str, dtype: str) -> str:
    axes, ends = list(definition.axes), _ends(definition)
    if len(tensor.shape or ()) == 1 and any(word in name for word in ("indptr", "offset", "cu_seq", "cumulative")):
        total = ends.get(name) or next((a for a in axes if a.lower().startswith(("total", "nnz", "num_kv_ind"))), None)
        total = total or next((a for a in axes if a not in (tensor.shape or ())), None)
        if total:
            return f"_offsets({(tensor.shape or ('',))[0]}, {total}).to({dtype})"
    if "len" in name:
        longest = next((a for a in axes if any(w in a.lower() for w in ("max_seq", "seq", "len", "kv", "ctx"))), None)
        if longest and longest not in (tensor.shape or ()):
            return f"torch.randint(min(1, {longest}), {longest} + 1, {shape}, dtype={dtype})"
    for words, kinds in _BELOW:
        bound = next((a for a in axes if any(kind in a.lower() for kind in kinds)), None)
        if bound and any(word in name for word in words):
            return f"torch.randint(max(1, {bound}), {shape}, dtype={dtype})"
    return f"torch.randint({WHOLE_NUMBERS}, {shape}, dtype={dtype})"


def _ends(definition: Definition) -> Mapping[str, str]:
    """Inputs of offsets whose last value is an axis, as constraints say: `total == offsets[-1].item()`."""
    found = {}
    for text in definition.constraints or ():
        if match := _ENDS.fullmatch(text):
            axis, name = (match[1], match[2]) if match[1] else (match[4], match[3])
            found[name.lower()] = axis
    return {name: axis for name, axis in found.items() if axis in definition.axes}
