"""A definition with its workloads as the text of a task file.

It is the reference, a `Model` that calls `run`, axes and workloads as literals, and a `get_inputs` that makes what each
workload says. What cannot be represented is refused, and its part is named.
"""

from keyword import iskeyword
from pathlib import Path

from pydantic import JsonValue

from kernelwright.records.expression import holds
from kernelwright.tasks.definitions.inputs import HELPERS, drawn
from kernelwright.tasks.definitions.reference import as_part
from kernelwright.tasks.definitions.schema import DTYPES, Axis, Definition, TensorText, Workload, expressions, sizes
from kernelwright.tasks.definitions.stored import read_stored
from kernelwright.tasks.workloads import OPTIONS

_TAKEN = {"axis": {"torch", "given", *OPTIONS}, "input": {"self"}, "output": set[str]()}
"""Names that a task's text has for something else where axes or inputs stand."""

_TASK = (Path(__file__).parent / "parts/task.py.txt").read_text(encoding="utf-8")
_CUSTOM = """    numbers = {{name: value for name, value in given.items() if not isinstance(value, dict)}}
    made = {entry}({{{axes}, **numbers}}, torch.device("cpu")) if {{"custom": True}} in given.values() else {{}}
"""


def task_text(definition: Definition, workloads: list[Workload], root: Path) -> str:
    """A task file with every workload.

    Raises:
        ValueError: a part cannot be represented; it says which.
    """
    _must_be_drawable(definition, workloads)
    reference = as_part(definition.reference, list(definition.inputs))
    custom = any(each.type == "custom" for workload in workloads for each in workload.inputs.values())
    points = [_point(definition, each, number, root) for number, each in enumerate(workloads, 1)]
    return _TASK.format(
        name=definition.name.replace("\\", "/").replace('"', "'"),
        future=reference.future,
        axes=repr({name: _axis(axis) for name, axis in definition.axes.items()}),
        constraints=repr(_comparisons(definition, workloads)),
        workloads=repr(points),
        reference=reference.text,
        inputs=", ".join(definition.inputs),
        arguments=reference.arguments,
        outputs=_outputs(definition),
        helpers=HELPERS,
        parameters=", ".join([*definition.axes, "given=None"]),
        custom=_custom(definition) if custom else "",
        drawn="\n".join(f"        {_input(definition, name, custom)}," for name in definition.inputs),
    )


def _must_be_drawable(definition: Definition, workloads: list[Workload]) -> None:
    for name, axis in definition.axes.items():
        _must_be_a_name("axis", name)
        _must_be_an_axis(name, axis, workloads)
    expressions(definition.axes)
    for kind, tensors in (("input", definition.inputs), ("output", definition.outputs)):
        if not tensors:
            raise ValueError(f"it has no {kind}s: nothing can be judged")
        for name, tensor in tensors.items():
            _must_be_a_name(kind, name)
            _must_be_a_tensor(definition, f"{kind} {name}", tensor)
    for workload in workloads:
        for name, given in workload.inputs.items():
            _must_have_a_source(definition, name, given.type)


def _must_be_a_name(kind: str, name: str) -> None:
    if not name.isidentifier() or not name.isascii() or iskeyword(name):
        raise ValueError(f"its {kind} {name[:80]!r} is no name that Python has: call it otherwise")
    if name in _TAKEN[kind]:
        raise ValueError(f"its {kind} {name!r} has a name that a task's text has already: call it otherwise")


def _must_be_an_axis(name: str, axis: Axis, workloads: list[Workload]) -> None:
    if axis.type not in ("const", "var", "expr"):
        raise ValueError(f"its axis {name} is of the type {axis.type}: there are const, var and expr")
    if axis.type == "const" and axis.value is None:
        raise ValueError(f"its axis {name} is constant and has no value: add it")
    if axis.type == "var" and any(name not in workload.axes for workload in workloads):
        raise ValueError(f"no workload gives the size {name}: put workload.jsonl beside the definition")
    for number, workload in enumerate(workloads, 1):
        if axis.type == "const" and workload.axes.get(name, axis.value) != axis.value:
            raise ValueError(
                f"its axis {name} is {axis.value}, and {workload.uuid or f'workload {number}'} gives "
                f"{workload.axes[name]}: make it var, or leave it out there"
            )


