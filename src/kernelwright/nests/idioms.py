"""C++ as the C that it stands for: members and operators as functions, templates as what they are used for.

Of a class stays a structure with its fields. A member `m` with n arguments of a class `S` is the function `S__mN`, whose first
argument is the object by reference; a constructor is `S__newN`. Each change is made to the text, which is parsed again.
"""

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from kernelwright.nests.aliases import one_by_one
from kernelwright.nests.edits import Edit, ahead, behind, edited, over
from kernelwright.nests.kinds import Kinds, declared_kind, led
from kernelwright.nests.names import declarators, declared, declared_name, declared_names, parameters, type_of
from kernelwright.nests.syntax import called, field, function_name, functions, parse, text, walk

ROUNDS = 400
_PAIR = "template <class A, class B> struct pair { A first; B second; };\n"
_CLASSES = ("class_specifier", "struct_specifier")
_SIGN = {"()": "call", "[]": "at"}


def plain(code: str) -> str:
    """The file in these terms, as far as that can be said."""
    if "pair<" in code and "struct pair" not in code:
        code = _PAIR + re.sub(r"\bstd::pair<", "pair<", code)
    for _ in range(ROUNDS):
        code = uncast(code)
        root = parse(code)
        made = next((found for rule in _RULES if (found := next(rule(root), None))), None)
        if made is None:
            break
        code = edited(code, made)
    return _used(code)


def uncast(code: str) -> str:
    """`(n) * x` is a product, where `n` is a variable: the parser takes it for a cast of `*x`."""
    for _ in range(ROUNDS):
        root = parse(code)
        names = declared_names(root)
        casts = (c for c in walk(root, "cast_expression") if _no_type(field(c, "type"), names))
        made = [(c.start_byte, field(c, "value").start_byte, f" {text(field(c, 'type'))} ") for c in casts]
        if not made:
            break
        code = edited(code, made)
    return code


def _no_type(said: Node, names: set[str]) -> bool:
    """Whether what stands for a type is a variable, an element of one or a call."""
    kind, more = field(said, "type"), said.child_by_field_name("declarator")
    pointed = any(walk(said, "abstract_pointer_declarator", "abstract_parenthesized_declarator"))
    place = more is not None and more.type in ("abstract_array_declarator", "abstract_function_declarator")
    return kind.type == "type_identifier" and not pointed and (place if more is not None else text(kind) in names)


def _used(code: str) -> str:
    """Without the templates that nobody speaks of any more."""
    templates = [one for one in parse(code).named_children if one.type == "template_declaration"]
    for one in templates:
        owned = one.named_children[-1]
        name = (
            function_name(owned)
            if owned.type == "function_definition"
            else text(owned.child_by_field_name("name") or owned)
        )
        if not re.search(rf"\b{re.escape(name)}\b", code.replace(text(one), "")):
            code = code.replace(text(one), "")
    return code


def _sign(name: str) -> str:
    """A word for the name of an operator."""
    said = name.removeprefix("operator").strip() if name.startswith("operator") else ""
    return _SIGN.get(said, "".join(f"o{ord(c)}" for c in said)) if said else name


# --- declarations -------------------------------------------------------------------------------------------------


def _words(root: Node) -> Iterator[list[Edit]]:
    """`if (T x = v; …)` and the words of an `enum class`."""
    for one in walk(root, "if_statement"):
        first = field(one, "condition").child_by_field_name("initializer")
        if first is not None:
            yield [ahead(one, f"{{ {text(first)} "), over(first, ""), behind(one, " }")]
    for one in walk(root, "enum_specifier"):
        name, scoped = one.child_by_field_name("name"), text(one).split()[:2] in (["enum", "class"], ["enum", "struct"])
        if name is None or not scoped or one.child_by_field_name("body") is None:
            continue
        own, kind = list(walk(field(one, "body"), "enumerator")), text(name)
        start = text(one).index(kind)
        used = [q for q in walk(root, "qualified_identifier") if text(q).startswith(f"{kind}::")]
        words = [over(n, f"{kind}__{text(n)}") for n in (field(e, "name") for e in own)]
        gone = (one.start_byte, one.start_byte + start, "enum ")
        yield [gone, *words, *(over(q, text(q).replace("::", "__")) for q in used)]


def _apart(root: Node) -> Iterator[list[Edit]]:
    """A declaration is of one variable."""
    yield from (found for function in functions(root).values() if (found := one_by_one(function)))


