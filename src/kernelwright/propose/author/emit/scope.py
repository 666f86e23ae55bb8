"""Source text: lines with their indentation, identifiers, and expressions as a language spells them.

Subexpressions that are used twice, or that are too long for a line, get a name. A language subclasses `Scope` and says
how it spells a leaf, an operation and a declaration.
"""

import keyword
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from kernelwright.propose.author.ir.expr import (
    COL,
    Call,
    Const,
    Count,
    Element,
    Expr,
    Load,
    Reduce,
)
from kernelwright.propose.author.ir.program import Tensor

BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^", "shift_left": "<<", "shift_right": ">>"}
"""Operators that both languages spell alike."""
WIDTH = 100
"""Columns of a line."""


class Writer:
    """Collects lines; a block indents what is written inside it."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._depth = 0
        self.lines: list[str] = []

    def line(self, text: str = "") -> None:
        """One line at the present depth."""
        self.lines.append(self._step * self._depth + text if text else "")

    def pragma(self, directive: str, *clauses: str) -> None:
        """A preprocessor line, at column zero; clauses that do not fit go to lines of their own."""
        line = directive
        for number, clause in enumerate(clauses, 1):
            room = WIDTH if number == len(clauses) else WIDTH - len(" \\")
            if len(line) + 1 + len(clause) > room:
                self.lines.append(line + " \\")
                line = "   "
            line += " " + clause
        self.lines.append(line)

    @contextmanager
    def block(self, head: str, tail: str = "") -> Iterator[None]:
        """Lines between `head` and `tail`, one step deeper."""
        self.line(head)
        with self.deeper(tail):
            yield

    @contextmanager
    def deeper(self, tail: str) -> Iterator[None]:
        """Lines one step deeper, and then `tail`."""
        self._depth += 1
        yield
        self._depth -= 1
        if tail:
            self.line(tail)

    def text(self) -> str:
        """All lines, ended by a newline."""
        return "\n".join(self.lines) + "\n"


LONGEST = 52
"""Characters of an expression before its operands get names."""
NAMES = {
    "add": "added", "sub": "difference", "mul": "product", "div": "quotient", "where": "chosen",
    "exp": "exponential", "log": "logarithm", "max": "larger", "min": "smaller", "rsqrt": "scale",
    "reciprocal": "inverse", "sqrt": "root", "abs": "magnitude", "neg": "negative", "float": "number",
    "normal_cdf": "cdf", "floor": "whole", "ceil": "whole",
}  # fmt: skip
"""What a person would call an operation's result."""
LOOSE = 1
"""Comparisons and logic: always in parentheses inside another operation."""


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


class Frame(Protocol):
    """What a block of code belongs to: a plan of rows, or a part of a program."""

    @property
    def flat(self) -> bool:
        """Whether all elements are alike, so that no row shares anything."""
        ...

    def argument(self, node: Load | Element, /) -> Tensor:
        """The tensor that a load reads."""
        ...


