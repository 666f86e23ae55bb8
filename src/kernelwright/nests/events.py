"""What happens to variables: what is written within a part of the tree, and what is read before it is written."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from tree_sitter import Node

from kernelwright.nests.names import declarators, declared, declared_name, mentions, parameters, type_of
from kernelwright.nests.syntax import bare, called, field, functions, parse, text, walk

Event = Literal["read", "written", "none"]


def variable_of(place: Node) -> str:
    """The variable that a place is part of without a pointer's help: `s` of `s`, `s.x` and `s.v[k]`; empty: there is none."""
    place = bare(place)
    while place.type in ("field_expression", "subscript_expression"):
        inner = bare(field(place, "argument"))
        whole = inner.type == "field_expression" if place.type == "subscript_expression" else "->" not in _arrow(place)
        if not whole:
            return ""
        place = inner
    return text(place) if place.type == "identifier" else ""


def _arrow(place: Node) -> str:
    return text(field(place, "operator"))


GIVEN = "&"
"""The operator of what a call may write."""


def writes(node: Node) -> Iterator[tuple[Node, str, Node | None]]:
    """All that is written within: the place, the operator (`=`, `+=`, `++`; `&`: a call is given it), and the value."""
    for one in walk(node, "assignment_expression", "update_expression", "call_expression"):
        if one.type == "update_expression":
            yield bare(field(one, "argument")), text(field(one, "operator")), None
        elif one.type == "call_expression":
            yield from ((place, GIVEN, None) for place in given_away(one))
        else:
            yield bare(field(one, "left")), text(field(one, "operator")), field(one, "right")


@lru_cache(maxsize=1 << 14)
def given_away(call: Node) -> tuple[Node, ...]:
    """Places that a call may write: those whose address it gets, or a reference that is not constant."""
    root = call
    while root.parent is not None:
        root = root.parent
    taken, swaps = _taken(text(root)).get(called(call), ()), called(call) in ("swap", "exchange")
    found = list[Node]()
    for number, given in enumerate(field(call, "arguments").named_children):
        kind, place = taken[number] if number < len(taken) else "", bare(given)
        if kind == "reference" or swaps or (kind == "pointer" and place.type == "field_expression"):
            found.append(place)
        elif kind != "constant" and place.type == "pointer_expression" and text(field(place, "operator")) == "&":
            found.append(bare(field(place, "argument")))
    return tuple(found)


@lru_cache(maxsize=256)
def _taken(code: str) -> dict[str, tuple[str, ...]]:
    """By function of the file, how it takes each argument: `constant`, a `reference`, a `pointer`, or a value (empty)."""

    def kind(parameter: Node) -> str:
        if "const" in type_of(parameter).split():
            return "constant"
        declarator = field(parameter, "declarator")
        if declarator.type == "reference_declarator":
            return "reference"
        return "pointer" if any(walk(declarator, "pointer_declarator", "array_declarator")) else ""

    return {name: tuple(map(kind, parameters(function))) for name, function in functions(parse(code)).items()}


def assigned(node: Node) -> set[str]:
    """Names of variables that are given a value within, as a whole or in part; a declaration with a value gives one too."""
    names = {variable_of(place) for place, _, _ in writes(node)} - {""}
    return names | {text(name) for _, one, name in declared(node) if one.type == "init_declarator"}


def exposed(function: Node) -> set[str]:
    """Variables whose address is kept, so that more may happen to them than their name says."""
    taken = (n for n in walk(function, "pointer_expression") if text(field(n, "operator")) == "&")
    kept = (n for n in taken if n.parent is not None and n.parent.type != "argument_list")
    return {variable_of(field(n, "argument")) for n in kept} - {""}


def first_event(nodes: Sequence[Node], name: str) -> Event:
    """What happens first to a variable: `read` if it may be read as it was before, `written` if it surely is not."""
    for node in nodes:
        event = _event(node, name)
        if event != "none":
            return event
    return "none"


def _event(node: Node, name: str) -> Event:
    if node.type == "identifier":
        inner = node.parent is not None and node.parent.type == "declaration"
        return ("written" if inner else "read") if text(node) == name else "none"
    if node.type in _EVENTS:
        return _EVENTS[node.type](node, name)
    return first_event(node.named_children, name)


def _of_assignment(node: Node, name: str) -> Event:
    left, right = field(node, "left"), field(node, "right")
    if bare(left).type == "identifier" and text(field(node, "operator")) == "=":
        return first_event([right], name) if mentions(right, name) else _written(left, name)
    return first_event([right, left], name)


def _of_declaration(node: Node, name: str) -> Event:
    return first_event([one for one in declarators(node) if one.type != "identifier" or text(one) == name], name)


def _of_declarator(node: Node, name: str) -> Event:
    return "written" if text(declared_name(node)) == name else first_event(node.named_children, name)


def _of_initial(node: Node, name: str) -> Event:
    known = first_event([field(node, "value")], name)
    return known if known != "none" else _written(declared_name(node), name)


def _of_operator(node: Node, name: str) -> Event:
    left, right = field(node, "left"), field(node, "right")
    if text(field(node, "operator")) not in ("&&", "||"):
        return first_event([left, right], name)
    return _event(left, name) if mentions(left, name) else _perhaps(right, name)


def _written(place: Node, name: str) -> Event:
    return "written" if text(bare(place)) == name else "none"


def _of_do(node: Node, name: str) -> Event:
    """It is run once at least, but perhaps not to its end."""
    leaves = any(walk(field(node, "body"), "break_statement", "continue_statement"))
    return _perhaps(node, name) if leaves else first_event(node.named_children, name)


def _of_switch(node: Node, name: str) -> Event:
    known = _event(field(node, "condition"), name)
    ways = [first_event(case.named_children, name) for case in walk(node, "case_statement")]
    return known if known != "none" else "read" if "read" in ways else "none"


def _perhaps(node: Node, name: str) -> Event:
    return "read" if mentions(node, name) and _event_within(node, name) == "read" else "none"


def _event_within(node: Node, name: str) -> Event:
    return first_event(node.named_children, name) if node.named_children else _event(node, name)


def _either(node: Node, name: str) -> Event:
    known = _event(field(node, "condition"), name)
    if known != "none":
        return known
    ways = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
    events = [_event(way, name) if way is not None else "none" for way in ways]
    if "read" in events:
        return "read"
    return "written" if events == ["written", "written"] else "none"


def _of_loop(node: Node, name: str) -> Event:
    """The head is run once at least; the body perhaps never."""
    head = [node.child_by_field_name(part) for part in ("initializer", "right", "condition")]
    known = first_event([part for part in head if part is not None], name)
    if known != "none":
        return known
    rest = [node.child_by_field_name(part) for part in ("body", "update")]
    return "read" if first_event([part for part in rest if part is not None], name) == "read" else "none"


_EVENTS: dict[str, Callable[[Node, str], Event]] = {
    "assignment_expression": _of_assignment, "declaration": _of_declaration, "array_declarator": _of_declarator,
    "pointer_declarator": _of_declarator, "init_declarator": _of_initial, "binary_expression": _of_operator,
    "if_statement": _either, "conditional_expression": _either, "while_statement": _of_loop, "for_statement": _of_loop,
    "for_range_loop": _of_loop, "switch_statement": _of_switch, "do_statement": _of_do,
    "lambda_expression": _perhaps, "case_statement": _perhaps,
}  # fmt: skip
