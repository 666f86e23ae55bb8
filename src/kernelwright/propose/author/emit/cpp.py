"""How C++ spells an expression, element by element."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kernelwright.propose.author.emit.scope import BITS, Scope
from kernelwright.propose.author.ir.expr import COL, ROW, Call, Const, Count, Expr, Load
from kernelwright.propose.author.ir.program import CODED, Tensor
from kernelwright.records.tensor import DType

PATTERNS: dict[str, str] = {
    **{op: f"(({{0}}) {sign} ({{1}}))" for op, sign in BITS.items()},
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "reciprocal": "1.0f / {0}", "rsqrt": "1.0f / std::sqrt({0})", "float": "static_cast<float>({0})",
    "max": "fast::max({0}, {1})", "min": "fast::min({0}, {1})", "where": "fast::where({0}, {1}, {2})",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "and": "{0} & {1}", "or": "{0} | {1}", "not": "!{0}", "quotient": "{0} / {1}",
    "remainder": "{0} % {1}", "int": "static_cast<std::int64_t>({0})", "round": "std::rint({0})",
    **{kind: f"static_cast<std::{kind}_t>({{0}})" for kind in ("int32", "int16", "int8", "uint8")},
    **{kind: f"fast::from_{kind}(fast::to_{kind}({{0}}))" for kind in ("float8_e4m3fn", "float8_e5m2")},
} | {op: f"std::{op}({{0}})" for op in ("abs", "sqrt", "floor", "ceil")}  # fmt: skip
FAST = frozenset({"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "erf", "normal_cdf", "sin", "cos"})
"""Calls with a vectorisable version of our own."""
LIBRARY = FAST - {"sigmoid", "softplus", "normal_cdf"}
"""Those that the C library has too: it serves where there is one value and not a loop of them."""
TYPES = {"float": "float", "int": "std::int64_t", "bool": "bool"}
MEMORY: dict[DType, str] = {
    "float32": "float", "float16": "std::uint16_t", "bfloat16": "std::uint16_t", "int64": "std::int64_t",
    "int32": "std::int32_t", "int16": "std::int16_t", "int8": "std::int8_t", "uint8": "std::uint8_t",
    "bool": "std::uint8_t", "float8_e4m3fn": "std::uint8_t", "float8_e5m2": "std::uint8_t",
}  # fmt: skip
"""The type of an element behind a pointer. g++ has no vectors of `_Float16` or `bool` beside vectors of float."""
START = {"sum": "0.0f", "max": "-INFINITY", "min": "INFINITY", "amax": "-INFINITY", "amin": "INFINITY"}
"""What a reduction begins with."""
CLAUSE = {"sum": "+", "prod": "*", "max": "max", "min": "min", "amax": "fast::amax", "amin": "fast::amin"}
"""How OpenMP calls a reduction."""


@dataclass
class CppScope(Scope):
    """One block of C++."""

    index: str | None = None
    """Position along the row (flat: in everything); None where no element is at hand."""
    double: bool = False
    """Whether numbers here are double, as in the last few operations on totals."""
    whole: str = TYPES["int"]
    """The type of whole numbers; a narrower one for positions makes wider vectors of them."""

    BINDING = {op: grip for op, grip in Scope.BINDING.items() if op != "where"} | {"rsqrt": 3}
    GRIP: ClassVar[dict[str, int]] = {op: grip for op, grip in Scope.GRIP.items() if op != "where"}
    LITERALS: ClassVar[dict[str, str]] = {"true": "true", "false": "false", "nan": "NAN", "inf": "INFINITY"}

    def declare(self, name: str, text: str, node: Expr) -> None:
        """A constant."""
        kind = self.whole if node.kind == "int" else TYPES[node.kind]
        kind = "double" if self.double and node.kind == "float" else kind
        self.writer.line(f"const {kind} {name} = {text};")

    def literal(self, node: Const) -> str:
        """A number with its suffix, or a truth value."""
        single = node.kind == "float" and math.isfinite(node.value) and not self.double
        return super().literal(node) + "f" * single

    def count(self, node: Count) -> str:
        """A constant of the file, or of the call."""
        if node.over == (COL,):
            return "COLS"
        return "rows" if len(node.over) == 1 else "numel" if self.plan.flat else "(rows * COLS)"

    def load(self, node: Load, tensor: Tensor, index: str | None) -> str:
        """An array element, as a float where it is a narrower one."""
        wide = ROW in node.along and COL in node.along
        array = f"{tensor.identifier}_row" if wide and not self.plan.flat else tensor.identifier
        if index is not None:
            text = f"fast::at({array}, {index})"
        elif COL in node.along:
            text = f"{array}[{self.index}]"
        else:
            text = f"{array}[row]" if node.along else f"{array}[0]"
        return from_memory(tensor.dtype, text)

    def operation(self, node: Call, operands: Sequence[str]) -> str:
        """An operator or a call."""
        if node.op in FAST:
            space = "std" if self.index is None and node.op in LIBRARY else "fast"
            return f"{space}::{node.op}({operands[0]})"
        if node.op in ("max", "min") and not any(isinstance(arg, Const) for arg in node.args):
            return f"fast::{node.op}imum({', '.join(operands)})"
        return PATTERNS[node.op].format(*operands)


def from_memory(dtype: DType, text: str) -> str:
    """An element as it is computed with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return f"fast::from_{dtype}({text})" if dtype in CODED else text


def to_memory(dtype: DType, text: str) -> str:
    """A computed element as it is stored."""
    return f"fast::to_{dtype}({text})" if dtype in CODED else text
