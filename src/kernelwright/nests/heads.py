"""The head of a loop that counts, and what surrounds a loop."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.events import assigned, writes
from kernelwright.nests.names import declarators, declared, identifiers, mentions, type_of
from kernelwright.nests.syntax import LOOPS, bare, bare_expression, base_of, field, text, walk
from kernelwright.nests.widths import as_counted, compared_unsigned

WHOLE = re.compile(
    r"^(const )?((unsigned|signed|long|short) ?)*(int|long|short|char|size_t|ssize_t|ptrdiff_t|u?int\d+_t|unsigned)?( const)?$"
)
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class Head:
    """`for (T variable = low; variable order high; variable += step)`."""

    variable: str
    low: str
    order: str
    high: str
    step: int
    kind: str = ""
    """The variable's type; empty: a pointer's."""

    @property
    def passes(self) -> str:
        """How often the body runs, as C: a `long`. The ends are compared as the loop compares them, signed or not."""
        low, high = f"{f'({self.kind})' if self.kind else ''}({self.low})", f"({self.high})"
        far, near = (high, low) if self.step > 0 else (low, high)
        span, by = f"(long)({far} - {near})", abs(self.step)
        more = by - 1 + ("=" in self.order)
        span = f"({span} + {more})" if more else span
        some = f"{low} {self.order} {high}" if self.kind else f"({far} - {near}{' + 1' * ('=' in self.order)}) > 0"
        return f"(({some}) ? {span}{f' / {by}' if by > 1 else ''} : 0L)"


def head_of(loop: Node) -> Head | None:
    """The head of a loop in normal form; None: it counts otherwise, or not at all."""
    first = loop.child_by_field_name("initializer") if loop.type == "for_statement" else None
    if first is None or first.type != "declaration" or len(declarators(first)) != 1:
        return None
    one = declarators(first)[0]
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    if (
        one.type != "init_declarator"
        or field(one, "declarator").type != "identifier"
        or condition is None
        or update is None
    ):
        return None
    variable, low = text(field(one, "declarator")), text(field(one, "value"))
    return counted_head(loop, variable, low, condition, update, type_of(first))


def counted_head(loop: Node, variable: str, low: str, condition: Node, update: Node, kind: str) -> Head | None:
    """The head of a loop with this variable, its type, and its first value."""
    whole = re.sub(r"\b(const|constexpr)\b", "", kind).replace("std::", "").strip()
    whole = whole if WHOLE.match(whole) else ""
    step, bound = (
        step_of(update, variable),
        bound_of(condition, variable, unsigned=bool(whole) and compared_unsigned(whole, condition, loop)),
    )
    if not step or bound is None:
        return None
    order, high = bound
    body = field(loop, "body")
    changed = assigned(body)
    if (identifiers(bare_expression(low)) & changed) - {variable}:
        return None
    if variable in changed or any(text(i) in changed for i in walk(high, "identifier")) or mentions(high, variable):
        return None
    stored = {text(base_of(place)) for place, _, _ in writes(body) if place.type != "identifier"}
    if any(
        text(base_of(read)) in stored
        for read in walk(high, "subscript_expression", "pointer_expression", "call_expression")
    ):
        return None
    if whole and not as_counted(whole, low, order, high, step, loop):
        return None
    order = order.replace("!=", "<" if step > 0 else ">")
    return Head(variable, low, order, text(high), step, whole) if (order[0] == "<") == (step > 0) else None


def step_of(update: Node, variable: str) -> int:
    """How far an expression moves the variable; 0: it does something else."""
    found = list(writes(update))
    if (
        len(found) != 1
        or text(found[0][0]) != variable
        or bare(update).type not in ("update_expression", "assignment_expression")
    ):
        return 0
    _, operator, value = found[0]
    if value is None:
        return 1 if operator == "++" else -1
    said = re.sub(r"[\s()]", "", text(value))
    if operator == "=":
        own = re.escape(variable)
        moved = re.fullmatch(rf"{own}([+-])(\d+)[uUlL]*", said) or re.fullmatch(rf"()(\d+)[uUlL]*\+{own}", said)
        return int(f"{moved[1]}{moved[2]}") if moved else 0
    amount = re.fullmatch(r"(\d+)[uUlL]*", said)
    return (int(amount[1]) if operator == "+=" else -int(amount[1])) if amount and operator in ("+=", "-=") else 0


def moved(statement: Node) -> tuple[str, int]:
    """The variable that a statement moves, and how far; zero: it does something else."""
    inside = statement.named_children if statement.type == "expression_statement" else []
    one = bare(inside[0]) if inside else statement
    variable = next((text(p) for p, _, _ in writes(one) if p.type == "identifier"), "") if inside else ""
    return variable, step_of(one, variable) if variable else 0


def bound_of(condition: Node, variable: str, *, unsigned: bool = False) -> tuple[str, Node] | None:
    """How a condition compares the variable, and with what; of numbers without a sign `i + 1 < n` is not `i < n - 1`."""
    condition = bare(condition)
    if condition.type == "identifier" and text(condition) == variable:
        return "!=", bare_expression("0")
    if condition.type != "binary_expression":
        return None
    left, right, order = (
        bare(field(condition, "left")),
        bare(field(condition, "right")),
        text(field(condition, "operator")),
    )
    if text(right) == variable and order in _FLIPPED:
        left, right, order = right, left, _FLIPPED[order]
    if (
        left.type == "binary_expression"
        and text(field(left, "operator")) in "+-"
        and text(field(left, "left")) == variable
    ):
        back = "-" if text(field(left, "operator")) == "+" else "+"
        far, by = f"({text(right)})", f"({text(field(left, 'right'))})"
        if unsigned and (back == "+" or order != "<"):
            return None
        right = bare_expression(f"({by} < {far} ? {far} - {by} : 0)" if unsigned else f"({far} {back} {by})")
        left = bare(field(left, "left"))
    return (order, right) if text(left) == variable and order in _FLIPPED else None


def types(function: Node) -> dict[str, tuple[str, bool]]:
    """By variable: its type as written, and whether it is a pointer or an array."""
    found = {}
    for declaration, one, name in declared(function):
        inner = field(one, "declarator") if one.type == "init_declarator" else one
        found[text(name)] = (type_of(declaration), any(walk(inner, "pointer_declarator", "array_declarator")))
    return found


def after(node: Node) -> Iterator[Node]:
    """What may be run after a node, in this order: the rest of its block, and of a loop around it all once more."""
    while node.parent is not None and node.type != "function_definition":
        parent = node.parent
        later = node.next_named_sibling if parent.type != "if_statement" else None
        while later is not None:
            yield later
            later = later.next_named_sibling
        if parent.type in LOOPS:
            parts = [parent.child_by_field_name(part) for part in ("update", "condition", "body")]
            yield from (part for part in parts if part is not None)
        node = parent


def unconditional(node: Node) -> Iterator[Node]:
    """The statements that every pass runs once, those of blocks within too."""
    for one in node.named_children if node.type == "compound_statement" else [node]:
        if one.type == "compound_statement":
            yield from unconditional(one)
        elif one.type not in ("comment",) and text(one) != ";":
            yield one


def leaves(body: Node, *types: str) -> bool:
    """Whether a jump of these types within a loop's body ends that loop's pass: not one that an inner loop takes."""

    def taken(jump: Node) -> bool:
        takers = {"break_statement": (*LOOPS, "switch_statement"), "continue_statement": LOOPS}.get(jump.type, ())
        node = jump.parent
        while node is not None and jump != body and node != body:
            if node.type in takers:
                return True
            node = node.parent
        return False

    return any(not taken(jump) for jump in walk(body, *types))
