"""What expressions are worth: whole numbers over the variables of loops, and places in arrays.

What is no linear function of these variables is any place of its array (None). Pointers that walk, rows (`float* row = a +
i * n`) and arrays of arrays all become subscripts of what they point into.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernelwright.nests.heads import WHOLE
from kernelwright.nests.loops import ANYWHERE, Linear, Value
from kernelwright.nests.syntax import bare, bare_expression, field, text
from kernelwright.nests.widths import kinds_around, unsigned_bits, width

BYTES = {
    "float": 4,
    "int": 4,
    "double": 8,
    "long": 8,
    "unsigned": 4,
    "unsigned char": 1,
    "char": 1,
    "bool": 1,
    "short": 2,
}
CONSTANTS = {"INT_MAX": 2**31 - 1, "NULL": 0, "true": 1, "false": 0}


@dataclass(frozen=True)
class Pointer:
    """An array, and an offset in it."""

    array: str
    offset: Value
    extents: tuple[int | None, ...] = ()
    """Of what it points to: for `float (*a)[8]` eight."""
    unit: str = ""
    """The type of an element."""
    element: bool = False
    """It is an element's place: what is there, were it a pointer, leads anywhere."""


LOST = Pointer(ANYWHERE, None)
"""A pointer of which nothing is known."""


