"""Structures: their members, and locals that are structures taken apart into a local for each member."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.edits import Edit, over
from kernelwright.nests.names import declarators, declared, declared_name, identifiers, type_of
from kernelwright.nests.syntax import bare, field, parse, text, walk

_PLACES = ("identifier", "subscript_expression", "field_expression", "pointer_expression")


@dataclass(frozen=True)
class Member:
    """Of a structure."""

    name: str
    kind: str
    stars: str
    value: str
    """What it begins with; empty: nothing is said."""


def fields(code: str, declaration: Node) -> list[tuple[str, str, str]]:
    """The fields of a declaration's structure: name, type, stars. Empty: it is none, or has arrays or structures in it."""
    return [(one.name, one.kind, one.stars) for one in _members(parse(code), declaration)]


def _members(root: Node, declaration: Node) -> list[Member]:
    named = re.sub(r"^(struct|class) ", "", text(field(declaration, "type"))).strip()
    for node in walk(root, "struct_specifier"):
        body, own = node.child_by_field_name("body"), node.child_by_field_name("name")
        outer = node.parent if node.parent and node.parent.type == "type_definition" else None
        names = [own, *(outer.children_by_field_name("declarator") if outer else [])]
        if body is not None and named in (text(n) for n in names if n is not None):
            return list(_listed(body))
    return []


def _listed(body: Node) -> Iterator[Member]:
    """The members; none at all where one is no plain variable."""
    found = list[Member]()
    for one in body.named_children:
        value = one.child_by_field_name("default_value")
        for d in declarators(one):
            if d.type not in ("field_identifier", "pointer_declarator") or one.type != "field_declaration":
                return
            stars = "*" * text(d).count("*")
            found.append(Member(text(declared_name(d)), type_of(one), stars, text(value) if value is not None else ""))
        if not declarators(one) and one.type != "comment":
            return
    yield from found


def taken_apart(function: Node) -> list[Edit] | None:
    """A local structure becomes locals for its members, where it is spoken of member by member or given as a whole."""
    root = function
    while root.parent is not None:
        root = root.parent
    for declaration, one, name in declared(field(function, "body")):
        members = _members(root, declaration)
        plain = declaration.type == "declaration" and len(declarators(declaration)) == 1
        if not members or not plain or "static" in text(declaration).split():
            continue
        inner = field(one, "declarator") if one.type == "init_declarator" else one
        made = _made(declaration, one, text(name), members) if inner.type == "identifier" else None
        used = _uses(function, name, members) if made is not None else None
        if made is not None and used is not None:
            return [over(declaration, made), *used]
    return None


def _made(declaration: Node, one: Node, variable: str, members: list[Member]) -> str | None:
    """The locals, with what they begin with."""
    value = bare(field(one, "value")) if one.type == "init_declarator" else None
    given = _given(value, members) if value is not None else [m.value for m in members]
    if given is None or (value is not None and variable in identifiers(value)):
        return None
    constant = "const " if "const" in type_of(declaration).split() and all(given) else ""
    parts = zip(members, given, strict=True)
    return " ".join(
        f"{constant if not m.stars else ''}{m.kind} {m.stars}{variable}__{m.name}{f' = {g}' if g else ''};"
        for m, g in parts
    )


def _given(value: Node, members: list[Member]) -> list[str] | None:
    """What each member gets of a value; None: nobody can say."""
    value = bare(value)
    if value.type == "compound_literal_expression":
        value = field(value, "value")
    if value.type in _PLACES and not any(walk(value, "update_expression", "call_expression", "assignment_expression")):
        return [
            f"({text(value)}).{m.name}" if value.type != "identifier" else f"{text(value)}.{m.name}" for m in members
        ]
    if value.type != "initializer_list":
        return None
    parts = [one for one in value.named_children if one.type != "comment"]
    pairs = [one for one in parts if one.type == "initializer_pair"]
    if (pairs and len(pairs) != len(parts)) or len(parts) > len(members):
        return None
    said = {text(field(p, "designator")).lstrip("."): text(field(p, "value")) for p in pairs}
    said |= {} if pairs else {m.name: text(p) for m, p in zip(members, parts, strict=False)}
    return [said.get(m.name) or m.value or ("0" if _number(m) else "{}") for m in members]


def _number(member: Member) -> bool:
    return bool(re.fullmatch(r"(const |unsigned |signed |long |short )*(float|double|int|char|long|short|unsigned|bool|\w+_t)",
                             member.kind)) or bool(member.stars)  # fmt: skip


def _uses(function: Node, name: Node, members: list[Member]) -> list[Edit] | None:
    """Edits for all that is said of the variable; None: something else is done with it."""
    variable, found = text(name), dict[int, Edit]()
    for i in walk(function, "identifier"):
        if text(i) != variable or i == name:
            continue
        node = i
        while node.parent is not None and node.parent.type == "parenthesized_expression":
            node = node.parent
        outer = node.parent
        if outer is not None and outer.type == "field_expression" and text(field(outer, "operator")) == ".":
            found[outer.start_byte] = over(outer, f"{variable}__{text(field(outer, 'field'))}")
            continue
        edit = _whole(outer, node, variable, members) if outer is not None else None
        if edit is None:
            return None
        found[edit[0]] = edit
    return list(found.values())


def _whole(outer: Node, node: Node, variable: str, members: list[Member]) -> Edit | None:
    """An assignment of the whole structure, or to it, member by member."""
    statement = outer.parent
    if outer.type != "assignment_expression" or statement is None or statement.type != "expression_statement":
        return None
    left, right = bare(field(outer, "left")), bare(field(outer, "right"))
    if text(field(outer, "operator")) != "=":
        return None
    if left == bare(node):
        given = _given(right, members)
        if given is None or variable in identifiers(right):
            return None
        return over(
            statement, f"{{ {' '.join(f'{variable}__{m.name} = {g};' for m, g in zip(members, given, strict=True))} }}"
        )
    places = _given(left, members) if left.type in _PLACES and variable not in identifiers(left) else None
    if places is None:
        return None
    return over(
        statement, f"{{ {' '.join(f'{p} = {variable}__{m.name};' for m, p in zip(members, places, strict=True))} }}"
    )
