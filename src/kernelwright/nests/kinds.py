"""Of what type an expression is, as far as a file says it: `float`, `Vec`, `const`-free and without references."""

import re

from tree_sitter import Node

from kernelwright.nests.names import declared, type_of
from kernelwright.nests.syntax import bare, called, field, functions, parse, text, walk

NUMBERS = ("bool", "char", "short", "int", "unsigned", "long", "size_t", "float", "double")
"""Numbers, the ones that give way first."""
_TRUTHS = ("==", "!=", "<", ">", "<=", ">=", "&&", "||")
_LITERAL = re.compile(r"(?P<hex>0[xX][\da-fA-F]+)?[\d']*(?P<point>\.\d*)?(?P<power>[eE][+-]?\d+)?(?P<end>[fFuUlL]*)")
_ALIKE = {"std::size_t": "size_t", "unsigned int": "unsigned", "long int": "long", "std::ptrdiff_t": "long"}
_FOR_WHOLE = ("abs", "min", "max", "swap", "clamp")
"""Functions of the standard library that are not of floating point alone."""


def plain_type(said: str) -> str:
    """A type without what does not matter to a value of it."""
    kind = re.sub(r"\b(const|constexpr|static|inline|typename|struct)\b|&", "", said)
    kind = re.sub(r"\s*(\*+)\s*", r"\1", re.sub(r"\s+", " ", kind)).strip()
    return _ALIKE.get(kind, kind)


def declared_kind(declaration: Node, one: Node) -> str:
    """Of a variable: its type with stars; `auto` where nothing is said; empty: an array of arrays or the like."""
    inner = field(one, "declarator") if one.type == "init_declarator" else one
    if any(walk(inner, "function_declarator", "structured_binding_declarator")):
        return ""
    said = text(inner)
    return plain_type(f"{type_of(declaration)} {'*' * (said.count('*') + said.count('['))}")


def returned(function: Node) -> str:
    """The declared type of what a function returns; of a lambda that says none, empty."""
    if function.type == "lambda_expression":
        trailing = next(walk(field(function, "declarator"), "trailing_return_type"), None)
        return plain_type(text(trailing).removeprefix("->")) if trailing is not None else ""
    return plain_type(type_of(function) + "*" * led(function))


def led(function: Node) -> int:
    """How many pointers lead to what a function returns."""
    return len(
        [n for n in walk(field(function, "declarator"), "pointer_declarator") if any(walk(n, "function_declarator"))]
    )


class Kinds:
    """Of the variables of one function of a file, and of expressions over them."""

    def __init__(self, root: Node, function: Node) -> None:
        self.known = functions(root)
        self.members = {
            text(field(s, "name")): {text(n): declared_kind(d, o) for d, o, n in _fields(s)}
            for s in walk(root, "struct_specifier")
            if s.child_by_field_name("body") and s.child_by_field_name("name")
        }
        self.names: dict[str, str] = {}
        self.lambdas: dict[str, Node] = {}
        for declaration, one, name in declared(function):
            value = one.child_by_field_name("value") if one.type == "init_declarator" else None
            if value is not None and value.type == "lambda_expression":
                self.lambdas[text(name)] = value
            kind = declared_kind(declaration, one)
            self.names[text(name)] = self.of(value) if kind == "auto" and value is not None else kind

    def of(self, node: Node) -> str:
        """The type; empty: nobody can say."""
        node = bare(node)
        return getattr(self, f"_{node.type}", self._odd)(node)

    def _odd(self, node: Node) -> str:
        return {"true": "bool", "false": "bool", "char_literal": "char"}.get(node.type, "")

    def _number_literal(self, node: Node) -> str:
        said = _LITERAL.fullmatch(text(node))
        end = said["end"].lower() if said else ""
        if said and (said["point"] or said["power"]):
            return "float" if end == "f" else "double"
        return {"": "int", "u": "unsigned", "l": "long", "ll": "long"}.get(end, "size_t")

    def _identifier(self, node: Node) -> str:
        return self.names.get(text(node), "").removeprefix("auto")

    def _field_expression(self, node: Node) -> str:
        inner = self.of(field(node, "argument")).rstrip("*")
        return self.members.get(inner, {}).get(text(field(node, "field")), "")

    def _subscript_expression(self, node: Node) -> str:
        inner = self.of(field(node, "argument"))
        return inner[:-1] if inner.endswith("*") else ""

    def _pointer_expression(self, node: Node) -> str:
        inner = self.of(field(node, "argument"))
        return f"{inner}*" if inner and text(node)[0] == "&" else inner[:-1] if inner.endswith("*") else ""

    def _call_expression(self, node: Node) -> str:
        function, name = field(node, "function"), called(node)
        given = [self.of(one) for one in field(node, "arguments").named_children]
        told = re.fullmatch(r"(?:std::)?(?:static_cast<(.*)>|numeric_limits<(.*)>::\w+)", text(function))
        if told:
            return plain_type(told[1] or told[2])
        if name in self.known:
            return returned(self.known[name])
        if name in self.lambdas:
            return self.of_lambda(self.lambdas[name])
        if name in NUMBERS or name in self.members:
            return name
        if name.startswith(_FOR_WHOLE):
            return self._common(given)
        return ("float" if given[:1] == ["float"] or name.endswith("f") else "double") if given else ""

    def of_lambda(self, node: Node) -> str:
        """What a lambda returns."""
        gives = next(walk(field(node, "body"), "return_statement"), None)
        return returned(node) or (self.of(gives.named_children[0]) if gives and gives.named_children else "void")

    def _binary_expression(self, node: Node) -> str:
        sides = [self.of(field(node, side)) for side in ("left", "right")]
        operator = text(field(node, "operator"))
        if operator in _TRUTHS:
            return "bool"
        pointers = [side for side in sides if side.endswith("*")]
        if pointers:
            return "long" if len(pointers) == 2 else pointers[0]
        return self._common(sides)

    def _common(self, kinds: list[str]) -> str:
        if any(kind not in NUMBERS for kind in kinds):
            return kinds[0] if len(set(kinds)) == 1 and kinds[0] in self.members else ""
        return max([*kinds, "int"] if len(kinds) > 1 else kinds, key=NUMBERS.index)

    def _conditional_expression(self, node: Node) -> str:
        return self._common([self.of(field(node, way)) for way in ("consequence", "alternative")])

    def _unary_expression(self, node: Node) -> str:
        return "bool" if text(node)[0] == "!" else self.of(field(node, "argument"))

    def _cast_expression(self, node: Node) -> str:
        return plain_type(text(field(node, "type")))

    def _compound_literal_expression(self, node: Node) -> str:
        return plain_type(text(field(node, "type")))

    def _assignment_expression(self, node: Node) -> str:
        return self.of(field(node, "left"))

    def _update_expression(self, node: Node) -> str:
        return self.of(field(node, "argument"))


def _fields(structure: Node) -> list[tuple[Node, Node, Node]]:
    said = [text(one) for one in field(structure, "body").named_children if one.type == "field_declaration"]
    return list(declared(parse(f"void f() {{ {' '.join(said)} }}")))
