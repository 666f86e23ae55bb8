"""Workloads of a task: reads them from a Python file, and makes the task at one of them.

    AXES = {"batch": (1, 64), "hidden": (64, 8192, 64), "heads": 8, "width": "hidden // heads"}
    WORKLOADS = [{"batch": 1, "hidden": 4096, "weight": 3, "protected": True}, {"batch": 64, "hidden": 512, "weight": 0}]


    def get_inputs(batch, hidden):
        return [torch.randn(batch, hidden)]

All are literals at module level, and so is `CONSTRAINTS = ["hidden % heads == 0"]`. `get_inputs` and `get_init_inputs` are
called with the axes that they name; where neither names any, the axes are set as globals of the module instead, as benchmarks
do that keep `SHAPES` in a `shapes.py` beside their `reference.py`. A task at one workload is the same text with a few lines
more at its end: it stays complete in itself, and whoever takes it need not know of workloads. Nothing is run.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from kernelwright.errors import TaskError
from kernelwright.records.base import first_fault
from kernelwright.records.expression import worth
from kernelwright.records.task import TaskSource
from kernelwright.records.workloads import Axis, Part, WorkloadPoint, WorkloadSet
from kernelwright.tasks.files import last_assigned, read_text

OPTIONS = ("name", "weight", "protected", "fixed")
"""Of a workload, beside its axes. `fixed`: its inputs are stored, so that no other sizes are drawn from it."""
_MAKERS = ("get_inputs", "get_init_inputs")
_HOW = (
    'AXES is a literal dict such as {"batch": (1, 64), "hidden": (64, 8192, 64), "heads": 8, "width": "hidden // heads"}, '
    'WORKLOADS a literal list of dicts such as {"batch": 8, "hidden": 4096, "weight": 3, "protected": True}'
)


def declared_workloads(tree: ast.Module, path: Path) -> WorkloadSet | None:
    """What a file declares; None: it has one workload, which it does not name.

    Raises:
        TaskError: a declaration cannot be taken, with the reason.
    """
    listed = last_assigned(tree, "WORKLOADS")
    if listed is None:
        return None
    try:
        points = _literal(listed)
        axes, ties = (last_assigned(tree, name) for name in ("AXES", "CONSTRAINTS"))
        found = made(points, _literal(axes) if axes is not None else None, _sets(tree))
        return _tied(found, _literal(ties)) if ties is not None else found
    except (ValueError, TypeError) as error:
        why = first_fault(error)[1] if isinstance(error, ValidationError) else str(error)
        raise TaskError(f"task {str(path)!r}, line {listed.lineno}: {why}. {_HOW}") from None


def made(points: JsonValue, axes: JsonValue, sets: str) -> WorkloadSet:
    """Workloads from plain values, such as literals.

    Raises:
        ValueError, TypeError: they are none.
    """
    if not isinstance(points, list) or not points or not all(isinstance(point, dict) for point in points):
        raise TypeError("WORKLOADS is no list of dicts")
    rows = [point for point in points if isinstance(point, dict)]
    if axes is None:
        found = _open_axes(rows)
    elif isinstance(axes, dict):
        found = {name: _axis(name, value) for name, value in axes.items()}
    else:
        raise TypeError("AXES is no dict")
    listed = tuple(_point(row, found, number) for number, row in enumerate(rows, 1))
    workloads = WorkloadSet.model_validate({"axes": tuple(found.values()), "points": listed, "sets": sets})
    for point in listed:
        workloads.sizes(point.axes)
    return workloads


def _tied(found: WorkloadSet, ties: JsonValue) -> WorkloadSet:
    """The same with constraints, which every workload keeps.

    Raises:
        ValueError: one does not.
    """
    tied = WorkloadSet.model_validate({**found.model_dump(), "constraints": ties})
    for point in tied.points:
        if not tied.allows(point.axes):
            raise ValueError(f"the workload {point.words} is against CONSTRAINTS")
    return tied


def _open_axes(rows: list[dict[str, JsonValue]]) -> dict[str, Axis]:
    """Of workloads without AXES: every whole number is one, and those that are always the same are constant."""
    names = [n for row in rows for n, v in row.items() if n not in OPTIONS and type(v) is int]
    found = {}
    for name in dict.fromkeys(names):
        values = {row.get(name) for row in rows}
        one = next(iter(values))
        alone = len(values) == 1 and isinstance(one, int)
        found[name] = Axis(name=name, low=one, high=one) if alone and isinstance(one, int) else _open(name)
    return found


def _open(name: str) -> Axis:
    return Axis(name=name, low=0, declared=False)


def _axis(name: str, value: JsonValue) -> Axis:
    match value:
        case None:
            return _open(name)
        case str():
            return Axis(name=name, expression=value)
        case bool():
            raise TypeError(f"the axis {name} is no number")
        case int():
            return Axis(name=name, low=value, high=value)
        case [int(low), int(high)]:
            return Axis(name=name, low=low, high=high)
        case [int(low), int(high), int(step)]:
            return Axis(name=name, low=low, high=low + (high - low) // step * step, step=step)
    raise TypeError(f"the axis {name} is {value!r}, and no number, range or expression")


def _point(row: Mapping[str, JsonValue], axes: Mapping[str, Axis], number: int) -> WorkloadPoint:
    varying = {name: row[name] for name in axes if name in row and axes[name].varies}
    fixed = {name for name in axes if name in row and name not in varying}
    for name in fixed:
        if axes[name].expression or row[name] != axes[name].low:
            raise ValueError(f"workload {number} sets the axis {name}, which is {axes[name].words}")
    values = {name: value for name, value in row.items() if name not in axes and name not in OPTIONS}
    options = {name: row[name] for name in OPTIONS if name in row}
    named = {"name": f"workload {number}", **options}
    return WorkloadPoint.model_validate({**named, "axes": varying, "values": values})


def _literal(node: ast.expr) -> JsonValue:
    """A literal, in which numbers may be sums and products of numbers; tuples become lists.

    Raises:
        ValueError: it is more than that.
    """
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip((ast.literal_eval(key) if key else None for key in keys), values, strict=True)
            return {str(key): _literal(value) for key, value in pairs}
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_literal(element) for element in elements]
        case ast.BinOp():
            return worth(ast.unparse(node), {})
    found: JsonValue = ast.literal_eval(node)
    return found


def _taken(tree: ast.Module) -> dict[str, frozenset[str] | None]:
    """The keywords that each maker of inputs takes; None: any."""
    found: dict[str, frozenset[str] | None] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in _MAKERS:
            arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
            found[node.name] = None if node.args.kwarg else frozenset(arguments)
    return found


def _sets(tree: ast.Module) -> str:
    return "arguments" if any(names is None or names for names in _taken(tree).values()) else "globals"


def shapes_beside(source: str, path: Path) -> WorkloadSet | None:
    """What a `shapes.py` beside a `reference.py` lists: globals of the module, under their own names or in capitals.

    Raises:
        TaskError: it lists something else.
    """
    shapes = path.parent / "shapes.py"
    if path.name != "reference.py" or not shapes.is_file():
        return None
    try:
        listed = last_assigned(ast.parse(read_text(shapes, "list of shapes")), "SHAPES")
        rows = _literal(listed) if listed is not None else None
        if not isinstance(rows, list):
            raise TypeError("it has no literal list SHAPES")
        known = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return made([_as_globals(row, known) for row in rows], None, "globals")
    except (SyntaxError, ValueError, TypeError) as error:
        raise TaskError(f"{str(shapes)!r}, which lists the shapes of {path.name} beside it: {error}") from None


def _as_globals(row: JsonValue, known: set[str]) -> dict[str, JsonValue]:
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} is no dict of sizes")
    found = {}
    for name, value in row.items():
        ours = next((each for each in (name, name.upper()) if each in known), None)
        if ours is None and name not in OPTIONS:
            raise ValueError(f"{name!r} is no global of the reference, so that nothing can be set: add it there")
        found[ours or name] = value
    return found


def at_point(source: TaskSource, part: Part) -> TaskSource:
    """The task at one workload: a text of its own, which knows no other."""
    assert source.workloads is not None
    given: dict[str, JsonValue] = {**part.sizes, **part.point.values}
    lines = _as_lines(given) if source.workloads.sets == "globals" else _as_arguments(source.source, given)
    text = "\n".join([source.source.rstrip("\n"), "", *lines, ""])
    return source.model_copy(update={"source": text, "workloads": None, "part": part})


def _as_lines(given: Mapping[str, JsonValue]) -> list[str]:
    return [f"{name} = {value!r}" for name, value in given.items()]


def _as_arguments(text: str, given: Mapping[str, JsonValue]) -> list[str]:
    lines = ["import functools as _functools"]
    for maker, names in _taken(ast.parse(text)).items():
        taken = {name: value for name, value in given.items() if names is None or name in names}
        if taken:
            lines.append(f"{maker} = _functools.partial({maker}, **{taken!r})")
    return lines
