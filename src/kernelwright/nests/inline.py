"""Calls of a file's own functions and lambdas, put in the caller's place, so that their loops are seen.

A function that only returns an expression becomes that expression. Any other is taken apart where the call is a statement of
its own, or all of an assignment, an initial value or a `return`; elsewhere its value becomes a local first. What it is given
by a plain name, or by the address of one, is named so within it too; else it becomes a local of the parameter's type.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.nests.aliases import bound, by_reference
from kernelwright.nests.edits import Edit, ahead, behind, edited, over, renamed
from kernelwright.nests.events import assigned, variable_of, writes
from kernelwright.nests.heads import after, leaves
from kernelwright.nests.idioms import uncast
from kernelwright.nests.kinds import NUMBERS, Kinds, declared_kind, led, returned
from kernelwright.nests.names import (
    TYPED,
    declarators,
    declared,
    declared_name,
    identifiers,
    mentions,
    parameters,
    type_of,
)
from kernelwright.nests.syntax import (
    LOOPS,
    bare,
    base_of,
    field,
    function_name,
    functions,
    parse,
    statements,
    text,
    walk,
)

_OVER = re.compile(r"std::vector<([\w ]+)> (\w+)\((\w+), \3 \+ (\w+)\);")
_PLACES = ("identifier", "subscript_expression", "field_expression")
MOST = 256
"""Calls that are taken apart; beyond, they stay calls."""


def inlined(code: str, name: str) -> str:
    """The code in which the function `name` calls none of its own file's functions whose inside matters."""
    for number in range(1, MOST):
        made = next(_Caller(parse(code), name, f"_{number}").steps(), None)
        if made is None:
            break
        code = uncast(edited(code, made))
    return _without_vectors(code, name)