def _bindings(root: Node) -> Iterator[list[Edit]]:
    """`auto [a, b] = f();`, `auto x = f();` with the type's name, and `auto p = a + 1;` as the pointer that it is."""
    for function in functions(root).values():
        kinds = Kinds(root, function)
        for declaration, one, _ in declared(field(function, "body")):
            if one.type != "init_declarator" or not type_of(declaration).endswith("auto"):
                continue
            inner, value = field(one, "declarator"), field(one, "value")
            kind = kinds.of(value)
            if not kind or kind == "void" or len(declarators(declaration)) != 1 or value.type == "lambda_expression":
                continue
            if inner.type == "structured_binding_declarator" and kind in kinds.members:
                own, names = f"bound_{one.start_byte}", [text(n) for n in walk(inner, "identifier")]
                parts = zip(names, kinds.members[kind].items(), strict=False)
                said = " ".join(f"{k} {n} = {own}.{m};" for n, (m, k) in parts)
                yield [over(declaration, f"{kind} {own} = {text(value)}; {said}")]
            elif inner.type == "identifier" and "*" not in kind:
                yield [over(field(declaration, "type"), kind)]
            elif inner.type == "identifier" and type_of(declaration) == "auto":
                yield [ahead(inner, "*")]


# --- templates ----------------------------------------------------------------------------------------------------


def _templates(root: Node) -> Iterator[list[Edit]]:
    """A use of a template as one of its own type, which is written behind the template."""
    for template in root.named_children:
        if template.type != "template_declaration":
            continue
        owned, names = template.named_children[-1], _parameters(template)
        if owned.type in _CLASSES:
            yield from _classes(root, template, owned, names)
        elif owned.type == "function_definition":
            yield from _calls(root, template, owned, names)


def _parameters(template: Node) -> list[str]:
    listed = field(template, "parameters").named_children
    return [text(next(n for n in reversed(list(walk(p))) if n.type.endswith("identifier"))) for p in listed]


def _filled(node: Node, given: dict[str, str]) -> str:
    """The text with a template's parameters replaced."""
    names = (n for n in walk(node, "type_identifier", "identifier") if text(n) in given)
    edits = [(n.start_byte - node.start_byte, n.end_byte - node.start_byte, given[text(n)]) for n in names]
    return edited(text(node), edits)


def _classes(root: Node, template: Node, owned: Node, names: list[str]) -> Iterator[list[Edit]]:
    name = text(field(owned, "name"))
    uses = [
        n
        for n in walk(root, "template_type")
        if text(field(n, "name")) == name and not any(_within(n, t) for t in walk(root, "template_declaration"))
    ]
    for use in uses[:1]:
        given = [text(a) for a in field(use, "arguments").named_children]
        made = f"{name}_{re.sub(r'[^A-Za-z0-9]+', '_', '_'.join(given)).strip('_')}"
        same = [over(n, made) for n in uses if [text(a) for a in field(n, "arguments").named_children] == given]
        said = _filled(owned, {**dict(zip(names, given, strict=False)), name: made})
        known = {text(n) for c in walk(root, *_CLASSES) if (n := c.child_by_field_name("name")) is not None}
        yield [*same, *([] if made in known else [behind(template, f"\n{said};\n")])]


def _within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _calls(root: Node, template: Node, owned: Node, names: list[str]) -> Iterator[list[Edit]]:
    own = function_name(owned)
    inner = list(walk(root, "template_declaration"))
    for name, function in functions(root).items():
        if name == own or any(_within(function, t) for t in inner):
            continue
        kinds = Kinds(root, function)
        for call in walk(field(function, "body"), "call_expression"):
            if called(call) != own or len(field(call, "arguments").named_children) != len(parameters(owned)):
                continue
            given = _deduced(call, owned, names, kinds)
            if given is None:
                continue
            made = f"{own}_{re.sub(r'[^A-Za-z0-9]+', '_', '_'.join(given.values())).strip('_')}"
            written = [] if made in functions(root) else [behind(template, f"\n{_named(owned, own, made, given)}\n")]
            yield [over(field(call, "function"), made), *written]


def _named(owned: Node, own: str, made: str, given: dict[str, str]) -> str:
    said = re.sub(rf"\b{own}\b", made, _filled(owned, given))
    return re.sub(r"\bauto\s*&+", "auto ", said)


def _deduced(call: Node, owned: Node, names: list[str], kinds: Kinds) -> dict[str, str] | None:
    """What stands for a function template's parameters in a call; a function that is given is `auto`."""
    function, given = field(call, "function"), dict[str, str]()
    if function.type == "template_function":
        given = dict(zip(names, (text(a) for a in field(function, "arguments").named_children), strict=False))
    passed = field(call, "arguments").named_children
    for parameter, one in zip(parameters(owned), passed, strict=False):
        kind, name = text(field(parameter, "type")), kinds.of(one)
        if kind not in names or kind in given:
            continue
        stars = declared_kind(parameter, field(parameter, "declarator")).count("*")
        if one.type == "lambda_expression" or text(one) in kinds.lambdas:
            given[kind] = "auto"
        elif name and name.endswith("*" * stars):
            given[kind] = f"const {name}" if not stars and name.endswith("*") else name[: len(name) - stars]
    return given if set(given) >= set(names) else None


