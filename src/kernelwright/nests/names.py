"""What a function declares, and whom its code names."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.nests.syntax import field, text, walk

TYPED = ("declaration", "parameter_declaration", "optional_parameter_declaration")


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


def type_of(declaration: Node) -> str:
    """The declared type without its declarator: `const float`."""
    parts = [c for c in declaration.children if c.type in ("type_qualifier", "storage_class_specifier")]
    return " ".join([*(text(p) for p in parts if text(p) != "static"), text(field(declaration, "type"))])


def mentions(node: Node, name: str) -> bool:
    """Whether the identifier stands anywhere within."""
    return any(text(one) == name for one in walk(node, "identifier"))
