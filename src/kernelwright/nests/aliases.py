"""Declarations one by one; and other names of a place (references, `(&x)->f`, `std::swap`) as assignments to the place itself.

What follows reads one name for one place. A reference that cannot be replaced stays, and the reader refuses it.
"""

import re

from tree_sitter import Node

from kernelwright.nests.edits import Edit, over
from kernelwright.nests.events import assigned, variable_of, writes
from kernelwright.nests.names import declarators, declared, identifiers, type_of
from kernelwright.nests.syntax import bare, called, field, text, walk

_PLACES = ("identifier", "subscript_expression", "field_expression", "pointer_expression")


def pointed_back(function: Node) -> list[Edit] | None:
    """`(&x)->f` is `x.f`, and `*&x` is `x`."""
    for one in walk(function, "field_expression", "pointer_expression"):
        inner = bare(field(one, "argument"))
        if inner.type != "pointer_expression" or text(field(inner, "operator")) != "&":
            continue
        there = text(field(inner, "argument"))
        if one.type == "field_expression" and text(field(one, "operator")) == "->":
            return [over(one, f"{there}.{text(field(one, 'field'))}")]
        if one.type == "pointer_expression" and text(field(one, "operator")) == "*":
            return [over(one, f"({there})")]
    return None


def one_by_one(function: Node) -> list[Edit] | None:
    """A declaration is of one variable."""
    for declaration in walk(field(function, "body"), "declaration"):
        parts, block = declarators(declaration), declaration.parent
        if (
            len(parts) < 2
            or block is None
            or block.type != "compound_statement"
            or any(walk(declaration, "field_declaration_list"))
        ):
            continue
        kind = text(declaration)[: parts[0].start_byte - declaration.start_byte]
        return [over(declaration, " ".join(f"{kind}{text(one)};" for one in parts))]
    return None


def plain_arrays(function: Node) -> list[Edit] | None:
    """`std::array<T, 8> a;` is `T a[8];`, where nobody speaks of it but of its elements."""
    for declaration, one, name in declared(field(function, "body")):
        held = re.fullmatch(r"std::array<([\w ]+), ?(\w+)>", type_of(declaration))
        used = [i.parent for i in walk(function, "identifier") if text(i) == text(name) and i != name]
        if held and one.type == "identifier" and all(u is not None and u.type == "subscript_expression" for u in used):
            return [over(declaration, f"{held[1]} {text(name)}[{held[2]}];")]
    return None


def swapped(function: Node) -> list[Edit] | None:
    """`std::swap(x, y);` is three assignments."""
    for statement in walk(function, "expression_statement"):
        call = bare(statement.named_children[0]) if statement.named_children else statement
        if call.type != "call_expression" or called(call) != "swap":
            continue
        given, own = [text(one) for one in field(call, "arguments").named_children], f"held_{statement.start_byte}"
        if len(given) == 2 and not any(walk(field(call, "arguments"), "update_expression", "call_expression")):
            one, two = given
            return [over(statement, f"{{ auto {own} = {one}; {one} = {two}; {two} = {own}; }}")]
    return None


def named_once(function: Node) -> list[Edit] | None:
    """A local reference is the place that it stands for, where that stays the same; one to a value is a value."""
    for declaration, one, name in declared(field(function, "body")):
        if one.type != "init_declarator" or field(one, "declarator").type != "reference_declarator":
            continue
        if len(declarators(declaration)) != 1 or text(field(one, "declarator")).startswith("&&"):
            continue
        place, variable = bare(field(one, "value")), text(name)
        if place.type not in _PLACES or text(place).startswith("&"):
            if "const" in type_of(declaration).split():
                return [over(field(one, "declarator"), variable)]
            continue
        scope = declaration.parent
        if scope is None or not _stays(place, scope, variable):
            continue
        used = [i for i in walk(scope, "identifier") if text(i) == variable and i != name]
        return [over(declaration, ";"), *(over(i, _alone(place)) for i in used)]
    return None


def pointed_once(function: Node) -> list[Edit] | None:
    """A local pointer to a structure, of which only members are asked, is `&` of the structure."""
    for declaration, one, name in declared(field(function, "body")):
        if one.type != "init_declarator" or field(one, "declarator").type != "pointer_declarator":
            continue
        value, variable, scope = bare(field(one, "value")), text(name), declaration.parent
        if value.type != "pointer_expression" or text(field(value, "operator")) != "&" or scope is None:
            continue
        place = bare(field(value, "argument"))
        used = [i for i in walk(scope, "identifier") if text(i) == variable and i != name]
        asked = all(i.parent is not None and i.parent.type == "field_expression" for i in used)
        if asked and len(declarators(declaration)) == 1 and _stays(place, scope, variable):
            return [over(declaration, ";"), *(over(i, f"(&{text(place)})") for i in used)]
    return None


def _alone(place: Node) -> str:
    return f"({text(place)})" if place.type == "pointer_expression" else text(place)


def _stays(place: Node, scope: Node, variable: str) -> bool:
    """Whether an expression means the same place all through a block."""
    own = variable_of(place)
    read = identifiers(place) - ({own} if own and place.type != "subscript_expression" else set())
    stored = {text(found) for p, _, _ in writes(scope) if (found := _base(p)) is not None and text(found) != variable}
    deep = {text(b) for s in walk(place, *_PLACES[1:]) if s != place and (b := _base(s)) is not None}
    return not (read & assigned(scope)) and not (deep & stored) and not any(walk(place, "call_expression"))


def _base(place: Node) -> Node | None:
    while place.type in _PLACES[1:] or place.type == "parenthesized_expression":
        place = bare(place) if place.type == "parenthesized_expression" else field(place, "argument")
    return place if place.type == "identifier" else None


def by_reference(parameter: Node) -> bool:
    """Whether a parameter is another name for what it is given."""
    return field(parameter, "declarator").type == "reference_declarator"


def bound(parameter: Node, name: str, given: str) -> str:
    """A parameter that is a reference, as a local one."""
    constant = "const " if "const" in type_of(parameter).split() else ""
    return f"{constant}auto& {name} = {given};"
