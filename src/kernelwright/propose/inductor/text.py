"""Inductor's text as data: its kernels, and what its `call` does with buffers, launches and PyTorch's own operations.

The text is parsed and never run: it comes from a process that ran the task's code.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class UnreadableError(ValueError):
    """Inductor's text has something that is not rewritten: a template, an unknown call, a constant of its own."""


@dataclass(frozen=True)
class KernelText:
    """One kernel."""

    name: str
    language: str
    """`triton` or `cpp`."""
    text: str
    """Of the file that Inductor would compile."""
    types: tuple[str, ...] = ()
    """Of a C++ kernel, the types of its parameters."""


@dataclass(frozen=True)
class Buffer:
    """Memory of its own."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class View:
    """Another name for memory that is there, from its beginning or from `offset` on."""

    name: str
    of: str
    shape: tuple[int, ...] | None = None
    """None: in the same shape."""
    stride: tuple[int, ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class Launch:
    """A kernel is run on these arguments: names, views in place, numbers."""

    kernel: str
    arguments: tuple["str | View", ...]


@dataclass(frozen=True)
class Library:
    """A call of PyTorch's own."""

    results: str
    """The name for what it gives; empty where it writes to what it is handed."""
    call: ast.expr

    @property
    def operator(self) -> str:
        """Such as `addmm` or `aten.sort.stable`; empty where a part of an earlier result is taken."""
        if not isinstance(self.call, ast.Call):
            return ""
        named = ast.unparse(self.call.func)
        known = next((root for root in ROOTS if named.startswith(root)), None)
        return named.removeprefix(known) if known else named.rpartition(".")[2]


Step = Buffer | View | Launch | Library


@dataclass(frozen=True)
class Wrapper:
    """The whole text."""

    kernels: dict[str, KernelText]
    arguments: tuple[str, ...]
    steps: tuple[Step, ...]
    returned: tuple["str | View", ...]


ROOTS = ("extern_kernels.", "torch.ops.")
"""Where PyTorch's operators stand in the text; any other call is a tensor's own method."""
GONE = ("assert_size_stride", "assert_alignment", "get_raw_stream", "args")
"""Calls that only Inductor needs: they are left out."""
_EMPTY = re.compile(r"empty_strided_(?:cpu|cuda)")


def read(text: str) -> Wrapper:
    """The text as data.

    Raises:
        UnreadableError: a part of it is not rewritten.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UnreadableError(f"its text does not parse: {error}") from None
    kernels = {one.name: one for one in _kernels(tree)}
    if not kernels:
        raise UnreadableError("it has no kernel of its own: torch.compile leaves all of it to PyTorch's libraries")
    call = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if call is None:
        raise UnreadableError("it has no call")
    return _Reader(kernels).wrapper(_flat(call.body))


def _kernels(tree: ast.Module) -> Iterator[KernelText]:
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="async_compile"), attr="triton"),
                    args=[_, ast.Constant(value=str(text)), *_],
                ),
            ):
                yield KernelText(name, "triton", text)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="async_compile"), attr="cpp_pybinding"),
                    args=[ast.List(elts=types), ast.Constant(value=str(text)), *_],
                ),
            ):
                yield KernelText(name, "cpp", text, tuple(str(ast.literal_eval(one)) for one in types))
            case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id="async_compile"), attr=kind))):
                raise UnreadableError(f"a kernel in {kind}")


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with what stands under a device's guard moved out."""
    for node in body:
        if isinstance(node, ast.With):
            yield from _flat(node.body)
        else:
            yield node


class _Reader:
    """Reads one `call`."""

    def __init__(self, kernels: dict[str, KernelText]) -> None:
        self.kernels = kernels
        self.known: set[str] = set()

    def wrapper(self, body: Iterator[ast.stmt]) -> Wrapper:
        arguments: tuple[str, ...] | None = None
        steps: list[Step] = []
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=ast.Name(id="args")):
                    arguments = tuple(ast.unparse(one) for one in names)
                    self.known |= set(arguments)
                case ast.Return(value=ast.Tuple(elts=values)):
                    if arguments is None:
                        raise UnreadableError("its call takes no arguments")
                    return Wrapper(self.kernels, arguments, tuple(steps), tuple(map(self._operand, values)))
                case _:
                    steps += self._statement(node)
        raise UnreadableError("its call returns nothing")

    def _statement(self, node: ast.stmt) -> list[Step]:
        match node:
            case ast.Delete() | ast.Pass():
                return []
            case ast.Assign(value=ast.Call(func=ast.Name(id="copy_if_misaligned"))):
                return []  # Triton looks at each pointer by itself
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name.startswith(("raw_stream", "stream")):
                    return []
                step = self._assigned(name, value)
                self.known.add(name)
                return [step]
            case ast.Expr(value=ast.Call() as called):
                return self._called(called)
        raise UnreadableError(ast.unparse(node).splitlines()[0][:120])

    def _assigned(self, name: str, value: ast.expr) -> Step:
        match value:
            case ast.Name(id=other) if other in self.known:
                return View(name, other)
            case ast.Call(func=ast.Name(id=made), args=[shape, stride, dtype]) if _EMPTY.fullmatch(made):
                return Buffer(name, _sizes(shape), _sizes(stride), ast.unparse(dtype).removeprefix("torch."))
            case ast.Call(func=ast.Name(id="reinterpret_tensor")):
                found = self._operand(value)
                assert isinstance(found, View)
                return View(name, found.of, found.shape, found.stride, found.offset)
            case ast.Call():
                return Library(name, self._foreign(value))
            case ast.Subscript(value=ast.Name(id=other)) if other in self.known:
                return Library(name, value)
        raise UnreadableError(ast.unparse(value)[:120])

    def _called(self, node: ast.Call) -> list[Step]:
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr="run") if name in self.kernels:
                return [Launch(name, tuple(map(self._operand, node.args)))]
            case ast.Name(id=name) if name in self.kernels:
                return [Launch(name, tuple(map(self._operand, node.args)))]
            case ast.Attribute(value=ast.Name(id=name), attr="zero_") if name in self.known:
                return [Library("", node)]
        first = ast.unparse(node.func)
        if first.split(".")[0] in GONE or first.startswith("torch.cuda.set_device"):
            return []
        return [Library("", self._foreign(node))]

    def _operand(self, node: ast.expr) -> "str | View":
        match node:
            case ast.Name(id=name) if name in self.known:
                return name
            case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
                return ast.unparse(node)
            case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=of), shape, stride, *rest]):
                offset = ast.literal_eval(rest[0]) if rest else 0
                return View("", of, _sizes(shape), _sizes(stride), int(offset))
        raise UnreadableError(f"the operand {ast.unparse(node)[:80]}")

    def _foreign(self, node: ast.Call) -> ast.Call:
        """A call whose every name is known, or the root of PyTorch's operations."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        unknown = names - self.known - {"torch", "aten", "extern_kernels", "reinterpret_tensor", "device"}
        if unknown:
            raise UnreadableError(f"the name {min(unknown)} in {ast.unparse(node.func)}")
        return node


def _sizes(node: ast.expr) -> tuple[int, ...]:
    try:
        found = ast.literal_eval(node)
    except ValueError:
        raise UnreadableError(f"the sizes {ast.unparse(node)[:80]}") from None
    return tuple(int(size) for size in found)