class _Caller:
    """One function, with what it may call; locals that a step makes end in `suffix`."""

    def __init__(self, root: Node, name: str, suffix: str) -> None:
        self.name, self.suffix, self.known = name, suffix, functions(root)
        self.function = self.known[name]
        self.kinds = Kinds(root, self.function)
        self.root = root
        named = [function_name(one) for one in walk(root, "function_definition")]
        self.overloaded = {one for one in named if named.count(one) > 1}

    def steps(self) -> Iterator[list[Edit]]:
        """All that can be done next; the shortest calls first."""
        body = field(self.function, "body")
        for one in walk(body, "lambda_expression"):
            statement = _whole_statement(one)
            if one.parent is not None and one.parent.type == "argument_list" and statement is not None:
                own = f"given{self.suffix}"
                yield [*_before(statement, f"auto {own} = {text(one)}; "), over(one, own)]
        calls = [c for c in walk(body, "call_expression") if field(c, "function").type == "identifier"]
        for call in sorted(calls, key=lambda c: c.end_byte - c.start_byte):
            callee = self._callee(call)
            if callee is not None:
                yield from self._put(call, callee)
        for name, one in self.kinds.lambdas.items():
            declaration = one.parent.parent if one.parent is not None else None
            if sum(text(i) == name for i in walk(body, "identifier")) == 1 and declaration is not None:
                yield [over(declaration, ";")]

    def _callee(self, call: Node) -> Node | None:
        called = text(field(call, "function"))
        callee = self.kinds.lambdas.get(called)
        if callee is not None:
            return callee if _sees(callee) and self._fits(call, callee) else None
        callee = self.known.get(called)
        matters = _carries(call) or self._matters(called, frozenset())
        wanted = callee is not None and called != self.name and called not in self.overloaded and matters
        again = callee is not None and any(
            text(field(c, "function")) == called for c in walk(callee, "call_expression")
        )
        return callee if callee is not None and wanted and not again and self._fits(call, callee) else None

    def _fits(self, call: Node, callee: Node) -> bool:
        return len(field(call, "arguments").named_children) == len(_parameters(callee))

    def _matters(self, called: str, above: frozenset[str]) -> bool:
        """Whether a function has loops, gives nothing, a pointer or a structure, changes what it is given, or calls such."""
        function = self.known.get(called)
        if function is None or called in above or called in self.overloaded:
            return False
        taken = _parameters(function)
        shown = any(declared_kind(p, field(p, "declarator")).rstrip("*") in self.kinds.members for p in taken)
        changed = any(("&" in text(p) or "*" in text(p)) and "const" not in type_of(p).split() for p in taken)
        lead = bool(led(function)) or _gives_place(function)
        functions_given = any(type_of(p) == "auto" for p in taken)
        loops = type_of(function) == "void" or any(walk(function, *LOOPS)) or functions_given
        inner = walk(field(function, "body"), "call_expression")
        return (
            loops or shown or changed or lead or returned(function) in self.kinds.members
            or any(self._matters(text(field(c, "function")), above | {called}) for c in inner)
        )  # fmt: skip

    # --- ways to put it ---------------------------------------------------------------------------------------------

    def _put(self, call: Node, callee: Node) -> Iterator[list[Edit]]:
        said = self._as_expression(call, callee)
        if said is not None:
            yield [over(call, said)]
            return
        loop = call.parent
        if loop is not None and loop.type == "for_statement" and loop.child_by_field_name("update") == call:
            inner = field(loop, "body")
            if not leaves(inner, "continue_statement"):
                yield [over(call, ""), ahead(inner, "{ "), behind(inner, f" {text(call)}; }}")]
            return
        statement = _statement(call)
        if statement is not None:
            made = self._in_place(call, statement, callee)
            if made is not None:
                yield [over(statement, made)]
            return
        whole = _whole_statement(call)
        kind = self._returned(callee)
        if whole is not None and kind not in ("", "void") and _first(call, whole):
            own = f"value{self.suffix}"
            yield [*_before(whole, f"{kind} {own} = {text(call)}; "), over(call, own)]

    def _returned(self, callee: Node) -> str:
        """The type of its value; of a pointer, whatever it is."""
        if callee.type == "lambda_expression":
            kind = self.kinds.of_lambda(callee)
            return "" if "*" in kind else kind
        kind = returned(callee)
        return f"const {kind}" if "*" in kind and "const" in type_of(callee).split() else kind

    def _as_expression(self, call: Node, callee: Node) -> str | None:
        """The value, where the function does nothing but return it; None: it cannot be put so."""
        only = statements(field(callee, "body"))
        if len(only) != 1 or only[0].type != "return_statement" or not only[0].named_children:
            return None
        value, own = only[0].named_children[0], dict[str, str]()
        stored, given_names = (
            assigned(value),
            [i for g in field(call, "arguments").named_children for i in identifiers(g)],
        )
        if any(writes(value)) and (len(set(given_names)) < len(given_names) or stored & set(given_names)):
            return None
        if value.type == "initializer_list" or any(walk(value, "lambda_expression")):
            return None
        for parameter, given in zip(_parameters(callee), field(call, "arguments").named_children, strict=True):
            name = text(declared_name(field(parameter, "declarator")))
            said = self._given(parameter, given, sum(text(i) == name for i in walk(value, "identifier")))
            if said is None or (name in stored and not by_reference(parameter)):
                return None
            own[name] = said
        made = renamed(value, own)
        kind = "" if _gives_place(callee) else returned(callee)
        other = callee.type == "lambda_expression" or Kinds(self.root, callee).of(value) != kind
        return f"({_as(kind, made)})" if self._converts(kind) and other else f"({made})"

    def _given(self, parameter: Node, given: Node, times: int) -> str | None:
        """An argument in the midst of an expression; None: it must be evaluated once, or in its place."""
        kind, other = declared_kind(parameter, field(parameter, "declarator")), self.kinds.of(given)
        busy = any(walk(given, "call_expression", "compound_literal_expression"))
        if any(walk(given, "update_expression", "assignment_expression", "lambda_expression")) or (busy and times > 1):
            return None
        if kind in self.kinds.members and bare(given).type not in _PLACES:
            return None
        said = text(given) if given.type in ("identifier", "number_literal") else f"({text(given)})"
        return _as(kind, text(given)) if self._converts(kind) and other != kind else said

    def _converts(self, kind: str) -> bool:
        """Whether what is given changes where it becomes this type: a number of another kind."""
        return "*" not in kind and kind not in self.kinds.members and kind not in ("", "auto", "void")

    def _in_place(self, call: Node, statement: Node, callee: Node) -> str | None:
        body, made = field(callee, "body"), list[str]()
        own = {text(n): f"{text(n)}{self.suffix}" for _, _, n in declared(body)}
        arguments = field(call, "arguments").named_children
        for parameter, given in zip(_parameters(callee), arguments, strict=True):
            name = text(declared_name(field(parameter, "declarator")))
            once = sum(mentions(a, text(given)) for a in arguments) < 2
            kind = declared_kind(parameter, field(parameter, "declarator"))
            same = not self._converts(kind) or self.kinds.of(given) == kind
            stays = same and _plain(given) and once and not (identifiers(given) | {name}) & assigned(body)
            if given.type == "identifier" and (by_reference(parameter) or type_of(parameter) == "auto"):
                own[name] = text(given)
            elif by_reference(parameter) and bare(given).type in (*_PLACES, "pointer_expression"):
                own[name] = f"{name}{self.suffix}"
                made.append(bound(parameter, own[name], text(given)))
            elif stays and "(" not in text(field(parameter, "declarator")):
                own[name] = text(given) if given.type == "identifier" else f"({text(given)})"
            else:
                own[name] = f"{name}{self.suffix}"
                made.append(_local(parameter, own[name], text(given)))
        inside = self._flowing(renamed(body, own), _taker(call, statement), self._cut(callee, body))
        if inside is None:
            return None
        whole = f"{{ {' '.join(made)} {inside} }}"
        if statement.type == "declaration":
            one = declarators(statement)[0]
            kind = self._returned(callee) if "auto" in type_of(statement) else _variable(statement, one)
            whole = f"{kind} {text(declared_name(one))}; {whole}"
        return whole

    def _cut(self, callee: Node, body: Node) -> str:
        """A cast to what a function returns, where its values are of another type."""
        kinds = self.kinds if callee.type == "lambda_expression" else Kinds(self.root, callee)
        kind = "" if _gives_place(callee) else returned(callee)
        values = [one.named_children[0] for one in _returns(body) if one.named_children]
        return (
            _as(kind, "").removesuffix("()")
            if self._converts(kind) and any(kinds.of(v) != kind for v in values)
            else ""
        )

    def _flowing(self, body: str, taker: str, cast: str) -> str | None:
        """A body whose value goes where `taker` says, wherever it returns; None: it cannot be put so."""
        function = next(walk(parse(f"void f() {body}"), "compound_statement"))
        if taker == "return":
            return None if cast else body
        done = f"done{self.suffix}"
        try:
            flown = _flow(statements(function), f"{taker} {cast}", done, looped=False)
        except ValueError:
            return None
        return (
            f"{{ int {done} = 0; {flown} }}"
            if re.search(rf"\({done}\)|!{done}\b", flown)
            else f"{{ {re.sub(rf'{done} = 1;', '', flown)} }}"
        )


