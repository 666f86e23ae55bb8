"""The syntax tree of a function.

tree-sitter parses; nobody else here speaks of its node types by the dozen. All code is ASCII, so that bytes are characters.
"""

from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_cpp.language()))
LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
JUMPS = ("break_statement", "return_statement", "goto_statement", "throw_statement")


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


def bare(node: Node) -> Node:
    """Without the parentheses around it."""
    while node.type in ("parenthesized_expression", "condition_clause") and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def bare_expression(said: str) -> Node:
    """The tree of an expression."""
    return bare(field(next(walk(parse(f"void f() {{ x = ({said}); }}"), "assignment_expression")), "right"))


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


def called(call: Node) -> str:
    """The name of the function that is called, without `std::` and what is between angle brackets."""
    return text(field(call, "function")).split("<")[0].removeprefix("std::")


def statements(node: Node) -> list[Node]:
    """Those of a block, or the one alone."""
    return list(node.named_children) if node.type in ("compound_statement", "else_clause") else [node]


def base_of(node: Node) -> Node:
    """What a place in memory is part of: `a` of `a[i].x`."""
    node = bare(node)
    while node.type in ("subscript_expression", "field_expression", "pointer_expression"):
        node = bare(field(node, "argument"))
    return node
