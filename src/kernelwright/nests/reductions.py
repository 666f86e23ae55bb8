"""What goes from one pass of a loop to the next and may yet be shared out: reductions, extremes with their company, scans."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.events import assigned, writes
from kernelwright.nests.heads import unconditional
from kernelwright.nests.loops import Loop
from kernelwright.nests.names import declared, mentions
from kernelwright.nests.syntax import LOOPS, bare, called, field, statements, text, walk

_TRUTHS = {"1": "||", "true": "||", "0": "&&", "false": "&&"}
"""What a flag is set to, and how flags that were set apart are combined."""
EXTREMES = {"fmin": "min", "fminf": "min", "min": "min", "fmax": "max", "fmaxf": "max", "max": "max"}
COMBINED = {"+=": "+", "-=": "+", "++": "+", "--": "+", "*=": "*", "&=": "&", "|=": "|", "^=": "^"}


@dataclass(frozen=True)
class Extreme:
    """`if (value < best) { best = value; at = i; }`."""

    node: Node
    best: str
    order: str
    """How a value that takes over compares with the best: `<`, `<=`, `>` or `>=`."""
    others: tuple[str, ...]
    """Scalars that go with it."""


@dataclass(frozen=True)
class Scan:
    """A running combination: its variable, and the statement that advances it."""

    variable: str
    operator: str
    update: Node


def reduction_of(body: Node, name: str) -> str:
    """The operator, where a body does nothing with a scalar but combine it; else empty."""
    spoken, operators = 0, set()
    for place, operator, value in writes(body):
        if text(place) == name:
            if not is_statement(place):
                return ""
            kind, mentioned = _combination(place, operator, value, name)
            operators.add(kind)
            spoken += mentioned
    total = sum(text(i) == name for i in walk(body, "identifier"))
    return operators.pop() if len(operators) == 1 and spoken == total else ""


def is_statement(place: Node) -> bool:
    """Whether a write is a statement of its own, so that nobody takes its value."""
    node = place.parent
    while node is not None and node.type in (
        "parenthesized_expression",
        "assignment_expression",
        "update_expression",
        "comma_expression",
    ):
        if (
            node.type == "assignment_expression"
            and not field(node, "left").start_byte <= place.start_byte < field(node, "left").end_byte
        ):
            return False
        node = node.parent
    return node is not None and node.type in ("expression_statement", "for_statement")


def _combination(place: Node, operator: str, value: Node | None, name: str) -> tuple[str, int]:
    """The operator of one update, and how often it speaks of the variable."""
    if operator in COMBINED:
        return ("", 0) if value is not None and mentions(value, name) else (COMBINED[operator], 1)
    if operator != "=" or value is None:
        return "", 0
    value = bare(value)
    if text(value) in _TRUTHS:
        return _TRUTHS[text(value)], 1
    if value.type == "binary_expression":
        return _binary(value, name)
    if value.type == "call_expression" and mentions(value, name):
        callee = called(value)
        given = [bare(g) for g in field(value, "arguments").named_children]
        own = [g for g in given if text(g) == name]
        return (
            (EXTREMES.get(callee, ""), 2) if len(own) == 1 and sum(mentions(g, name) for g in given) == 1 else ("", 0)
        )
    if value.type == "conditional_expression":
        return _chosen(field(value, "condition"), field(value, "consequence"), field(value, "alternative"), name, 3)
    guard = _guard(place)
    if guard is not None and not mentions(value, name):
        return _chosen(field(guard, "condition"), value, None, name, 2)
    return "", 0


def _binary(value: Node, name: str) -> tuple[str, int]:
    left, right, operator = bare(field(value, "left")), bare(field(value, "right")), text(field(value, "operator"))
    # a + b + s is (a + b) + s, and s + a + b is (s + a) + b.
    rest, deep = [right], left
    while deep.type == "binary_expression" and text(field(deep, "operator")) in (
        ("+", "-") if operator in "+-" else (operator,)
    ):
        rest.append(bare(field(deep, "right")))
        deep = bare(field(deep, "left"))
    if (
        text(deep) == name
        and operator in ("+", "-", "*", "&", "|", "^", "&&", "||")
        and not any(mentions(r, name) for r in rest)
    ):
        return ("+" if operator == "-" else operator), 2
    if text(right) == name and operator in ("+", "*", "&", "|", "^", "&&", "||") and not mentions(left, name):
        return operator, 2
    return "", 0


def _guard(place: Node) -> Node | None:
    """The `if` that an assignment stands in alone."""
    node = place.parent
    while node is not None and node.type in ("assignment_expression", "expression_statement", "compound_statement"):
        if node.type == "compound_statement" and len(node.named_children) != 1:
            return None
        node = node.parent
    return (
        node
        if node is not None and node.type == "if_statement" and node.child_by_field_name("alternative") is None
        else None
    )


def _chosen(condition: Node, taken: Node, other: Node | None, name: str, spoken: int) -> tuple[str, int]:
    """`value < name ? value : name`, in all its forms."""
    order = _order(condition, taken, name)
    if other is not None and text(bare(other)) != name:
        if text(bare(taken)) != name:
            return "", 0
        order, taken = _order(condition, other, name), other
        order = {"<": ">", "<=": ">", ">": "<", ">=": "<"}.get(order, "")
    return {"<": ("min", spoken), "<=": ("min", spoken), ">": ("max", spoken), ">=": ("max", spoken)}.get(
        order, ("", 0)
    )


def _order(condition: Node, value: Node, name: str) -> str:
    """How the value compares with the variable in a condition: `<` where it is less; empty: it does not."""
    asked = bare(condition)
    if asked.type != "binary_expression":
        return ""
    left, right, operator = bare(field(asked, "left")), bare(field(asked, "right")), text(field(asked, "operator"))
    said = [re.sub(r"\s", "", text(side)) for side in (left, right, bare(value))]
    if said[1] == name and said[0] == said[2]:
        return operator
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    return flipped.get(operator, "") if said[0] == name and said[1] == said[2] else ""


def extreme_of(body: Node, name: str) -> Extreme | None:
    """The statement that keeps the best of a body's values in a scalar, or what goes along with it."""
    for node in walk(body, "if_statement"):
        done = statements(field(node, "consequence"))
        given = {
            text(p): v for s in done for p, o, v in writes(s) if p.type == "identifier" and o == "=" and v is not None
        }
        order = next(
            (
                (b, o)
                for b, v in given.items()
                if (o := _order(field(node, "condition"), v, b)) in ("<", "<=", ">", ">=")
            ),
            None,
        )
        if (
            order is None
            or name not in given
            or node.child_by_field_name("alternative") is not None
            or len(given) != len(done)
        ):
            continue
        names = tuple(given)
        spoken = all(
            sum(text(i) == n for i in walk(body, "identifier")) == sum(text(i) == n for i in walk(node, "identifier"))
            for n in names
        )
        if spoken and not any(mentions(v, n) for v in given.values() for n in names):
            return Extreme(node, order[0], order[1], tuple(n for n in names if n != order[0]))
    return None


