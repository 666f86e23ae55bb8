"""Expressions as Triton text: leaves, operations, and reductions of a tile."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from kernelwright.propose.author.emit.scope import BITS, Scope, Writer
from kernelwright.propose.author.ir.expr import COL, ROW, Call, Combine, Const, Count, Expr, Load, Reduce, walk
from kernelwright.propose.author.ir.program import WIDENED, Tensor

PATTERNS: dict[str, str] = {
    **{op: f"(({{0}}) {sign} ({{1}}))" for op, sign in BITS.items()},
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "reciprocal": "1.0 / {0}", "rsqrt": "tl.rsqrt({0})", "float": "{0}.to(tl.float32)",
    "max": "tl.maximum({0}, {1})", "min": "tl.minimum({0}, {1})", "where": "tl.where({0}, {1}, {2})",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "and": "{0} & {1}", "or": "{0} | {1}", "not": "~{0}",
    "quotient": "{0} // {1}", "remainder": "{0} % {1}", "int": "{0}.to(tl.int64)", "round": "_round({0})",
    "tf32": "_tf32({0})", "int32": "tl.cast({0}, tl.int32)",
    "int64": "tl.cast({0}, tl.int64)",
    **{kind: f"tl.cast({{0}}, tl.{kind}).to(tl.int32)" for kind in ("int16", "int8", "uint8")},
    "random": "_random({0}, {1})",
    "normal_cdf": "_normal_cdf({0})", "sigmoid": "tl.sigmoid({0})", "softplus": "_softplus({0})",
    "float8_e4m3fn": "_float8_e4m3fn({0})", "expm1": "_expm1({0})", "log1p": "_log1p({0})", "tanh": "_tanh({0})",
    **{op: f"tl.{op}({{0}})" for op in ("abs", "sqrt", "floor", "ceil", "sin", "cos", "exp", "log", "erf")},
}  # fmt: skip


@contextmanager
def function(
    writer: Writer, name: str, parameters: Iterable[str], constants: Iterable[str], idea: str
) -> Iterator[None]:
    """A kernel's body, behind its head and what it says of itself."""
    writer.line("@triton.jit")
    with writer.block(f"def {name}(", "):"):
        for parameter in (*parameters, *(f"{constant}: tl.constexpr" for constant in constants)):
            writer.line(f"{parameter},")
    with writer.block(f'    """{idea}"""'):
        yield


def pointers(tensors: Iterable[Tensor]) -> list[str]:
    """Names of a kernel's pointers."""
    return [f"{tensor.identifier}_ptr" for tensor in tensors]


@dataclass
class TritonScope(Scope):
    """One block of a kernel."""

    mask: str | None = None
    """Which elements of the tile exist; None where no tile is at hand."""
    hint: str = ""
    """Further arguments of a load of elements, such as an eviction policy."""

    BINDING = Scope.BINDING | {"where": 9}
    GRIP = {op: grip for op, grip in Scope.GRIP.items() if op != "where"} | {"float": 5, "int": 5}
    INLINE_LOADS = False
    LITERALS: ClassVar[dict[str, str]] = {
        "true": "True",
        "false": "False",
        "nan": 'float("nan")',
        "inf": 'float("inf")',
    }

    def fetch(self, roots: Sequence[Expr]) -> None:
        """Name what the roots read from memory, the largest first, so that all of it is under way at once.

        Nothing is read that waits for a reduction, nor, where no tile is at hand, anything along columns.
        """
        nodes = [node for node in walk(*roots) if self.mask is not None or COL not in node.axes]
        loads = [node for node in nodes if isinstance(node, Load) and not _waits(node)]
        loads.sort(key=lambda load: 0 if load.at else -len(load.along))
        self.write(loads)

    def declare(self, name: str, text: str, node: Expr) -> None:
        """An assignment."""
        self.writer.line(f"{name} = {text}")

    def count(self, node: Count) -> str:
        """An argument of the kernel."""
        if len(node.over) == 2 and not self.plan.flat:
            return "(1.0 * rows * cols)"
        return "numel" if len(node.over) == 2 else "cols" if node.over == (COL,) else "rows"

    def load(self, node: Load, tensor: Tensor, index: str | None) -> str:
        """A masked load, widened to float where the tensor is narrower."""
        pointer = f"{tensor.identifier}_ptr"
        if index is not None:
            text = self._picked(node, pointer, index)
        elif not node.along:
            text = f"tl.load({pointer})"
        elif self.plan.flat:
            text = f"tl.load({pointer} + at, mask={self.mask}{self.hint})"
        elif node.along == (ROW,):
            text = f"tl.load({pointer} + row, mask=row < rows)"
        elif node.along == (COL,):
            text = f"tl.load({pointer} + column, mask=column < cols)"
        else:
            text = f"tl.load({pointer} + at, mask={self.mask}{self.hint})"
        return text + ".to(tl.float32)" * (tensor.dtype in WIDENED)

    def _picked(self, node: Load, pointer: str, index: str) -> str:
        """The element at an index; NaN for an index outside the row, where nothing is ever read."""
        row = "row * cols + " if ROW in node.along else ""
        inside = f"(row < rows) & ({index} >= 0) & ({index} < cols)"
        mask = self.names.fresh("found")
        missing = self.names.fresh("missing")
        self.writer.line(f"{mask} = {inside}")
        self.writer.line(f'{missing} = float("nan")')
        return f"tl.load({pointer} + {row}{index}, mask={mask}, other={missing})"

    def operation(self, node: Call, operands: Sequence[str]) -> str:
        """An operator or a call. A division by a constant is a product, as in PyTorch on a GPU."""
        if node.op == "div" and isinstance(divisor := node.args[1], Const) and divisor.value:
            return PATTERNS["mul"].format(operands[0], repr(1.0 / divisor.value))
        if node.op in ("max", "min") and node.kind == "float":
            return f"tl.{node.op}imum({', '.join(operands)}, propagate_nan=tl.PropagateNan.ALL)"
        if node.op in ("float", "int") and all(isinstance(n, Const | Call) for n in walk(node)):
            # Python's own number, which has no `to`.
            return f"tl.cast({operands[0]}, tl.{'float32' if node.op == 'float' else 'int64'})"
        return PATTERNS[node.op].format(*operands)