@dataclass
class Scope:
    """One block of code in which expressions are written."""

    plan: Frame
    writer: Writer
    names: Names
    uses: Counter[str] = field(default_factory=Counter)

    BINDING: ClassVar[dict[str, int]] = {
        "add": 2, "sub": 2, "mul": 3, "div": 3, "reciprocal": 3, "quotient": 3, "remainder": 3,
        "neg": 4, "where": 0, "and": 0, "or": 0,
        "not": 4, "eq": 1, "ne": 1, "lt": 1, "le": 1, "gt": 1, "ge": 1,
    }  # fmt: skip
    """How tightly an operation's text holds together; anything else is a call."""
    GRIP: ClassVar[dict[str, int]] = dict(BINDING)
    """How tightly an operation's pattern holds its operands; anything else has parentheses of its own."""
    INLINE_LOADS: ClassVar[bool] = True
    """Whether a load may stand inside an expression."""
    LITERALS: ClassVar[dict[str, str]] = {}
    """How `true`, `false`, `nan` and `inf` are spelled."""

    def write(self, roots: Sequence[Expr], later: Sequence[Expr] = ()) -> list[str]:
        """The roots as text, after lines for whatever deserves a name.

        What `later` will need as well, from the same scope, counts as used.
        """
        every = [*roots, *later]
        self.uses = Counter(child.key for node in self._open(every) for child in node.children)
        self.uses.update(root.key for root in every)
        texts = [self._text(root) for root in roots]
        return [self.name(r, t) if len(t) > LONGEST else t for r, t in zip(roots, texts, strict=True)]

    def hoist(self, roots: Sequence[Expr]) -> None:
        """Name what the elements of a row share, before a loop over them."""
        if self.plan.flat:
            return
        shared = [
            child
            for node in reversed(self._open(roots))
            for child in node.children
            if COL in node.axes and COL not in child.axes and not isinstance(child, Const | Count)
        ]
        self.write([node for node in shared if node.key not in self.names.values])
        for node in shared:
            self.name(node, self._text(node))

    def name(self, node: Expr, text: str) -> str:
        """A name for the expression, declared unless it has one."""
        if node.key not in self.names.values:
            name = self.names.fresh(self._wanted(node))
            self.declare(name, text, node)
            self.names.values[node.key] = name
        return self.names.values[node.key]

    # What a language says.

    def declare(self, name: str, text: str, node: Expr) -> None:
        """Write the line that names a value."""
        raise NotImplementedError

    def count(self, node: Count) -> str:
        """A number of elements."""
        raise NotImplementedError

    def load(self, node: Load, tensor: Tensor, index: str | None) -> str:
        """One element, or one tile, of a tensor."""
        raise NotImplementedError

    def element(self, node: Element) -> str:
        """What lies at positions that are expressions."""
        raise NotImplementedError

    def operation(self, node: Call, operands: Sequence[str]) -> str:
        """A pointwise operation on operands that are wrapped already."""
        raise NotImplementedError

    # What is the same everywhere.

    def literal(self, node: Const) -> str:
        """A number, or a truth value."""
        if node.kind == "bool":
            return self.LITERALS["true" if node.value else "false"]
        if node.kind == "int":
            return str(int(node.value))
        if math.isnan(node.value):
            return self.LITERALS["nan"]
        if math.isinf(node.value):
            return "-" * (node.value < 0) + self.LITERALS["inf"]
        return repr(float(node.value))

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
                return self.literal(node)
            case Count():
                return self.count(node)
            case Load():
                index = None if node.at is None else self._text(node.at)
                text = self.load(node, self.plan.argument(node), index)
            case Element():
                text = self.element(node)
            case Call():
                text = self._call(node)
            case _:
                raise AssertionError(f"{node} is not computed yet")
        named = self.uses[node.key] > 1 or (isinstance(node, Load | Element) and not self.INLINE_LOADS)
        return self.name(node, text) if named else text

    def _call(self, node: Call) -> str:
        texts = [self._text(arg) for arg in node.args]
        if sum(map(len, texts)) > LONGEST:
            texts = [
                self.name(arg, text) if isinstance(arg, Call | Load | Element) else text
                for arg, text in zip(node.args, texts, strict=True)
            ]
        pairs = enumerate(zip(node.args, texts, strict=True))
        return self.operation(node, [self._wrapped(node.op, at, arg, text) for at, (arg, text) in pairs])

    def _wrapped(self, op: str, at: int, arg: Expr, text: str) -> str:
        """The operand in parentheses where the operator binds tighter than it."""
        if op not in self.GRIP or arg.key in self.names.values:
            return text
        if text.startswith("-") and (op == "neg" or (at == 1 and op in ("add", "sub", "mul", "div"))):
            return f"({text})"
        if not isinstance(arg, Call):
            return text
        inner, outer = self.BINDING.get(arg.op, 9), self.GRIP[op]
        right = at == 1 or op == "reciprocal"  # where an operator of the same strength would take what is left of it
        loose = inner < outer or (right and inner == outer) or inner <= LOOSE
        return f"({text})" if loose else text

    def _wanted(self, node: Expr) -> str:
        match node:
            case Load():
                return f"{self.plan.argument(node).identifier}_value"
            case Element():
                return f"{self.plan.argument(node).identifier}_value"
            case Call(kind="int"):
                return "position"
            case Call(op="div", args=(Reduce(), Count())):
                return "mean"
            case Call(op="mul", args=(a, b)) if a == b:
                return "square"
            case Call(kind="bool"):
                return "holds"
            case Call():
                return NAMES.get(node.op, node.op)
        return "value"


RESERVED = frozenset({
    "alignas", "and", "asm", "auto", "bool", "case", "catch", "char", "class", "const", "default",
    "delete", "do", "double", "enum", "explicit", "extern", "float", "for", "friend", "goto", "inline",
    "int", "long", "mutable", "namespace", "new", "not", "operator", "or", "private", "public",
    "register", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw",
    "true", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "out",
    "rows", "cols", "row", "col", "begin", "end", "block", "exp", "log", "erf", "tanh", "sqrt", "abs",
    "max", "min", "main", "std", "fast", "tl", "torch", "triton",
})  # fmt: skip
"""Words that mean something else in the sources."""


def identifiers(names: list[str]) -> list[str]:
    """Names as identifiers of both languages, all different."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"\W|^(?=\d)", "_", name).strip("_") or "x"
        while plain in out or plain in RESERVED or keyword.iskeyword(plain):
            plain += "_"
        out.append(plain)
    return out
