"""Edits of a code's text, said by the nodes of its tree."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from tree_sitter import Node

from kernelwright.nests.syntax import parse, text, walk

Edit = tuple[int, int, str]
ROUNDS = 100
"""Changes of one kind, beyond which code stays as it is."""


def edited(code: str, edits: Iterable[Edit]) -> str:
    """The code with parts replaced; of two at one place the first comes first."""
    out, at = list[str](), 0
    for start, end, new in sorted(edits, key=lambda e: (e[0], e[1])):
        if start >= at:
            out += [code[at:start], new]
            at = end
    return "".join([*out, code[at:]])


def changed(code: str, changes: Callable[[Node, int], Iterator[list[Edit]]]) -> str:
    """The code after the first of its changes again and again, until there is none; each is told which round it is."""
    for number in range(ROUNDS):
        made = next(changes(parse(code), number), None)
        if made is None:
            break
        code = edited(code, made)
    return code


def over(node: Node, new: str) -> Edit:
    """An edit that puts something in the node's place."""
    return node.start_byte, node.end_byte, new


def ahead(node: Node, new: str) -> Edit:
    """An edit that puts something before the node."""
    return node.start_byte, node.start_byte, new


def behind(node: Node, new: str) -> Edit:
    """An edit that puts something behind the node."""
    return node.end_byte, node.end_byte, new


def inside(body: Node, first: str = "", last: str = "") -> list[Edit]:
    """Edits that put something at the beginning and at the end of a body, within its own braces if it has any."""
    if body.type == "compound_statement":
        start, end = body.start_byte + 1, body.end_byte - 1
        return [(start, start, f" {first}"), (end, end, f"{last} ")]
    return [ahead(body, f"{{ {first}"), behind(body, f" {last} }}")]


def renamed(node: Node, own: Mapping[str, str]) -> str:
    """A node's text with other words for some identifiers."""
    names = (i for i in walk(node, "identifier") if text(i) in own)
    return edited(
        text(node), [(i.start_byte - node.start_byte, i.end_byte - node.start_byte, own[text(i)]) for i in names]
    )
