"""How wide whole numbers are, and where counting in C is not counting in mathematics: numbers that wrap around, and signs.

A loop whose passes a formula would get wrong has no head: it is run as it stands, or refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.events import writes
from kernelwright.nests.names import declared, identifiers, type_of
from kernelwright.nests.syntax import bare, bare_expression, field, text, walk

_UNSIGNED = re.compile(r"\b(unsigned|size_t|uint\w*_t|size_type)\b|\b\d\w*[uU]|\bsizeof\b|\b(size|length|strlen) ?\(")
LARGE = 1 << 16
"""A step that is longer could wrap around at any end."""


@dataclass(frozen=True)
class Width:
    """Of a type of whole numbers."""

    bits: int
    signed: bool

    @property
    def wraps(self) -> bool:
        """Whether a step behind its last number leads to its first; of an `int` or a `long` that is undefined."""
        return not self.signed or self.bits < 32

    def holds(self, number: int) -> bool:
        """Whether it is one of its numbers."""
        least = -(1 << self.bits - 1) if self.signed else 0
        return least <= number < least + (1 << self.bits)


def width(kind: str) -> Width:
    """Of a type as it is written."""
    plain = re.sub(r"\b(const|constexpr|std::)\b|std::", "", kind).strip()
    sized = re.search(r"int(8|16|32|64)_t", plain)
    small = {"char": 8, "bool": 8, "short": 16}
    named = next((bits for word, bits in small.items() if re.search(rf"\b{word}\b", plain)), 32)
    bits = int(sized[1]) if sized else 64 if re.search(r"\blong\b|size_t|ptrdiff_t", plain) else named
    return Width(bits, not re.search(r"\bunsigned\b|\bu?size_t\b|\buint|\bbool\b", plain) or "ssize_t" in plain)


def kinds_around(node: Node) -> dict[str, str]:
    """The types of what the function around a node declares; none where all of the file has signs."""
    root = node
    while root.parent is not None:
        root = root.parent
        if root.type == "function_definition":
            break
    if not _UNSIGNED.search(text(root)):
        return {}
    return {text(name): type_of(declaration) for declaration, _, name in declared(root)}


def unsigned_bits(node: Node, kinds: Mapping[str, str]) -> int:
    """The bits of the widest number without a sign that an expression speaks of, once it is computed with; 0: of none."""
    said = [width(kinds[i]) for i in identifiers(node) if i in kinds]
    said += [width(text(field(c, "type"))) for c in walk(node, "cast_expression")]
    found = [one.bits for one in said if not one.signed and one.bits >= 32]
    rest = _UNSIGNED.search(re.sub(r"\buint(8|16)_t\b|\bunsigned (char|short)\b", "", text(node)))
    return max([*found, 64 if rest else 0])


def never_negative(said: str, loop: Node, depth: int = 3) -> bool:
    """Whether an expression is a sum of literals and of variables that only ever grow from such ones."""
    node = bare(bare_expression(said))
    if node.type == "number_literal":
        return True
    if node.type == "binary_expression" and text(field(node, "operator")) in ("+", "*"):
        return all(never_negative(text(field(node, side)), loop, depth) for side in ("left", "right"))
    given = _given(text(node), loop) if node.type == "identifier" and depth else None
    return bool(given) and all(never_negative(one, loop, depth - 1) for one in given or [] if one != text(node))


def _given(name: str, node: Node) -> list[str] | None:
    """All that a variable is made of; None: it also shrinks, or begins as nobody knows what."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    first = [one.child_by_field_name("value") for _, one, n in declared(node) if text(n) == name]
    steps = [(operator, value) for place, operator, value in writes(node) if text(place) == name]
    later = [value for operator, value in steps if operator != "++"]
    if not {operator for operator, _ in steps} <= {"++", "+=", "="}:
        return None
    return None if None in (*first, *later) else [text(value) for value in (*first, *later) if value is not None]


def _number(said: str) -> int | None:
    digits = re.fullmatch(r"\(*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)*", said.strip())
    return int(digits[1], 0 if digits[1][:2] in ("0x", "0X") else 10) if digits else None


def compared_unsigned(kind: str, condition: Node, loop: Node) -> bool:
    """Whether a condition on a variable of this type may be one of numbers without a sign."""
    own = width(kind)
    return (not own.signed and own.bits >= 32) or unsigned_bits(condition, kinds_around(loop)) > 0


def as_counted(kind: str, low: str, order: str, high: Node, step: int, loop: Node) -> bool:
    """Whether the passes of a loop are those of a range of whole numbers from `low` to `high`."""
    own, kinds = width(kind), kinds_around(loop)
    against = unsigned_bits(high, kinds)
    if own.signed and against >= max(own.bits, 32) and not (step > 0 and never_negative(low, loop)):
        return False  # A negative number is then larger than all others.
    if own.wraps and own.bits < 64 and not never_negative(text(high), loop):
        known = [width(kinds[i]).bits for i in identifiers(high) if i in kinds]
        wider = max([0 if high.type == "identifier" and known else 32, *known])
        if wider > own.bits:
            return False  # OpenMP would make its end one of the variable's type: a negative one a large one.
    return not own.wraps or _unwrapped(own, low, order, text(high), step)


def _unwrapped(own: Width, low: str, order: str, high: str, step: int) -> bool:
    """Whether a variable that may wrap around does not before its loop ends.

    With a step that divides the number of values it would come by the same ones for ever, so that such a loop has no end.
    """
    end, far = _number(high), abs(step)
    even = far & (far - 1) == 0
    if order == "!=" and own.bits < 64:
        begins, ends = (low, high) if step > 0 else (high, low)
        return not own.signed and even and _number(begins) == 0 and bool(ends)
    if even:
        return True
    if step < 0:
        return not own.signed and end is not None and end >= far - (order == ">")
    if end is not None:
        return own.holds(end + far)
    return own.bits >= 32 and far < LARGE