def _flow(body: list[Node], taker: str, done: str, *, looped: bool) -> str:
    """Statements in which a `return` gives its value and sets a flag, and what comes behind asks for it.

    Raises:
        ValueError: it returns from within a statement of another kind.
    """
    out = list[str]()
    for place, one in enumerate(body):
        rest = body[place + 1 :]
        if not any(_returns(one)):
            out.append(text(one))
            continue
        if one.type == "return_statement":
            value = text(one.named_children[0]) if one.named_children else ""
            cast = taker.endswith((")", ">")) and value[:1] != "{"
            gives = f"{taker} {f'({value})' if cast else value};" if value else ""
            return " ".join([*out, gives, f"{done} = 1;", "break;" if looped else ""])
        if one.type == "if_statement":
            other = one.child_by_field_name("alternative")
            ends = other is None and not looped and statements(field(one, "consequence"))[-1].type == "return_statement"
            out.append(
                _chosen(one, rest if ends else statements(other) if other is not None else [], taker, done, looped)
            )
            if ends:
                break
        else:
            out.append(_block(one, taker, done, looped))
        if rest and not looped:
            return " ".join([*out, f"if (!{done}) {{ {_flow(rest, taker, done, looped=looped)} }}"])
    return " ".join(out)


def _block(one: Node, taker: str, done: str, looped: bool) -> str:
    """A loop or a block that is left early."""
    if one.type == "compound_statement":
        return f"{{ {_flow(statements(one), taker, done, looped=looped)} }}"
    if one.type not in LOOPS[:2]:
        raise ValueError(f"it returns from within a {one.type}")
    within = field(one, "body")
    head = text(one)[: within.start_byte - one.start_byte]
    whole = f"{head} {{ {_flow(statements(within), taker, done, looped=True)} }}"
    return whole + (f" if ({done}) break;" if looped else "")


