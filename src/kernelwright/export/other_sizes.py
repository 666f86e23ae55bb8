"""A kernel over free sizes as part of a drop-in: which sizes, the shapes that follow from them, and the kernel's own text.

`OtherSizes` has the text over the sizes' names. C++ gets them from a function that the calling thread is told them by, Triton
as arguments of `_run` and of every kernel that needs them. A C++ source may declare its rows open itself (docs/candidate.md).
"""

import ast
import re
from collections.abc import Iterable, Sequence

from kernelwright.errors import ProposeError
from kernelwright.records.candidate import Candidate
from kernelwright.records.free_sizes import FreeAxis, OtherSizes
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

LARGEST = (1 << 31) - 1
"""Of a size that nothing limits: a kernel's own count is of 32 bits in places."""
AT = "_at_other_sizes"
"""Behind the names of what a Triton kernel for other sizes defines."""
_FREE = re.compile(r"^// free (ROWS|NUMEL): ([\d, ]*) -> ([\d, ]+)$", re.MULTILINE)
_CONSTANT_CALLS = frozenset(
    {"arange", "zeros", "full", "static_range", "histogram", "reshape", "broadcast_to", "constexpr"}
)
"""Triton's functions whose arguments no variable can be."""


def declared(task: Task, candidate: Candidate) -> OtherSizes | None:
    """What a C++ source says of its rows, as far as the task leaves these free; None where it says nothing."""
    said = _FREE.search(candidate.source)
    if said is None or task.free is None:
        return None
    specs = [*task.workload.tensors, *task.workload.parameters]
    leading = [int(n) for n in said[2].split(",")] if said[2].strip() else []
    shapes = _expressions(task, task.free.axes)[0]
    inner = " ".join(size for shape, n in zip(shapes, leading, strict=True) for size in shape[n:])
    axes = tuple(a for a in task.free.axes if a.name not in re.findall(r"\w+", inner))
    first = next((n for n, count in enumerate(leading) if count), None)
    if not axes or first is None or len(leading) != len(specs):
        return None
    rows = "*".join(f"({size})" for size in _expressions(task, axes)[0][first][: leading[first]])
    return OtherSizes(axes=axes, source=f"#define {said[1]} ({variable(rows)})\n{candidate.source}")


def shapes_at(task: Task, axes: Sequence[FreeAxis]) -> list[str]:
    """Lines of the drop-in that say which sizes are free and what shapes follow from them."""
    names = ", ".join(axis.name for axis in axes)
    takes, gives = (_tuple(map(_tuple, shapes)) for shapes in _expressions(task, axes))
    return [
        "AXES = [  # name, least, as judged, largest",
        *(f"    {(a.name, a.low, a.size, a.high or LARGEST)!r}," for a in axes),
        "]",
        "",
        "",
        *_sizes(task, axes),
        "",
        "",
        f"def _shapes_at({names}):",
        '    """Shapes of what goes in and of what comes out."""',
        f"    takes = {takes}",
        f"    return takes, {gives}",
    ]


def shaped(task: Task, axes: Sequence[FreeAxis]) -> list[str]:
    """Lines of functions that find the sizes of a call, and say whether its tensors are of such shapes and not empty."""
    takes = _expressions(task, axes)[0]
    names = ", ".join(axis.name for axis in axes)
    bounds = " and ".join(f"{a.low} <= {a.name} <= {a.high or LARGEST}" for a in axes)
    return [
        *_sizes(task, axes),
        "",
        "",
        "def _shaped(tensors):",
        '    """Whether there are sizes at which tensors have these shapes, and elements."""',
        f"    if [t.dim() for t in tensors] != {[len(shape) for shape in takes]} or not all(t.numel() for t in tensors):",
        "        return False",
        f"    {names}, = _sizes(tensors)",
        f"    return {bounds} and [tuple(t.shape) for t in tensors] == [{', '.join(map(_tuple, takes))}]",
    ]


def _sizes(task: Task, axes: Sequence[FreeAxis]) -> list[str]:
    """The function that finds the sizes of a call.

    Raises:
        ProposeError: an axis is no tensor's dimension.
    """
    dims = {
        size: f"tensors[{n}].shape[{dim}]"
        for n, shape in reversed([*enumerate(_expressions(task, axes)[0])]) for dim, size in enumerate(shape)
    }  # fmt: skip
    if hidden := [axis.name for axis in axes if axis.name not in dims]:
        raise ProposeError(f"{task.name!r}: no tensor has the size {hidden[0]} as a dimension")
    places = _tuple(dims[axis.name] for axis in axes)
    return ["def _sizes(tensors):", '    """The free sizes of a call."""', f"    return {places}"]


