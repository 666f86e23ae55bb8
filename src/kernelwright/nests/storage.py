"""Memory of a function's own, in one form: `T *t = (T *)malloc(bytes);` where it is declared, however the code asks for it.

`new T[n]`, smart pointers, `aligned_alloc`, casts of C++, and a pointer or vector that gets its length by the next statement
that speaks of it. What is freed in other ways is freed by `free`.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.nests.edits import Edit, changed, over
from kernelwright.nests.names import declared, mentions, type_of
from kernelwright.nests.syntax import called, field, text, walk

GIVING = ("malloc", "calloc", "aligned_alloc")
_CAST = re.compile(r"(static_cast|reinterpret_cast)<\s*([\w:]+(?: \w+)?)\s*\*\s*>")
_SMART = re.compile(r"(?:std::)?make_unique(?:_for_overwrite)?<([\w: ]+)\[\]>")
_OWNER = re.compile(r"(?:const )?(?:std::)?unique_ptr<([\w: ]+)\[\]>")


def in_one_form(code: str) -> str:
    """The code with all such memory in that form."""
    return changed(code, _changes)


def _changes(root: Node, _: int) -> Iterator[list[Edit]]:
    for call in walk(root, "call_expression"):
        yield from _plain_call(call)
    for new in walk(root, "new_expression"):
        yield from _without_new(new)
    for delete in walk(root, "delete_expression"):
        if "[" in text(delete)[:9]:
            yield [over(delete, f"free({text(delete.named_children[0])})")]
    for declaration, one, name in declared(root):
        yield from _owned(declaration, one, text(name))
        yield from _later(declaration, one, text(name))


def _plain_call(call: Node) -> Iterator[list[Edit]]:
    """A call without `std::`, of `malloc` alone, with a cast of C."""
    function, given = text(field(call, "function")), field(call, "arguments").named_children
    cast = _CAST.fullmatch(function)
    if function.startswith("std::") and called(call) in (*GIVING, "free"):
        yield [over(field(call, "function"), called(call))]
    elif function == "aligned_alloc" and len(given) == 2:
        yield [over(call, f"malloc({text(given[1])})")]
    elif cast and given and given[0].type == "call_expression" and called(given[0]) in GIVING:
        yield [over(call, f"({cast[2]} *){text(given[0])}")]


def _without_new(new: Node) -> Iterator[list[Edit]]:
    """`new T[n]`: its elements begin as zeros where it ends with empty parentheses or braces."""
    length, begun = new.child_by_field_name("declarator"), new.child_by_field_name("arguments")
    if length is None or length.type != "new_declarator" or text(length).count("[") != 1:
        return
    if begun is None or re.fullmatch(r"[({]\s*[)}]", text(begun)):
        yield [over(new, _given(text(field(new, "type")), text(length)[1:-1], begun is not None))]


def _given(kind: str, count: str, zeroed: bool) -> str:
    return f"({kind} *)" + (f"calloc({count}, sizeof({kind}))" if zeroed else f"malloc(({count}) * sizeof({kind}))")


def _owned(declaration: Node, one: Node, name: str) -> Iterator[list[Edit]]:
    """A pointer that frees what it leads to is a plain one; `t.get()` is that pointer."""
    value = one.child_by_field_name("value") if one.type == "init_declarator" else None
    if value is None:
        return
    inner = value.named_children[0] if value.type == "argument_list" and len(value.named_children) == 1 else value
    made = _SMART.fullmatch(text(field(inner, "function"))) if inner.type == "call_expression" else None
    owner = _OWNER.fullmatch(type_of(declaration))
    if made:
        said = _given(made[1], text(field(inner, "arguments"))[1:-1], zeroed="overwrite" not in text(inner))
    elif owner and "alloc(" in text(inner):
        said = text(inner)
    else:
        return
    got = [call for call in walk(_scope(declaration), "call_expression") if text(call) == f"{name}.get()"]
    kind = (made or owner)[1]  # type: ignore[index]
    yield [over(declaration, f"{kind} *{name} = {said};"), *(over(call, name) for call in got)]


def _later(declaration: Node, one: Node, name: str) -> Iterator[list[Edit]]:
    """A pointer or a vector that gets its memory by the next statement that speaks of it."""
    if one.type == "init_declarator" or declaration.type != "declaration":
        return
    following = declaration.next_named_sibling
    while following is not None and not mentions(following, name):
        following = following.next_named_sibling
    inner = following.named_children[0] if following is not None and following.type == "expression_statement" else None
    if following is None or inner is None or text(declaration) != f"{type_of(declaration)} {text(one)};":
        return
    if (
        inner.type == "assignment_expression"
        and text(field(inner, "left")) == name
        and one.type == "pointer_declarator"
    ):
        if re.match(rf"(\([^()]*\))?\s*({'|'.join(GIVING)})\(", text(field(inner, "right"))):
            said = f"{type_of(declaration)} {text(one)} = {text(field(inner, 'right'))};"
            yield [over(declaration, ""), over(following, said)]
    elif inner.type == "call_expression" and text(field(inner, "function")) in (f"{name}.resize", f"{name}.assign"):
        said = f"{type_of(declaration)} {name}{text(field(inner, 'arguments'))};"
        yield [over(declaration, ""), over(following, said)]


def length_of(name: str, node: Node) -> str:
    """The length of a vector or an array, as it was declared or as a vector says itself; empty: it is neither."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    said = text(node)
    over_range = re.search(rf"vector<[^;]*>\s+{name}\((\w+), \1 \+ ([^;()]+)\)", said)
    made = over_range or re.search(rf"vector<[^;]*>\s+{name}\(()([^;,()]+)(, [^;,()]+)?\)", said)
    made = made or re.search(rf"\b(?!return|delete)\w[\w ]*()\b{name}\[([^;\[\]]+)\](?=;| = \{{)", said)
    if made:
        return f"({made[2]})"
    return f"{name}.size()" if re.search(rf"vector<[\w: ]+>\s*(const)?\s*&?\s*{name}\b", said) else ""


def _scope(node: Node) -> Node:
    while node.parent is not None and node.type != "compound_statement":
        node = node.parent
    return node