# --- classes ------------------------------------------------------------------------------------------------------


def _members(root: Node) -> Iterator[list[Edit]]:
    """Of a class its fields stay; its members become functions."""
    for one in root.named_children:
        body = one.child_by_field_name("body") if one.type in _CLASSES else None
        if body is None or one.child_by_field_name("name") is None:
            continue
        kept = [text(c) for c in body.named_children if c.type == "field_declaration"]
        made = [c for c in body.named_children if c.type == "function_definition" and c.child_by_field_name("body")]
        if (one.type == "struct_specifier" and len(kept) == len(body.named_children)) or _odd(one, body, made):
            continue
        name, written = text(field(one, "name")), dict[str, str]()
        for function in made:
            own, said = _member(name, body, function)
            if own not in written or "const" not in text(function).split("(")[0]:
                written[own] = said
        yield [over(one, f"struct {name} {{ {' '.join(kept)} }};\n" + "\n".join(written.values()))]


def _odd(one: Node, body: Node, members: list[Node]) -> bool:
    """Whether a class has what this does not say: bases, destructors, conversions, static members, overloads by type."""
    known = ("field_declaration", "function_definition", "access_specifier", "comment")
    others = any(
        c.type not in known or "static" in text(c).split("=")[0].split("(")[0].split() for c in body.named_children
    )
    odd = any(walk(one, "base_class_clause", "destructor_name", "operator_cast", "virtual", "delete_method_clause"))
    seen = dict[tuple[str, int], str]()
    for function in members:
        listed = field(next(walk(function, "function_declarator")), "parameters")
        key = _own_name(function), len(listed.named_children)
        if seen.setdefault(key, text(listed)) != text(listed) or (
            key[0] == text(field(one, "name")) and key[0] in text(listed)
        ):
            return True
    return others or odd


def _member(name: str, body: Node, function: Node) -> tuple[str, str]:
    """A member as a function, by its name."""
    own, inner = _own_name(function), field(function, "body")
    fields = {
        text(declared_name(d)) for f in body.named_children if f.type == "field_declaration" for d in declarators(f)
    }
    methods = {_own_name(f): f for f in body.named_children if f.type == "function_definition"}
    shadowed = declared_names(function)
    places = [
        n for n in walk(function, "identifier", "this", "field_expression") if _within(n, inner) or n.parent is None
    ]
    first = next((c for c in function.named_children if c.type == "field_initializer_list"), None)
    begun = "".join(
        _begun(i, fields - declared_names(field(function, "declarator")))
        for i in (first.named_children if first else [])
    )
    made = list[Edit]()
    for node in places:
        at = node.start_byte - inner.start_byte, node.end_byte - inner.start_byte
        outer = node.parent
        if node.type == "field_expression":
            if field(node, "argument").type == "this":
                made.append((*at, f"self.{text(field(node, 'field'))}"))
        elif node.type == "this":
            if outer is not None and outer.type == "pointer_expression":
                made.append((outer.start_byte - inner.start_byte, outer.end_byte - inner.start_byte, "self"))
        elif text(node) in fields - shadowed or (text(node) in methods and outer and outer.type == "call_expression"):
            made.append((*at, f"self.{text(node)}"))
    said = edited(text(inner), made)
    declarator = next(walk(field(function, "declarator"), "function_declarator"))
    listed = text(field(declarator, "parameters"))[1:-1].strip()
    many = len(field(declarator, "parameters").named_children)
    kind = function.child_by_field_name("type")
    fresh = kind is None
    full = f"{name}__{'new' if fresh else _sign(own)}{many}"
    sort = "void" if kind is None else re.sub(r"\b(static|inline|constexpr|explicit|virtual)\b", "", type_of(function))
    mark = "&" if field(function, "declarator").type == "reference_declarator" else "*" * led(function)
    apart = "" if "static" in text(function).split("(")[0].split() else f"{name} &self{', ' if listed else ''}"
    return full, f"static {sort} {mark}{full}({apart}{listed}) {{ {begun}{said[1:]}"


def _own_name(function: Node) -> str:
    declarator = next(walk(field(function, "declarator"), "function_declarator"), None)
    return text(field(declarator, "declarator")) if declarator is not None else ""


def _begun(one: Node, fields: set[str]) -> str:
    """`a(x)` in front of a constructor's body."""
    name, given = one.named_children[0], one.named_children[1]
    names = [n for n in walk(given, "identifier") if text(n) in fields]
    said = edited(
        text(given),
        [(n.start_byte - given.start_byte, n.end_byte - given.start_byte, f"self.{text(n)}") for n in names],
    )
    inner = said[1:-1].strip() or "0"
    return f"self.{text(name)} = {inner}; " if len(given.named_children) < 2 else f"self.{text(name)} = {{ {inner} }}; "