def _expressions(task: Task, axes: Sequence[FreeAxis]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Shapes of arguments and results over these axes; what the other free axes are is fixed."""
    places = task.free.places if task.free else {}
    fixed = {a.name: str(a.size) for a in task.free.axes if a.name not in {b.name for b in axes}} if task.free else {}

    def along(path: str, spec: TensorSpec) -> tuple[str, ...]:
        texts = (places.get(f"{path}.shape.{dim}", str(size)) for dim, size in enumerate(spec.shape))
        return tuple(re.sub(r"\w+", lambda m: fixed.get(m[0], m[0]), text) for text in texts)

    inputs = [along(f"inputs.{n}", i) for n, i in enumerate(task.workload.inputs) if isinstance(i, TensorSpec)]
    parameters = [along(f"parameters.{n}", p) for n, p in enumerate(task.workload.parameters)]
    return [*inputs, *parameters], [along(f"outputs.{n}", o) for n, o in enumerate(task.workload.outputs)]


def _tuple(parts: Iterable[str]) -> str:
    found = list(parts)
    return f"({found[0]},)" if len(found) == 1 else f"({', '.join(found)})"


def variable(expression: str) -> str:
    """An expression over axes as C++ has it, where a kernel may have variables of the axes' names."""
    return re.sub(r"[A-Za-z_]\w*", r"axis_\g<0>", expression)


def in_cpp(other: OtherSizes, entry: str) -> str:
    """The C++ text with the function that takes the sizes, which stand at the entry's beginning: threads do not share them."""
    names = [axis.name for axis in other.axes]
    head = f"""\
static thread_local long long free_sizes[{len(names)}];
extern "C" void set_sizes(const long long* sizes) {{
  for (int n = 0; n < {len(names)}; ++n) free_sizes[n] = sizes[n];
}}
"""
    taken = "".join(f"  const long long {variable(name)} = free_sizes[{n}];\n" for n, name in enumerate(names))
    body = re.sub(rf'(extern "C" void {entry}\([^)]*\)\s*\{{\n)', lambda m: m[1] + taken, other.source, count=1)
    return head + apart(body)


def apart(text: str) -> str:
    """The text whose buffers begin where they are aligned and apart, whatever the sizes are."""
    count = iter(range(1 << 16))
    return re.sub(
        r"(static_cast<char\*>\(workspace\)) \+ (.+?) /\* placed \*/\)",
        lambda m: f"{m[1]} + ({m[2]} + {64 * next(count)} + 63) / 64 * 64)", text,
    )  # fmt: skip


def room(other: OtherSizes) -> str:
    """Bytes of workspace over the sizes, with what `apart` takes."""
    buffers = other.source.count("/* placed */")
    return f"{other.workspace} + {64 * (buffers + 1)}" if buffers else other.workspace


def in_triton(other: OtherSizes, ending: str = AT, constants: bool = False) -> str | None:
    """The functions that run a Triton kernel at other sizes, their names with this ending.

    Empty where the kernel takes every size from its tensors already. None where a size would have to be a constant of the
    compiler: of a kernel, if there may be `constants` (each size of that is compiled anew), or of the module.
    """
    module = ast.parse(other.source)
    names = {axis.name for axis in other.axes}
    kept = _needed(module)
    if not constants and not any(_names(node) & names for node in kept):
        return ""
    kernels = {n.name: n for n in kept if isinstance(n, ast.FunctionDef) and _names(n) & names and n.name != "_run"}
    launched = {n.func.value.id for node in kept for n in ast.walk(node) if _is_launch(n)}  # type: ignore[attr-defined]
    if not kernels.keys() <= launched:
        return None
    fixed = {name for node in kept for call in ast.walk(node) for name in _fixed(call) & names}
    if (fixed and not constants) or any(isinstance(node, ast.Assign) and _names(node) & names for node in kept):
        return None
    _pass_on(kept, kernels, sorted(names), fixed)
    own = {name for node in kept for name in _defines(node)}
    for node in kept:
        _Renamed(own, ending).visit(node)
    return "\n\n\n".join(ast.unparse(node) for node in kept)


def _needed(module: ast.Module) -> list[ast.stmt]:
    """What `_run` needs of the module, but imports."""
    wanted, size = {"_run"}, 0
    nodes = [n for n in module.body if not isinstance(n, ast.Import | ast.ImportFrom | ast.Expr)]
    while size < len(wanted):
        size = len(wanted)
        wanted |= {name for n in nodes if _defines(n) & wanted for name in _names(n)}
    return [n for n in nodes if _defines(n) & wanted - {"INTERPRETED"}]


def _defines(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return {n.id for t in getattr(node, "targets", ()) for n in ast.walk(t) if isinstance(n, ast.Name)}


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _fixed(call: ast.AST) -> set[str]:
    """Names that stand where Triton's compiler must know their values."""
    known = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "tl"
    return _names(call) if known and call.func.attr in _CONSTANT_CALLS else set()  # type: ignore[attr-defined]


def _is_launch(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Subscript(value=ast.Name())):
            return True
    return False


def _pass_on(
    kept: Sequence[ast.stmt], kernels: dict[str, ast.FunctionDef], names: Sequence[str], fixed: set[str]
) -> None:
    """Let `_run` take the sizes, and hand each kernel those that it needs."""
    needs = {name: [size for size in names if size in _names(kernel)] for name, kernel in kernels.items()}
    known = ast.parse("tl.constexpr", mode="eval").body
    for function in kept:
        if isinstance(function, ast.FunctionDef) and (function.name == "_run" or function.name in kernels):
            taken, inside = needs.get(function.name, names), function.name in kernels
            function.args.args += [ast.arg(arg=n, annotation=known if inside and n in fixed else None) for n in taken]
        for call in ast.walk(function):
            if _is_launch(call) and (sizes := needs.get(call.func.value.id)):  # type: ignore[attr-defined]
                call.keywords += [ast.keyword(arg=size, value=ast.Name(id=size)) for size in sizes]  # type: ignore[attr-defined]


class _Renamed(ast.NodeTransformer):
    """Names of the module get another ending, but where a function's own argument is called so."""

    def __init__(self, own: set[str], ending: str) -> None:
        self._own, self._ending = own, ending

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function: its arguments are its own."""
        inner = _Renamed(self._own - {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}, self._ending)
        for part in (*node.body, *node.decorator_list):
            inner.visit(part)
        node.name += self._ending
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of the module."""
        node.id += self._ending * (node.id in self._own)
        return node