class Values:
    """What is known at one place of the text, as a reader walks through it."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.known: dict[str, Value] = {name: Linear({}, value) for name, value in sizes.items()}
        self.pointers: dict[str, Pointer] = {}
        self.elements: dict[str, int] = {}
        """Bytes of an element, by array."""
        self.united = False
        """Whether members of one structure may overlap."""
        self.lows: dict[str, int] = {}
        """By loop variable, the least value it has, where that is known."""

    def asked(self, condition: Node) -> str:
        """A condition as a constraint; what cannot be one asks nothing."""
        condition = bare(condition)
        if condition.type != "binary_expression":
            return ""
        left, right, operator = field(condition, "left"), field(condition, "right"), text(field(condition, "operator"))
        if operator == "&&":
            return " and ".join(filter(None, (self.asked(left), self.asked(right))))
        values = self.value(left), self.value(right)
        if None in values or operator not in ("<", "<=", ">", ">=", "==", "!="):
            return ""
        if not self._ordered(condition, *values):
            return ""
        return f"{values[0]} {operator.replace('==', '=')} {values[1]}"

    def _ordered(self, comparison: Node, *sides: Value) -> bool:
        """Whether C compares both sides as whole numbers: without a sign, one below zero would be a large one."""
        least = [self.least(side) for side in sides]
        below = any(one is None or one < 0 for one in least)
        return not below or not unsigned_bits(comparison, kinds_around(comparison))

    def is_place(self, node: Node) -> bool:
        """Whether an expression is a place in memory that a pointer leads to."""
        while node.type in ("field_expression", "parenthesized_expression"):
            if node.type == "field_expression" and text(field(node, "operator")) == "->":
                return True
            node = bare(node) if node.type == "parenthesized_expression" else field(node, "argument")
        if node.type == "pointer_expression":
            return text(field(node, "operator")) == "*"
        return node.type == "subscript_expression" or (node.type == "identifier" and text(node) in self.pointers)

    def place(self, node: Node) -> Pointer | None:
        """The array, the place in it, and what subscripts count."""
        node = bare(node)
        if node.type == "field_expression":
            dotted = text(field(node, "operator")) == "."
            inner = (self.place if dotted else self._dereferenced)(field(node, "argument"))
            if inner is None or inner.array == ANYWHERE or self.united:
                return inner
            return replace(inner, array=f"{inner.array}.{text(field(node, 'field'))}")
        if node.type == "pointer_expression":
            return self._dereferenced(field(node, "argument"))
        return self._placed(self._target(node)) if node.type == "subscript_expression" else None

    def _dereferenced(self, node: Node) -> Pointer | None:
        return self._placed(self.target(node))

    def _placed(self, target: Pointer | None) -> Pointer | None:
        return replace(target, offset=None) if target and target.extents else target

    def target(self, node: Node) -> Pointer | None:
        """What an expression points to."""
        found = self._target(node)
        return LOST if found is not None and found.element else found

    def _target(self, node: Node) -> Pointer | None:
        node = bare(node)
        if node.type == "identifier":
            return self.pointers.get(text(node))
        if node.type == "cast_expression":
            return self._cast(field(node, "value"), text(field(node, "type")))
        if node.type == "call_expression":
            return self._called(node)
        if node.type == "pointer_expression" and text(field(node, "operator")) == "&":
            found = self._target(field(node, "argument"))
            return found and (replace(found, element=False) if found.element else LOST)
        if node.type == "binary_expression" and text(field(node, "operator")) in "+-":
            return self._stepped(field(node, "left"), field(node, "right"), text(field(node, "operator")))
        if node.type == "subscript_expression":
            found = self.target(field(node, "argument"))
            for index in indices(node) if found else ():
                found = self._inner(found, self.value(index)) if found and not found.element else LOST
            return found
        return None

    def _called(self, node: Node) -> Pointer | None:
        """C++'s casts, and `v.data()`."""
        function = field(node, "function")
        cast = re.fullmatch(r"(?:static|reinterpret|const)_cast<(.*)>", text(function), re.DOTALL)
        if cast:
            return self._cast(field(node, "arguments").named_children[0], cast[1])
        data = function.type == "field_expression" and text(field(function, "field")) == "data"
        return self.target(field(function, "argument")) if data else None

    def _cast(self, value: Node, kind: str) -> Pointer | None:
        """The same place in other units."""
        inner = self.target(value)
        if inner is None:
            return None
        rows = re.findall(r"\[([^\]]+)\]", kind)
        sizes = [self.value(bare_expression(size)) for size in rows]
        extents = tuple(size.constant if size and not size.factors else None for size in sizes)
        unit = unit_of(kind)
        begins = inner.offset is not None and not inner.offset.factors and not inner.offset.constant
        return Pointer(inner.array, inner.offset if begins or unit == inner.unit else None, extents, unit)

    def _stepped(self, left: Node, right: Node, operator: str) -> Pointer | None:
        pointer, by = self.target(left), self.value(right)
        if pointer is None and operator == "+":
            pointer, by = self.target(right), self.value(left)
        if pointer is None:
            return None
        size = product(pointer.extents)
        moved = pointer.offset.plus(by, size if operator == "+" else -size) if by and pointer.offset and size else None
        return replace(pointer, offset=moved)

    def _inner(self, pointer: Pointer, index: Value) -> Pointer:
        size = product(pointer.extents)
        place = pointer.offset.plus(index, size) if index and pointer.offset and size else None
        return replace(pointer, offset=place, extents=pointer.extents[1:], element=not pointer.extents)

    def value(self, node: Node) -> Value:
        """A whole number over the loops' variables; None: it is something else."""
        node = bare(node)
        if node.type in ("number_literal", "identifier", "sizeof_expression"):
            return self._leaf(node)
        if node.type == "cast_expression":
            kind = text(field(node, "type"))
            return within(self.value(field(node, "value")), kind) if WHOLE.match(kind) else None
        if node.type == "call_expression" and text(field(node, "function")).startswith("static_cast"):
            kind = text(field(node, "function")).partition("<")[2].rstrip("> ")
            return within(self.value(field(node, "arguments").named_children[0]), kind)
        if node.type == "unary_expression" and text(field(node, "operator")) in "+-":
            inner = self.value(field(node, "argument"))
            return Linear().plus(inner, -1 if text(field(node, "operator")) == "-" else 1) if inner else None
        if node.type == "conditional_expression":
            return self._chosen(node)
        if node.type == "binary_expression":
            left, right = self.value(field(node, "left")), self.value(field(node, "right"))
            if text(field(node, "operator")) == "-" and not left and not right:
                return self._between(field(node, "left"), field(node, "right"))
            return self._combined(left, right, text(field(node, "operator"))) if left and right else None
        return None

    def _between(self, left: Node, right: Node) -> Value:
        """How many elements lie between two pointers."""
        far, near = self.target(left), self.target(right)
        if not far or not near or far.offset is None or near.offset is None or far.extents or near.extents:
            return None
        same = far.array == near.array and far.unit == near.unit
        return far.offset.plus(near.offset, -1) if same else None

    def _leaf(self, node: Node) -> Value:
        said = text(node)
        if node.type == "number_literal":
            digits = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)[uUlLzZ]*", said)
            whole = int(digits[2], 0 if digits[2][:2] in ("0x", "0X") else 10) if digits else 0
            return Linear({}, -whole if digits and digits[1] else whole) if digits else None
        if node.type == "sizeof_expression":
            inner = said.removeprefix("sizeof").strip(" ()")
            of_array = re.fullmatch(r"\* ?(\w+)|(\w+)\[0\]", inner)
            size = self.elements.get(of_array[1] or of_array[2]) if of_array else BYTES.get(inner)
            return Linear({}, size) if size else None
        return self.known.get(said) or (Linear({}, CONSTANTS[said]) if said in CONSTANTS else None)

    def _chosen(self, node: Node) -> Value:
        asked = bare(field(node, "condition"))
        sides = (
            [self.value(field(asked, side)) for side in ("left", "right")] if asked.type == "binary_expression" else []
        )
        span = sides[0].plus(sides[1], -1) if len(sides) == 2 and sides[0] and sides[1] else None
        if span is None or span.factors or not self._ordered(asked, *sides):
            return None
        left, right = span.constant, 0
        told = {
            "<": left < right,
            ">": left > right,
            "<=": left <= right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
        }
        operator = text(field(asked, "operator"))
        return self.value(field(node, "consequence" if told[operator] else "alternative")) if operator in told else None

    def _combined(self, left: Linear, right: Linear, operator: str) -> Value:
        if operator in ("+", "-"):
            return left.plus(right, 1 if operator == "+" else -1)
        if operator == "*" and (not left.factors or not right.factors):
            number, other = (left, right) if not left.factors else (right, left)
            return Linear().plus(other, number.constant)
        if operator == "<<" and not right.factors and 0 <= right.constant < 40:
            return Linear().plus(left, 1 << right.constant)
        if operator in ("/", "%", ">>", "&") and not right.factors:
            return self._quotient(left, right.constant, operator)
        return None

    def _quotient(self, left: Linear, number: int, operator: str) -> Value:
        """C rounds towards zero, constraints downwards: the same where nothing is negative."""
        if operator == "&":
            operator, number = "%", number + 1
            if number & (number - 1):
                return None
        by = 1 << number if operator == ">>" else number
        if by > 0 and operator in ("/", ">>") and not any(f % by for f in (*left.factors.values(), left.constant)):
            return Linear({v: f // by for v, f in left.factors.items()}, left.constant // by)
        least = self.least(left)
        if by <= 0 or least is None or least < 0:
            return None
        whole = Linear({}, left.constant // by) if not left.factors else Linear({f"floor({left}/{by})": 1})
        return whole if operator in ("/", ">>") else left.plus(whole, -by)

    def least(self, value: Value) -> int | None:
        """A number that a value is never below."""
        if value is None:
            return None
        total = value.constant
        for variable, factor in value.factors.items():
            low = 0 if variable.startswith("floor") else self.lows.get(variable)
            if low is None or factor < 0:
                return None
            total += factor * low
        return total


def within(value: Value, kind: str) -> Value:
    """A value in a variable of a type; None: one that is narrow may have wrapped around."""
    own = width(kind)
    kept = value is None or own.bits >= 32 or (not value.factors and own.holds(value.constant))
    return value if kept else None


def unit_of(kind: str) -> str:
    """The type of an element, of a type as it is written."""
    held = re.match(r"(?:const )?std::(?:vector|array)<([^<,>]*)", kind)
    return re.sub(r"\b(const|struct|restrict|volatile)\b|[*&(].*", "", held[1] if held else kind).strip()


def product(extents: tuple[int | None, ...]) -> int:
    """How many elements; zero: nobody knows."""
    total = 1
    for extent in extents:
        total *= extent or 0
    return total


def indices(node: Node) -> list[Node]:
    """Of a subscript."""
    found = node.child_by_field_name("indices") or node.child_by_field_name("index")
    return (
        list(found.named_children)
        if found is not None and found.type == "subscript_argument_list"
        else [found]
        if found
        else []
    )
