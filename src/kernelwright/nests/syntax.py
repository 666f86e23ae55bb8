"""The syntax tree of a function, what its parts say of variables, and edits of its text.

tree-sitter parses; nobody else here speaks of its node types by the dozen. All code is ASCII, so that bytes are characters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_cpp.language()))
LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
JUMPS = ("break_statement", "return_statement", "goto_statement", "throw_statement")
TYPED = ("declaration", "parameter_declaration", "optional_parameter_declaration")
Edit = tuple[int, int, str]
Event = Literal["read", "written", "none"]


@lru_cache(maxsize=512)
def parse(code: str) -> Node:
    """The root of the tree."""
    return _PARSER.parse(code.encode("ascii", "replace")).root_node


def text(node: Node) -> str:
    """What stands in the code."""
    return (node.text or b"").decode()


def field(node: Node, name: str) -> Node:
    """A child that the grammar promises."""
    found = node.child_by_field_name(name)
    assert found is not None, f"{node.type} without {name}"
    return found


def walk(node: Node, *types: str) -> Iterator[Node]:
    """The node and all below it, in the order of the text; of these types alone if any are named."""
    if not types or node.type in types:
        yield node
    for child in node.children:
        yield from walk(child, *types)


def edited(code: str, edits: Iterable[Edit]) -> str:
    """The code with parts replaced; of two at one place the first comes first."""
    out, at = list[str](), 0
    for start, end, new in sorted(edits, key=lambda e: (e[0], e[1])):
        if start >= at:
            out += [code[at:start], new]
            at = end
    return "".join([*out, code[at:]])


def over(node: Node, new: str) -> Edit:
    """An edit that puts something in the node's place."""
    return node.start_byte, node.end_byte, new


def ahead(node: Node, new: str) -> Edit:
    """An edit that puts something before the node."""
    return node.start_byte, node.start_byte, new


def behind(node: Node, new: str) -> Edit:
    """An edit that puts something behind the node."""
    return node.end_byte, node.end_byte, new


def bare(node: Node) -> Node:
    """Without the parentheses around it."""
    while node.type in ("parenthesized_expression", "condition_clause") and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def bare_expression(said: str) -> Node:
    """The tree of an expression."""
    return bare(field(next(walk(parse(f"void f() {{ x = ({said}); }}"), "assignment_expression")), "right"))


def renamed(node: Node, own: Mapping[str, str]) -> str:
    """A node's text with other words for some identifiers."""
    names = (i for i in walk(node, "identifier") if text(i) in own)
    return edited(
        text(node), [(i.start_byte - node.start_byte, i.end_byte - node.start_byte, own[text(i)]) for i in names]
    )


def functions(root: Node) -> dict[str, Node]:
    """All functions that are defined, by name; members of a class are none."""
    found = {}
    for node in walk(root, "function_definition"):
        name, around = function_name(node), node.parent
        member = around is not None and around.type == "field_declaration_list"
        if name and not member and node.child_by_field_name("body"):
            found[name] = node
    return found


def function_name(node: Node) -> str:
    """Of a definition."""
    declarator = next(walk(field(node, "declarator"), "function_declarator"), None)
    return text(field(declarator, "declarator")) if declarator else ""


def parameters(function: Node) -> list[Node]:
    """Its declared parameters."""
    declarator = next(walk(field(function, "declarator"), "function_declarator"))
    found = field(declarator, "parameters").named_children
    return [p for p in found if p.type in TYPED and p.child_by_field_name("declarator")]


def declared_name(declarator: Node) -> Node:
    """The identifier within a declarator such as `*restrict a[8]`."""
    while declarator.type not in ("identifier", "field_identifier", "type_identifier"):
        inner = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type != "type_qualifier" and "modifier" not in c.type), None
        )
        if inner is None:
            return declarator
        declarator = inner
    return declarator


def declarators(declaration: Node) -> list[Node]:
    """What a declaration declares: declarators, with their initial value or without."""
    return declaration.children_by_field_name("declarator")


def declared(node: Node) -> Iterator[tuple[Node, Node, Node]]:
    """Every variable declared within: the declaration, its declarator, its identifier."""
    for declaration in walk(node, *TYPED):
        for one in declarators(declaration):
            yield declaration, one, declared_name(one)


def declared_names(node: Node) -> set[str]:
    """Names of all variables that are declared within."""
    return {text(name) for _, _, name in declared(node)}


def identifiers(node: Node) -> set[str]:
    """All identifiers within."""
    return {text(one) for one in walk(node, "identifier")}


def called(call: Node) -> str:
    """The name of the function that is called, without `std::` and what is between angle brackets."""
    return text(field(call, "function")).split("<")[0].removeprefix("std::")


def type_of(declaration: Node) -> str:
    """The declared type without its declarator: `const float`."""
    parts = [c for c in declaration.children if c.type in ("type_qualifier", "storage_class_specifier")]
    return " ".join([*(text(p) for p in parts if text(p) != "static"), text(field(declaration, "type"))])


def statements(node: Node) -> list[Node]:
    """Those of a block, or the one alone."""
    return list(node.named_children) if node.type in ("compound_statement", "else_clause") else [node]


def base_of(node: Node) -> Node:
    """What a place in memory is part of: `a` of `a[i].x`."""
    node = bare(node)
    while node.type in ("subscript_expression", "field_expression", "pointer_expression"):
        node = bare(field(node, "argument"))
    return node


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


def mentions(node: Node, name: str) -> bool:
    """Whether the identifier stands anywhere within."""
    return any(text(one) == name for one in walk(node, "identifier"))


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
