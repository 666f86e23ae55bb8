"""Loops over a range, `for (auto v : x)`, as loops that count; and the largest or least of a list, `std::max({a, b, c})`."""

from collections.abc import Iterator
from functools import reduce

from tree_sitter import Node

from kernelwright.nests.edits import Edit, changed, over, renamed
from kernelwright.nests.names import declared_name
from kernelwright.nests.storage import length_of
from kernelwright.nests.syntax import called, field, text, walk


def counted(code: str) -> str:
    """The code without such loops over vectors and arrays of a length that is written there."""
    return changed(code, lambda root, number: (edits for find in (_loops, _lists) for edits in find(root, number)))


def _loops(root: Node, number: int) -> Iterator[list[Edit]]:
    for loop in walk(root, "for_range_loop"):
        one, over_what = field(loop, "declarator"), field(loop, "right")
        length = length_of(text(over_what), loop) if over_what.type == "identifier" else ""
        named = one.type == "identifier" or (
            one.type == "reference_declarator" and one.named_children[0].type == "identifier"
        )
        if not length or not named:
            continue
        at, name, body = f"at_range{number}", text(declared_name(one)), field(loop, "body")
        element = f"{text(over_what)}[{at}]"
        said = f"const auto {name} = {element}; {text(body)}"
        kind = text(field(loop, "type"))
        if one.type == "reference_declarator":
            said = renamed(body, {name: element})
        elif kind != "auto":
            said = f"{kind} {name} = {element}; {text(body)}"
        yield [over(loop, f"for (long {at} = 0; {at} < {length}; ++{at}) {{ {said} }}")]


def _lists(root: Node, _: int) -> Iterator[list[Edit]]:
    for call in walk(root, "call_expression"):
        given = field(call, "arguments").named_children
        if called(call) in ("max", "min") and len(given) == 1 and given[0].type == "initializer_list":
            function, values = text(field(call, "function")), [text(one) for one in given[0].named_children]
            yield [over(call, reduce(lambda a, b: f"{function}({a}, {b})", values))]
