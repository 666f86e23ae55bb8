"""Calls of a file's own functions, put in the caller's place, so that their loops are seen.

A call is taken apart where it is a statement of its own, or all of an assignment, an initial value or a `return`, and the
function returns at its end alone. What it is given by a plain name, or by the address of one, is named so within it too;
anything else becomes a local of the callee's parameter's type.
"""

import re

from tree_sitter import Node

from kernelwright.nests.aliases import bound, by_reference
from kernelwright.nests.syntax import (
    LOOPS,
    assigned,
    bare,
    declarators,
    declared,
    declared_name,
    edited,
    field,
    functions,
    mentions,
    over,
    parameters,
    parse,
    statements,
    text,
    type_of,
    walk,
)

_OVER = re.compile(r"std::vector<([\w ]+)> (\w+)\((\w+), \3 \+ (\w+)\);")
MOST = 64
"""Calls that are taken apart; beyond, they stay calls."""


def inlined(code: str, name: str) -> str:
    """The code in which the function `name` calls none of its own file's functions that have loops or return nothing."""
    for number in range(1, MOST):
        known = functions(parse(code))
        found = next(
            ((c, known[text(f)]) for c, f in _calls(known[name]) if _takes_apart(c, text(f), name, known)), None
        )
        if found is None:
            break
        call, callee = found
        statement = _statement(call)
        assert statement is not None
        code = edited(code, [over(statement, _in_place(call, statement, callee, f"_{number}"))])
    return _without_vectors(code, name)


def _calls(function: Node) -> list[tuple[Node, Node]]:
    calls = walk(field(function, "body"), "call_expression")
    return [(c, field(c, "function")) for c in calls if field(c, "function").type == "identifier"]


def _takes_apart(call: Node, called: str, name: str, known: dict[str, Node]) -> bool:
    callee = known.get(called)
    if callee is None or called == name or _statement(call) is None:
        return False
    body = field(callee, "body")
    returns, last = list(walk(body, "return_statement")), (statements(body) or [body])[-1]
    ends = not returns or (len(returns) == 1 and returns[0] == last)
    again = any(text(field(c, "function")) == called for c in walk(body, "call_expression"))
    given = len(field(call, "arguments").named_children) == len(parameters(callee))
    return ends and given and not again and _works(called, known, frozenset())


def _works(called: str, known: dict[str, Node], above: frozenset[str]) -> bool:
    """Whether a function has loops or returns nothing, or calls one of those."""
    if called not in known or called in above:
        return False
    loops = type_of(known[called]) == "void" or any(walk(known[called], *LOOPS))
    return loops or any(_works(text(f), known, above | {called}) for _, f in _calls(known[called]))


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
    heads = outer is not None and outer.type == "for_statement" and outer.child_by_field_name("body") != node
    return node if alone and outer is not None and not heads else None


def _in_place(call: Node, statement: Node, callee: Node, suffix: str) -> str:
    body, made = field(callee, "body"), list[str]()
    own = {text(n): f"{text(n)}{suffix}" for _, _, n in declared(body)}
    arguments = field(call, "arguments").named_children
    for parameter, given in zip(parameters(callee), arguments, strict=True):
        name = text(declared_name(field(parameter, "declarator")))
        plain = given.type == "identifier" or (
            given.type == "pointer_expression" and bare(field(given, "argument")).type == "identifier"
        )
        once = sum(mentions(a, text(given)) for a in arguments) < 2
        if given.type == "identifier" and by_reference(parameter):
            own[name] = text(given)
        elif by_reference(parameter):
            own[name] = f"{name}{suffix}"
            made.append(bound(parameter, own[name], text(given)))
        elif plain and once and name not in assigned(body) and "(" not in text(field(parameter, "declarator")):
            own[name] = text(given) if given.type == "identifier" else f"({text(given)})"
        else:
            own[name] = f"{name}{suffix}"
            made.append(_local(parameter, own[name], text(given)))
    renamed = [
        (i.start_byte - body.start_byte, i.end_byte - body.start_byte, own[text(i)])
        for i in walk(body, "identifier")
        if text(i) in own
    ]
    last = (statements(body) or [body])[-1]
    if last.type == "return_statement":
        value = last.named_children[0] if last.named_children else None
        renamed = [
            e for e in renamed if value is None or not last.start_byte <= e[0] + body.start_byte < value.start_byte
        ]
        renamed.append(
            (last.start_byte - body.start_byte, last.start_byte - body.start_byte + 6, _taker(call, statement))
        )
    inside = edited(text(body), renamed)
    whole = f"{{ {' '.join(made)} {inside} }}"
    if statement.type == "declaration":
        whole = f"{type_of(statement).replace('const ', '')} {text(declared_name(declarators(statement)[0]))}; {whole}"
    return whole


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
