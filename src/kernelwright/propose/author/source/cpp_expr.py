"""Expressions as C++: what is computed where, under which names.

Decides which subexpressions get a name: those used twice, and those too long for a line.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.propose.author.plan.expr import COL, ROW, Call, Const, Count, Expr, Load, Reduce
from kernelwright.propose.author.plan.plan import Plan
from kernelwright.propose.author.source.writer import Writer

PATTERNS: dict[str, str] = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "reciprocal": "1.0f / {0}", "rsqrt": "1.0f / std::sqrt({0})", "float": "static_cast<float>({0})",
    "max": "std::max({0}, {1})", "min": "std::min({0}, {1})", "where": "{0} ? {1} : {2}",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "and": "{0} && {1}", "or": "{0} || {1}", "not": "!{0}",
} | {op: f"std::{op}({{0}})" for op in ("abs", "sqrt", "floor", "ceil", "sin", "cos")}  # fmt: skip
FAST = ("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "normal_cdf")
"""Calls with a vectorisable version of our own; elsewhere the C library's serves, where it has one."""
LIBRARY = ("exp", "expm1", "log", "log1p", "tanh", "erf")
BOUND = {"add": 2, "sub": 2, "mul": 3, "div": 3, "reciprocal": 3, "rsqrt": 3, "neg": 4, "where": 0,
         "eq": 1, "ne": 1, "lt": 1, "le": 1, "gt": 1, "ge": 1, "and": 0, "or": 0, "not": 4}  # fmt: skip
"""How tightly an operator binds; anything else is a call."""
NAMES = {"add": "sum", "sub": "difference", "mul": "product", "div": "quotient", "where": "chosen",
         "exp": "power", "log": "logarithm", "max": "larger", "min": "smaller", "rsqrt": "scale",
         "reciprocal": "inverse", "sqrt": "root", "abs": "size", "neg": "negative", "float": "number", "where": "chosen",
         "normal_cdf": "cdf", "floor": "whole", "ceil": "whole"}  # fmt: skip
TYPES = {"float": "float", "int": "std::int64_t", "bool": "bool"}
LONGEST = 52
"""Characters of an expression before its operands get names."""


def literal(value: float, kind: str, double: bool) -> str:
    """A number as C++ spells it."""
    if kind == "bool":
        return "true" if value else "false"
    if kind == "int":
        return str(int(value))
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = repr(float(value))
    return text if double else text + "f"


@dataclass
class Names:
    """What is computed already, and every identifier in use."""

    taken: set[str]
    values: dict[str, str] = field(default_factory=dict)
    """Identifier or text, by the key of the expression."""

    def fresh(self, wanted: str) -> str:
        """`wanted`, or the first of its numbered versions that is free."""
        name, at = wanted, 2
        while name in self.taken:
            name, at = f"{wanted}{at}", at + 1
        self.taken.add(name)
        return name

    def inner(self, known: Mapping[str, str] | None = None) -> "Names":
        """Names of a nested scope: sees these, and is forgotten after it."""
        return Names(set(self.taken), self.values | dict(known or {}))