def _chosen(one: Node, other: list[Node], taker: str, done: str, looped: bool) -> str:
    ways = [_flow(way, taker, done, looped=looped) for way in (statements(field(one, "consequence")), other)]
    return f"if {text(field(one, 'condition'))} {{ {ways[0]} }}" + (f" else {{ {ways[1]} }}" if other else "")


def _returns(node: Node) -> Iterator[Node]:
    """All `return`s of a statement that are no lambda's."""
    if node.type == "return_statement":
        yield node
    elif node.type != "lambda_expression":
        for child in node.named_children:
            yield from _returns(child)


def _sees(callee: Node) -> bool:
    """Whether a lambda means what its names mean where it is called: what it holds a copy of is not changed later."""
    captured = text(field(callee, "captures"))[1:-1]
    if (
        "mutable" in text(callee).split("{")[0].split()
        or "." in captured
        or re.search(r"[^=&<>]=[^=,\s]|\w\s*=", captured)
    ):
        return False
    copied = {name.strip() for name in captured.split(",") if name.strip() and "&" not in name}
    inside = field(callee, "body")
    held = identifiers(inside) if "=" in copied else copied
    whole = held & _holders(callee)
    changes = [p for node in after(callee) for p, _, _ in writes(node)]
    return not any(variable_of(p) in held or text(base_of(p)) in whole for p in changes)


def _holders(node: Node) -> set[str]:
    """Arrays, vectors and structures around a node: a copy of one is not the same memory."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return {
        text(n)
        for d, o, n in declared(node)
        if "*" not in text(o).split("=")[0] and ("[" in text(o) or "::" in type_of(d))
    }


def _parameters(callee: Node) -> list[Node]:
    if callee.type != "lambda_expression":
        return parameters(callee)
    declarator = callee.child_by_field_name("declarator")
    listed = field(declarator, "parameters").named_children if declarator is not None else []
    return [p for p in listed if p.type in TYPED and p.child_by_field_name("declarator")]


def _as(kind: str, said: str) -> str:
    """A conversion: a type with a name of its own, in parentheses, would be read as what is called."""
    plain = kind.split()[0] in (*NUMBERS, "unsigned", "signed")
    return f"({kind})({said})" if plain and kind != "size_t" else f"static_cast<{kind}>({said})"


def _gives_place(callee: Node) -> bool:
    """Whether it returns a reference."""
    if callee.type != "lambda_expression":
        return field(callee, "declarator").type == "reference_declarator"
    trailing = next(walk(callee, "trailing_return_type"), None)
    return trailing is not None and "&" in text(trailing)


def _plain(given: Node) -> bool:
    """A name, or the address of one."""
    pointed = given.type == "pointer_expression" and bare(field(given, "argument")).type == "identifier"
    return given.type == "identifier" or pointed


def _variable(declaration: Node, one: Node) -> str:
    """A declared variable's type, so that it may be given its value later."""
    stars = text(field(one, "declarator")).count("*")
    return f"{type_of(declaration)} {'*' * stars}" if stars else type_of(declaration).replace("const ", "")


def _whole_statement(node: Node) -> Node | None:
    """The statement that an expression stands in, where something can be put before it."""
    outer: Node | None = node.parent
    while outer is not None and outer.type not in (
        "expression_statement",
        "declaration",
        "return_statement",
        "if_statement",
    ):
        if outer.type.endswith(("statement", "_loop", "definition")):
            return None
        outer = outer.parent
    around = outer.parent if outer is not None else None
    if outer is None or around is None or (outer.type == "declaration" and len(declarators(outer)) != 1):
        return None
    heads = around.type in ("for_statement", "init_statement") and around.child_by_field_name("body") != outer
    return None if heads or (outer.type == "declaration" and around.type != "compound_statement") else outer


def _before(statement: Node, said: str) -> list[Edit]:
    """Edits that put a declaration before a statement."""
    if statement.type == "declaration":
        return [ahead(statement, said)]
    return [ahead(statement, f"{{ {said}"), behind(statement, " }")]