# --- their uses ---------------------------------------------------------------------------------------------------


def _uses(root: Node) -> Iterator[list[Edit]]:
    """Constructors, members and operators, where they are called."""
    for function in functions(root).values():
        kinds = Kinds(root, function)
        for declaration, one, name in declared(field(function, "body")):
            yield from _constructed(declaration, one, name, kinds)
        for node in walk(field(function, "body")):
            found = _USED[node.type](node, kinds) if node.type in _USED else None
            if found:
                yield found


def _constructed(declaration: Node, one: Node, name: Node, kinds: Kinds) -> Iterator[list[Edit]]:
    """`S s(x);` is `S s; S__new1(s, x);`."""
    kind = text(field(declaration, "type"))
    if kind not in kinds.members or declaration.type != "declaration" or len(declarators(declaration)) != 1:
        return
    value = one.child_by_field_name("value") if one.type == "init_declarator" else one.child_by_field_name("parameters")
    said = text(value) if value is not None else ""
    if value is not None and value.type in ("call_expression", "compound_literal_expression") and said.startswith(kind):
        said = said[len(kind) :].strip()
        value = value.named_children[-1]
    listed = value.named_children if value is not None and said[:1] in ("(", "{") else []
    made = f"{kind}__new{len(listed)}"
    if not listed or made not in kinds.known:
        return
    put = f"{kind} {text(name)}; {made}({text(name)}, {said[1:-1]});"
    outer = declaration.parent
    if outer is not None and outer.type == "for_statement":
        yield [ahead(outer, f"{{ {put} "), over(declaration, ";"), behind(outer, " }")]
    else:
        yield [over(declaration, put)]


def _of_call(node: Node, kinds: Kinds) -> list[Edit] | None:
    function, given = field(node, "function"), field(node, "arguments")
    many, said = len(given.named_children), text(given)[1:-1]
    if function.type == "field_expression":
        receiver, name = field(function, "argument"), text(field(function, "field"))
        kind = kinds.of(receiver)
        made = f"{kind.rstrip('*')}__{name}{many}"
        place = f"(*{text(receiver)})" if kind.endswith("*") else text(receiver)
    elif function.type == "qualified_identifier":
        made, place = f"{text(function).replace('::', '__')}{many}", ""
    else:
        made, place = f"{kinds.of(function)}__call{many}", text(function)
    if made not in kinds.known:
        return None
    return [over(node, f"{made}({', '.join(filter(None, (place, said)))})")]


def _of_subscript(node: Node, kinds: Kinds) -> list[Edit] | None:
    made = f"{kinds.of(field(node, 'argument'))}__at1"
    if made not in kinds.known:
        return None
    index = text(node)[field(node, "argument").end_byte - node.start_byte :].strip()[1:-1]
    return [over(node, f"{made}({text(field(node, 'argument'))}, {index})")]


def _of_operator(node: Node, kinds: Kinds) -> list[Edit] | None:
    """Of two sides, one an object: a member of the left one, or a function of the file."""
    left, right, sign = field(node, "left"), field(node, "right"), _sign(f"operator{text(field(node, 'operator'))}")
    sides = kinds.of(left), kinds.of(right)
    if not set(sides) & set(kinds.members):
        return None
    free = [f"{sign}__{one}__{two}" for one, two in (sides,)]
    made = next((m for m in (f"{sides[0]}__{sign}1", *free) if m in kinds.known), None)
    return [over(node, f"{made}({text(left)}, {text(right)})")] if made else None


def _of_sign(node: Node, kinds: Kinds) -> list[Edit] | None:
    sign = _sign(f"operator{text(field(node, 'operator'))}")
    kind = kinds.of(field(node, "argument"))
    made = next((m for m in (f"{kind}__{sign}0", f"{sign}__{kind}") if m in kinds.known), None)
    return [over(node, f"{made}({text(field(node, 'argument'))})")] if made else None


_USED: dict[str, Callable[[Node, Kinds], list[Edit] | None]] = {
    "call_expression": _of_call, "subscript_expression": _of_subscript, "binary_expression": _of_operator,
    "assignment_expression": _of_operator, "unary_expression": _of_sign, "update_expression": _of_sign,
}  # fmt: skip


def _operators(root: Node) -> Iterator[list[Edit]]:
    """A free `operator+(A a, B b)` is the function `o43__A__B`."""
    for one in root.named_children:
        name = next(walk(one, "operator_name"), None) if one.type == "function_definition" else None
        if name is not None:
            kinds = [declared_kind(p, field(p, "declarator")) for p in parameters(one)]
            yield [over(name, "__".join([_sign(text(name)), *kinds]))]


_RULES: tuple[Callable[[Node], Iterator[list[Edit]]], ...] = (
    _words, _apart, _templates, _members, _operators, _uses, _bindings,
)  # fmt: skip