@dataclass
class Scope:
    """One block of code in which expressions are written.

    `index` is the position along the row (flat: in everything); None where no element is at hand.
    """

    plan: Plan
    writer: Writer
    names: Names
    index: str | None = None
    double: bool = False
    """Whether numbers here are double, as in the last few operations on totals."""

    def write(self, roots: Sequence[Expr]) -> list[str]:
        """The roots as text, after lines for whatever deserves a name."""
        self.uses = Counter(child.key for node in self._open(roots) for child in node.children)
        self.uses.update(root.key for root in roots)
        return [self._text(root) for root in roots]

    def hoist(self, roots: Sequence[Expr]) -> None:
        """Name what the elements of a row share, before the loop over them."""
        if self.plan.flat:
            return
        shared = [
            child
            for node in self._open(roots)
            for child in node.children
            if COL in node.axes and COL not in child.axes and not isinstance(child, Const | Count)
        ]
        self.write([node for node in shared if node.key not in self.names.values])
        for node in shared:
            self._name(node, self._text(node))

    def _open(self, roots: Sequence[Expr]) -> list[Expr]:
        """Distinct nodes that must still be computed."""
        seen: dict[str, Expr] = {}
        todo = list(roots)
        while todo:
            node = todo.pop()
            if node.key not in seen and node.key not in self.names.values:
                seen[node.key] = node
                todo += node.children
        return list(seen.values())

    def _text(self, node: Expr) -> str:
        known = self.names.values.get(node.key)
        if known is not None:
            return known
        match node:
            case Const():
                return literal(node.value, node.kind, self.double)
            case Count():
                return "NUMEL" if len(node.over) == 2 else "COLS" if node.over == (COL,) else "ROWS"
            case Load():
                text = self._load(node)
            case Call():
                text = self._call(node)
            case _:
                raise AssertionError(f"{node} is not computed yet")
        return self._name(node, text) if self.uses[node.key] > 1 else text

    def _name(self, node: Expr, text: str) -> str:
        """Give the expression a name of its own."""
        if node.key in self.names.values:
            return self.names.values[node.key]
        name = self.names.fresh(self._wanted(node))
        kind = "double" if self.double and node.kind == "float" else TYPES[node.kind]
        self.writer.line(f"const {kind} {name} = {text};")
        self.names.values[node.key] = name
        return name

    def _wanted(self, node: Expr) -> str:
        """What a person would call it."""
        match node:
            case Load():
                return f"{self.plan.argument(node).identifier}_value"
            case Call(op="div", args=(Reduce(), Count())):
                return "mean"
            case Call(op="mul", args=(a, b)) if a == b:
                return "square"
            case Call(kind="bool"):
                return "holds"
            case Call():
                return NAMES.get(node.op, node.op)
        return "value"

    def _call(self, node: Call) -> str:
        texts = [self._text(arg) for arg in node.args]
        if sum(map(len, texts)) > LONGEST:
            named = [isinstance(a, Call | Load) for a in node.args]
            texts = [self._name(a, t) if n else t for a, t, n in zip(node.args, texts, named, strict=True)]
        if node.op in FAST:
            vector = self.index is not None or node.op not in LIBRARY
            return f"{'fast' if vector else 'std'}::{node.op}({texts[0]})"
        if node.op in ("max", "min"):
            texts = [
                t if a.kind == "float" else f"static_cast<float>({t})" for a, t in zip(node.args, texts, strict=True)
            ]
        wrapped = [
            self._wrapped(node.op, at, arg, text) for at, (arg, text) in enumerate(zip(node.args, texts, strict=True))
        ]
        return PATTERNS[node.op].format(*wrapped)

    def _wrapped(self, op: str, at: int, arg: Expr, text: str) -> str:
        """The operand in parentheses where the operator binds tighter than it."""
        negative = text.startswith("-") and op in ("sub", "neg", "add")
        if arg.key in self.names.values or not (isinstance(arg, Call) or negative):
            return f"({text})" if negative else text
        inner = BOUND.get(arg.op, 9) if isinstance(arg, Call) else 4
        if op not in BOUND or op == "rsqrt":
            return text
        loose = inner < BOUND[op] or (at == 1 and inner == BOUND[op]) or inner <= 1
        return f"({text})" if loose or negative else text

    def _load(self, node: Load) -> str:
        tensor = self.plan.argument(node)
        if node.at is not None:
            row = f"{tensor.identifier}_row" if ROW in node.along else tensor.identifier
            text = f"fast::at({row}, {self._text(node.at)})"
        elif node.along == (ROW,):
            text = f"{tensor.identifier}[row]"
        elif COL in node.along:
            row = tensor.identifier if self.plan.flat or ROW not in node.along else f"{tensor.identifier}_row"
            text = f"{row}[{self.index}]"
        else:
            text = f"{tensor.identifier}[0]"
        return from_memory(tensor.dtype, text)


def from_memory(dtype: str, text: str) -> str:
    """An element as it is computed with."""
    if dtype == "bfloat16":
        return f"fast::from_bfloat16({text})"
    return f"static_cast<float>({text})" if dtype == "float16" else text


def to_memory(dtype: str, text: str) -> str:
    """A computed element as it is stored."""
    if dtype == "bfloat16":
        return f"fast::to_bfloat16({text})"
    return f"static_cast<{MEMORY[dtype]}>({text})" if dtype == "float16" else text


MEMORY = {
    "float32": "float", "float16": "_Float16", "bfloat16": "std::uint16_t", "int64": "std::int64_t",
    "int32": "std::int32_t", "bool": "bool",
}  # fmt: skip
"""The type of an element behind a pointer."""


def is_total(node: Expr) -> bool:
    """Whether the node is a reduction over rows."""
    return isinstance(node, Reduce) and node.over == (ROW,)