def _must_be_a_tensor(definition: Definition, what: str, tensor: TensorText) -> None:
    if tensor.shape is None:
        return
    if tensor.dtype not in DTYPES:
        why = "of which PyTorch has no arithmetic here: pack it into uint8, and unpack it in the reference"
        known = f"and not one of {', '.join(sorted(DTYPES))}"
        raise ValueError(f"its {what} is {tensor.dtype}, {why if 'float' in tensor.dtype else known}")
    if unknown := [axis for axis in tensor.shape if not axis.isdigit() and axis not in definition.axes]:
        cure = "add it" if unknown[0].isidentifier() else "add an axis of the type expr, and name it"
        raise ValueError(f"its {what} has the axis {unknown[0]}, which is none of its axes: {cure}")


def _must_have_a_source(definition: Definition, name: str, kind: str) -> None:
    if kind not in ("random", "scalar", "safetensors", "npy", "custom"):
        raise ValueError(f"its input {name} is {kind}: there are random, scalar, safetensors, npy and custom")
    if kind == "custom" and not definition.custom_inputs_entrypoint:
        raise ValueError(f"its input {name} is custom, and it names no custom_inputs_entrypoint")


def _axis(axis: Axis) -> int | str | None:
    """A constant, an expression, or None for what varies; what is the same everywhere still does."""
    return axis.value if axis.type == "const" else axis.expression if axis.type == "expr" else None


def _comparisons(definition: Definition, workloads: list[Workload]) -> list[str]:
    """Constraints that compare axes at some workload; others bind values, or are words."""
    points = [sizes(definition, workload) for workload in workloads]
    return [text for text in definition.constraints or () if any(_compares(text, at) for at in points)]


def _compares(text: str, at: dict[str, int]) -> bool:
    try:
        holds(text, at)
    except ValueError:
        return False
    return True


def _outputs(definition: Definition) -> str:
    dtypes = {name: f"torch.{t.dtype}" if t.dtype in DTYPES else "None" for name, t in definition.outputs.items()}
    return f"{{{', '.join(f'{name!r}: {dtype}' for name, dtype in dtypes.items())}}}"


def _custom(definition: Definition) -> str:
    axes = ", ".join(f"{name!r}: {name}" for name in definition.axes)
    return _CUSTOM.format(axes=axes, entry=definition.custom_inputs_entrypoint)


def _point(definition: Definition, workload: Workload, number: int, root: Path) -> dict[str, JsonValue]:
    given: dict[str, JsonValue] = {}
    for name, one in workload.inputs.items():
        if one.type == "scalar":
            given[name] = one.value
        elif one.type == "custom":
            given[name] = {"custom": True}
        elif one.type != "random" and name in definition.inputs:
            given[name] = _from_file(definition, workload, name, root)
    varying = {name for name, axis in definition.axes.items() if axis.type == "var"}
    axes = {name: size for name, size in workload.axes.items() if name in varying}
    stored = any(one.type in ("safetensors", "npy") for one in workload.inputs.values())
    fixed: dict[str, JsonValue] = {"fixed": True} if stored else {}
    return {"name": workload.uuid or f"workload {number}", **axes, **fixed, "given": given}


def _from_file(definition: Definition, workload: Workload, name: str, root: Path) -> JsonValue:
    one, tensor, at = workload.inputs[name], definition.inputs[name], sizes(definition, workload)
    try:
        found = read_stored(root, one.path, one.tensor_key)
    except ValueError as error:
        raise ValueError(f"its input {name} {error}") from None
    wanted = [int(axis) if axis.isdigit() else at[axis] for axis in tensor.shape or ()]
    if (found.dtype, found.shape) != (tensor.dtype, wanted):
        raise ValueError(
            f"its input {name} lies in {one.path!r} as {found.dtype}{found.shape}, and is {tensor.dtype}{wanted} in "
            f"{workload.uuid or 'its workload'}: store that"
        )
    return found.words


def _input(definition: Definition, name: str, custom: bool) -> str:
    """The expression that makes an input."""
    made = f"lambda: made[{name!r}]" if custom else "None"
    return f"_input(given.get({name!r}, {{}}), {made}, lambda: {drawn(definition, name)})"