def _behind(body: Node, statement: Node, name: str) -> set[str]:
    """Variables that a pass computes a statement's operands from, the variable itself aside, or decides by."""
    given = [(text(n), o) for _, o, n in declared(body)]
    given += [(text(place), value) for place, _, value in writes(body) if value is not None]
    given += [(n, field(one, "condition")) for one in walk(body, "if_statement") for n in assigned(one)]
    given = [(n, value) for n, value in given if n != name]
    found, more = set[str](), {text(i) for i in walk(statement, "identifier")} - {name}
    while more - found:
        found |= more
        more = {text(i) for n, value in given if n in found for i in walk(value, "identifier")}
    return found


def scan_of(loop: Loop, body: Node, name: str) -> Scan | None:
    """A running sum, advanced once a pass and otherwise only read."""
    if loop.head is None or abs(loop.head.step) != 1 or any(walk(body, *LOOPS)):
        return None
    for statement in unconditional(body):
        operator = reduction_of(statement, name)
        done = [p for p, _, _ in writes(body) if text(p) == name]
        if (
            operator in ("+", "*", "min", "max")
            and len(done) == 1
            and statement.parent == body
            and name in assigned(statement)
            and name not in _behind(body, statement, name)
        ):
            return Scan(name, operator, statement)
    return None