def _first(call: Node, statement: Node) -> bool:
    """Whether a call in a statement is always made, and nothing happens there before."""
    node = call
    while node.parent is not None and node != statement:
        outer = node.parent
        lazy = outer.type == "binary_expression" and text(field(outer, "operator")) in ("&&", "||")
        if outer.type in ("lambda_expression", "comma_expression") or (lazy and field(outer, "left") != node):
            return False
        if outer.type == "conditional_expression" and field(outer, "condition") != node:
            return False
        node = outer
    within = statement.child_by_field_name("condition") if statement.type == "if_statement" else statement
    changes = list(walk(within, "update_expression", "assignment_expression")) if within is not None else []
    whole = bare(statement.named_children[0]) if statement.named_children else statement
    return all(one == whole for one in changes)


def _carries(call: Node) -> bool:
    """Whether a variable becomes what the call makes of it: `s = f(s, x)`, which may be a sum."""
    above = call.parent
    if above is None or above.type != "assignment_expression":
        return False
    return text(field(above, "left")) in [text(one) for one in field(call, "arguments").named_children]


def _statement(call: Node) -> Node | None:
    """The statement that is nothing but the call, or a place that its value goes to."""
    node = call.parent
    while node is not None and node.type in ("parenthesized_expression", "init_declarator"):
        node = node.parent
    if node is not None and node.type == "assignment_expression" and bare(field(node, "right")) == call:
        node = node.parent
    kinds = ("expression_statement", "return_statement")
    alone = node is not None and (node.type in kinds or (node.type == "declaration" and len(declarators(node)) == 1))
    outer = node.parent if node is not None else None
    heads = (
        outer is not None
        and outer.type in ("for_statement", "init_statement")
        and outer.child_by_field_name("body") != node
    )
    return node if alone and outer is not None and not heads else None


def _taker(call: Node, statement: Node) -> str:
    """What takes the returned value, up to it."""
    if statement.type == "return_statement":
        return "return"
    if statement.type == "declaration":
        return f"{text(declared_name(declarators(statement)[0]))} ="
    whole = bare(statement.named_children[0])
    return (
        f"{text(field(whole, 'left'))} {text(field(whole, 'operator'))}"
        if whole.type == "assignment_expression"
        else "(void)"
    )


def _local(parameter: Node, name: str, given: str) -> str:
    """A parameter as a local variable. An array of arrays is a pointer to what its first index chooses."""
    declarator = field(parameter, "declarator")
    sizes, inner = list[str](), declarator
    while inner.type == "array_declarator":
        size = inner.child_by_field_name("size")
        sizes.insert(0, text(size) if size else "")
        inner = field(inner, "declarator")
    kind = type_of(parameter)
    if inner.type == "parenthesized_declarator":
        sizes.insert(0, "")
    if not sizes:
        stars = "*" * text(declarator).count("*")
        return f"{kind} {stars}{name} = {given};"
    rest = "".join(f"[{size}]" for size in sizes[1:])
    return f"auto {name} = ({kind} (*){rest}){given};" if rest else f"{kind} *{name} = {given};"


def _without_vectors(code: str, name: str) -> str:
    """A vector that begins as a copy of an array, and is copied back, is that array; where any vector begins is `&v[0]`."""
    while True:
        function = functions(parse(code))[name]
        found = next((m for d in walk(function, "declaration") if (m := _OVER.fullmatch(text(d)))), None)
        if found is None:
            break
        kind, vector, array, length = found.groups()
        code = code.replace(found[0], f"{kind} *{vector} = ({kind}*){array};", 1)
        code = code.replace(f"std::copy({vector}.begin(), {vector}.end(), {array});", "")
        code = re.sub(rf"\b{vector}\.size\(\)", f"({length})", code)
        code = re.sub(rf"\b{vector}\.(data|begin)\(\)", vector, code)
        code = re.sub(rf"\b{vector}\.end\(\)", f"({vector} + {length})", code)
    for declaration, one, _ in declared(functions(parse(code))[name]):
        if type_of(declaration).replace("const ", "").startswith(("std::vector<", "std::array<")):
            vector = text(declared_name(one))
            code = re.sub(rf"\b{vector}\.data\(\)", f"(&{vector}[0])", code)
    return code