def _waits(load: Load) -> bool:
    """Whether a reduction decides what is read."""
    return any(isinstance(node, Reduce) for node in walk(load))


WORDS = frozenset({
    "row", "rows", "cols", "numel", "column", "first", "step", "tile", "tiles", "inside", "start", "lanes",
    "x", "part", "at", "larger", "power", "count", "distance", "gap", "spread",
})  # fmt: skip
"""Identifiers of the kernels' frame."""
START = (
    {"sum": "0.0", "prod": "1.0"}
    | dict.fromkeys(("max", "amax"), '-float("inf")')
    | dict.fromkeys(("min", "amin"), 'float("inf")')
)
ATOMIC = {"sum": "tl.atomic_add", "max": "tl.atomic_max", "min": "tl.atomic_min"}
EVICT = ", eviction_policy=EVICTION"


PICKS: dict[Combine, str] = {"amax": "_larger", "amin": "_smaller", "prod": "_multiply"}
"""Functions of two that a tile is reduced by."""


def joined(op: Combine, left: str, right: str) -> str:
    """A statement that takes `right` into `left`."""
    pick = {"max": "tl.maximum", "min": "tl.minimum", **PICKS}
    return f"{left} += {right}" if op == "sum" else f"{left} = {pick[op]}({left}, {right})"


def along(op: Combine, tile: str, axis: int, *, keep: bool = True) -> str:
    """A tile reduced along an axis."""
    kept = ", keep_dims=True" * keep
    return f"tl.reduce({tile}, {axis}, {PICKS[op]}{kept})" if op in PICKS else f"tl.{op}({tile}, axis={axis}{kept})"


SOFTMAX = (
    'x = tl.where(column < cols, {x}, -float("inf"))',
    "larger = tl.maximum({first}, tl.max(x, axis=1, keep_dims=True))",
    "power = tl.exp(x - larger)",
    "{second} = {second} * tl.exp({first} - larger) + tl.sum(power, axis=1, keep_dims=True)",
    "{first} = larger",
)
"""One block of the online softmax: the sum so far is rescaled whenever the maximum grows."""

VARIANCE = (
    "x = tl.where(column < cols, {x}, 0.0)",
    "count = tl.minimum(cols - start, BLOCK) * 1.0",
    "part = tl.sum(x, axis=1, keep_dims=True)",
    "distance = tl.where(column < cols, x - part / count, 0.0)",
    "gap = part / count - {first} / tl.maximum(start, 1)",
    "spread = tl.sum(distance * distance, axis=1, keep_dims=True)",
    "{second} += spread + gap * gap * (start * (count / (start + count)))",
    "{first} += part",
)
"""One block of the pairwise update: squared distances from the mean of all blocks so far."""
