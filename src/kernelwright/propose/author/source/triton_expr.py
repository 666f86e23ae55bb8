"""How Triton spells an expression, a tile at a time.

In a row kernel a tile is [ROWS, BLOCK]: what varies along rows only is [ROWS, 1], along columns only
[1, BLOCK], so that broadcasting does the rest. In a flat kernel a tile is [BLOCK].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.propose.author.plan.expr import COL, ROW, Call, Const, Count, Expr, Load, Reduce, walk
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.propose.author.source.scope import Scope

PATTERNS: dict[str, str] = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "reciprocal": "1.0 / {0}", "rsqrt": "1.0 / tl.sqrt({0})", "float": "{0}.to(tl.float32)",
    "max": "tl.maximum({0}, {1})", "min": "tl.minimum({0}, {1})", "where": "tl.where({0}, {1}, {2})",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "and": "{0} & {1}", "or": "{0} | {1}", "not": "~{0}",
    "normal_cdf": "0.5 * (1.0 + tl.erf({0} * 0.7071067811865476))", "sigmoid": "tl.sigmoid({0})",
    "expm1": "_expm1({0})", "log1p": "_log1p({0})", "tanh": "_tanh({0})",
    **{op: f"tl.{op}({{0}})" for op in ("abs", "sqrt", "floor", "ceil", "sin", "cos", "exp", "log", "erf")},
}  # fmt: skip

HELPERS: dict[str, str] = {
    "_expm1": '''\
@triton.jit
def _expm1(x):
    """exp(x) - 1, by a polynomial where the subtraction would lose digits."""
    p = 1.39412098e-3
    p = p * x + 8.36323481e-3
    p = p * x + 4.16663736e-2
    p = p * x + 1.66665763e-1
    p = p * x + 0.5
    return tl.where(tl.abs(x) < 0.34, p * x * x + x, tl.exp(x) - 1.0)
''',
    "_log1p": '''\
@triton.jit
def _log1p(x):
    """log(1 + x), with the digits that 1 + x loses put back."""
    total = 1.0 + x
    lost = tl.where(total > 1e8, 0.0, x - (total - 1.0))
    return tl.log(total) + lost / tl.maximum(total, 1e-30)
''',
    "_tanh": '''\
@triton.jit
def _tanh(x):
    """From expm1(2 x), so that small arguments keep their digits."""
    twice = _expm1(tl.minimum(2.0 * x, 40.0))
    return twice / (twice + 2.0)
''',
}
"""Functions that Triton's language lacks, in an order in which each is defined before its use."""


@dataclass
class TritonScope(Scope):
    """One block of a kernel."""

    mask: str | None = None
    """Which elements of the tile exist; None where no tile is at hand."""
    hint: str = ""
    """Further arguments of a load of elements, such as an eviction policy."""

    BINDING = Scope.BINDING | {"normal_cdf": 3, "rsqrt": 3, "where": 9}
    GRIP = {op: grip for op, grip in Scope.GRIP.items() if op != "where"} | {"normal_cdf": 3, "float": 5}
    INLINE_LOADS = False

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

    def literal(self, node: Const) -> str:
        """A number."""
        if node.kind == "bool":
            return str(bool(node.value))
        if node.kind == "int":
            return str(int(node.value))
        if math.isinf(node.value):
            return 'float("inf")' if node.value > 0 else '-float("inf")'
        return repr(float(node.value))

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
        return text + ".to(tl.float32)" * (tensor.dtype in ("float16", "bfloat16"))

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
        return PATTERNS[node.op].format(*operands)


def _waits(load: Load) -> bool:
    """Whether a reduction decides what is read."""
    return any(isinstance(node, Reduce) for node in walk(load))
