"""The normal form of a function: every loop that counts is a `for` with a variable of its own, and names are unique.

`while` loops that count become such a `for`; variables that advance by the same amount in every pass (indices, pointers walked
by `p++`) become what they are in that pass. Each change is made to the text, which is parsed again, until there is none.
"""

import re

from tree_sitter import Node

from kernelwright.nests.advances import advanced
from kernelwright.nests.aliases import named_once, one_by_one, plain_arrays, pointed_back, pointed_once, swapped
from kernelwright.nests.branches import both_ways, followed, left_first, otherwise, own_pointers, turned, twins
from kernelwright.nests.edits import Edit, ahead, behind, edited, inside, over
from kernelwright.nests.events import assigned, first_event, writes
from kernelwright.nests.heads import WHOLE, after, bound_of, counted_head, leaves, step_of, types, unconditional
from kernelwright.nests.idioms import plain, uncast
from kernelwright.nests.inline import inlined
from kernelwright.nests.library import written_out
from kernelwright.nests.names import declarators, declared, identifiers, mentions
from kernelwright.nests.promote import promoted, running
from kernelwright.nests.ranges import counted
from kernelwright.nests.recurrences import compensated, summed_twice
from kernelwright.nests.searches import compacted, compared, first_found, last_found, placed, searched, told
from kernelwright.nests.storage import in_one_form
from kernelwright.nests.structures import taken_apart
from kernelwright.nests.syntax import JUMPS, bare, bare_expression, field, functions, parse, text, walk
from kernelwright.nests.walks import done_once, gathered, stepped_midway, walked

ROUNDS = 300
_SCOPES = ("compound_statement", "for_statement", "for_range_loop", "lambda_expression", "function_definition")
_KEPT = frozenset(
    ["work", "gate", "joined", "identity", "all_reduce", "warp_reduce", "all_best", "all_before", "all_last"]
)
"""Names that kernels have for themselves."""


def normal(code: str, name: str) -> str:
    """The code with the function `name` in its normal form."""
    code = unique(inlined(unique(written_out(counted(plain(in_one_form(code)))), name), name), name)
    for _ in range(ROUNDS):
        code = uncast(code)
        function = functions(parse(code))[name]
        changes = next((found for find in _CHANGES if (found := find(function))), None)
        if changes is None:
            break
        code = edited(code, changes)
    return code


def unique(code: str, name: str) -> str:
    """No two variables of the function have the same name, and each declaration is of one variable."""
    taken = identifiers(parse(code))
    for _ in range(ROUNDS):
        function, seen, changes = functions(parse(code))[name], set(_KEPT), list[Edit]()
        for _, _, identifier in declared(function):
            variable = text(identifier)
            if variable in seen:
                fresh = next(f"{variable}{n}" for n in range(2, ROUNDS) if f"{variable}{n}" not in taken)
                taken.add(fresh)
                scope = _scope(identifier)
                changes = [
                    over(i, fresh)
                    for i in walk(scope, "identifier")
                    if text(i) == variable and i.start_byte >= identifier.start_byte
                ]
                break
            seen.add(variable)
        if not changes:
            break
        code = edited(code, changes)
    return code


def _scope(identifier: Node) -> Node:
    node = identifier.parent
    while node is not None and node.type not in _SCOPES:
        node = node.parent
    assert node is not None
    return node


def _split(function: Node) -> list[Edit] | None:
    """`out[i] = sum += x[i];` and `*p++ = x;` become two statements each."""
    for statement in walk(function, "expression_statement", "declaration"):
        whole = bare(statement.named_children[0]) if statement.named_children else statement
        inner = bare(field(whole, "right")) if whole.type == "assignment_expression" else whole
        plain = (
            inner is not whole
            and inner.type == "assignment_expression"
            and bare(field(inner, "left")).type == "identifier"
        )
        if plain:
            left = f"{text(field(whole, 'left'))} {text(field(whole, 'operator'))} {text(field(inner, 'left'))}"
            return [over(statement, f"{{ {text(inner)}; {left}; }}")]
        if (
            statement.type == "declaration"
            and statement.parent is not None
            and statement.parent.type == "for_statement"
        ):
            continue
        for step in walk(statement, "update_expression"):
            variable = text(field(step, "argument"))
            once = sum(text(i) == variable for i in walk(statement, "identifier")) == 1
            if step != whole and once and not _perhaps(step, statement):
                return _stepped_apart(statement, step, variable)
    return None


def _perhaps(step: Node, statement: Node) -> bool:
    """Whether a part of a statement may be passed over."""
    node = step.parent
    while node is not None and node != statement:
        lazy = node.type == "binary_expression" and text(field(node, "operator")) in ("&&", "||")
        if lazy or node.type in ("conditional_expression", "lambda_expression"):
            return True
        node = node.parent
    return False


def _shortened(function: Node) -> list[Edit] | None:
    """`a[i] = a[i] + x` is `a[i] += x`."""
    for one in walk(function, "assignment_expression"):
        left, right = field(one, "left"), bare(field(one, "right"))
        if (
            left.type not in ("subscript_expression", "pointer_expression", "field_expression")
            or any(walk(left, "update_expression", "call_expression", "assignment_expression"))
            or text(field(one, "operator")) != "="
            or right.type != "binary_expression"
        ):
            continue
        operator, sides = text(field(right, "operator")), (field(right, "left"), field(right, "right"))
        for (own, other), allowed in ((sides, "+-*&|^"), (sides[::-1], "+*&|^")):
            if text(bare(own)) == text(left) and operator in allowed and text(left) not in text(other):
                return [over(one, f"{text(left)} {operator}= {text(other)}")]
        deep = bare(sides[0])
        sums = operator == "+" and deep.type == "binary_expression" and text(field(deep, "operator")) == "+"
        if sums and text(field(deep, "left")) == text(left):
            rest = f"{text(left)} += {text(field(deep, 'right'))} + {text(sides[1])}"
            return [over(one, rest)]
    return None


def _copied(function: Node) -> list[Edit] | None:
    """`memcpy` and `memset` of whole elements are loops. `memmove` may overlap, and other types are other bits."""
    for statement in walk(function, "expression_statement"):
        call = bare(statement.named_children[0]) if statement.named_children else statement
        name = text(field(call, "function")).removeprefix("std::") if call.type == "call_expression" else ""
        if name not in ("memcpy", "memset"):
            continue
        given = field(call, "arguments").named_children
        to, value, size = (text(one) for one in given)
        if name == "memset" and value != "0":
            continue
        known = {name: kind.replace("const ", "") for name, (kind, many) in types(function).items() if many}
        at, kind = f"at_{statement.start_byte}", known.get(to, "")
        if kind and (name == "memset" or {known[i] for i in identifiers(given[1]) if i in known} == {kind}):
            zero = "0" if WHOLE.match(kind) or kind in ("float", "double") else "{}"
            taken = zero if name == "memset" else f"({value})[{at}]"
            rows = (
                sum(1 for _, one, n in declared(function) if text(n) == to for _ in walk(one, "array_declarator")) > 1
            )
            into = f"(({kind} *){to})" if rows else f"({to})"
            loop = f"for (long {at} = 0; {at} < ({size}) / sizeof({kind}); ++{at}) {into}[{at}] = {taken};"
            return [over(statement, loop)]
    return None


def _unbroken(function: Node) -> list[Edit] | None:
    """A search that sets a flag and breaks may as well go on, where it does nothing else."""
    for loop in walk(function, "for_statement"):
        body = list(unconditional(field(loop, "body")))
        if len(body) != 1 or body[0].type != "if_statement" or body[0].child_by_field_name("alternative") is not None:
            continue
        done = list(unconditional(field(body[0], "consequence")))
        flags = [re.fullmatch(r"\w+ = (0|1|true|false);", text(s)) for s in done[:-1]]
        quiet = all(flags) and not any(writes(field(body[0], "condition")))
        if quiet and len(done) == 2 and done[1].type == "break_statement":
            return [(done[1].start_byte, done[1].end_byte, ";")]
    return None


def _stepped_apart(statement: Node, step: Node, variable: str) -> list[Edit]:
    """The step goes before or behind the statement that it stands in."""
    alone, first = f"{variable}{text(field(step, 'operator'))};", text(step).startswith(("++", "--"))
    block = statement.type == "expression_statement"
    before, later = (
        ("{ " if block else "") + (f"{alone} " if first else ""),
        ("" if first else f" {alone}") + (" }" if block else ""),
    )
    return [ahead(statement, before), over(step, variable), behind(statement, later)]


# --- loops that count ---------------------------------------------------------------------------------------------


def _counted(function: Node) -> list[Edit] | None:
    """A `while` that counts, or a `for` that advances in its body, as a `for`; so does `while (n--)`."""
    kinds = types(function)
    for loop in walk(function, "while_statement", "for_statement"):
        condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
        body = field(loop, "body")
        if condition is None or leaves(body, "continue_statement"):
            continue
        if update is not None:
            continue
        first = loop.child_by_field_name("initializer")
        before = f"{text(first).rstrip(';')}; " if first is not None else ""
        for place, _, _ in writes(body):
            step = next(
                (
                    s
                    for s in unconditional(body)
                    if s.type == "expression_statement" and step_of(s.named_children[0], text(place))
                ),
                None,
            )
            variable = text(place)
            if (
                step is None
                or place.type != "identifier"
                or variable not in kinds
                or sum(text(p) == variable for p, _, _ in writes(body)) != 1
            ):
                continue
            update = step.named_children[0]
            asked = _said(condition, variable, step_of(update, variable))
            bound = bound_of(asked, variable)
            moves = bound is None or identifiers(bound[1]) & assigned(body)
            if moves or any(mentions(later, variable) for later in _behind(body, step)):
                continue
            head = f"{before}for (; {text(asked)}; {text(update)}) "
            return [(loop.start_byte, body.start_byte, head), over(step, ";")]
    return None


def _condition_steps(function: Node) -> list[Edit] | None:
    """`for (; n--; p++)` does its last part in its body."""
    for loop in walk(function, "for_statement"):
        condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
        body = field(loop, "body")
        if condition is None or update is None or leaves(body, "continue_statement"):
            continue
        if any(walk(condition, "update_expression")):
            return [over(update, ""), *inside(body, last=f"{text(update)};")]
    return None


def _asked_stepping(function: Node) -> list[Edit] | None:
    """`while (n-- > 0) …` is `while (n > 0) { n--; … }`, and one step more; `while (--n) …` steps before and behind."""
    for loop in walk(function, "while_statement", "for_statement"):
        condition, body = loop.child_by_field_name("condition"), field(loop, "body")
        first = loop.child_by_field_name("initializer")
        if condition is None or loop.child_by_field_name("update") or leaves(body, "continue_statement", *JUMPS):
            continue
        asked = bare(condition)
        side = bare(field(asked, "left")) if asked.type == "binary_expression" else asked
        if side.type != "update_expression" or sum(1 for _ in writes(asked)) != 1:
            continue
        variable, alone = text(field(side, "argument")), f"{text(side)};"
        if (
            field(side, "argument").type != "identifier"
            or sum(text(i) == variable for i in walk(asked, "identifier")) != 1
        ):
            continue
        early, said = text(side).startswith(("++", "--")), text(asked).replace(text(side), variable, 1)
        begin = f"{{ {text(first).rstrip(';') + '; ' if first is not None else ''}{alone if early else ''}"
        last = "" if early or first_event(list(after(loop)), variable) != "read" else alone
        head = (loop.start_byte, body.start_byte, f"{begin} while ({said}) ")
        stepped = inside(body, last=alone) if early else inside(body, first=alone)
        return [head, *stepped, behind(loop, f" {last} }}")]
    return None


def _behind(body: Node, step: Node) -> list[Node]:
    """What a body does after one of its statements."""
    return [one for one in unconditional(body) if one.start_byte > step.start_byte]


def _said(condition: Node, variable: str, step: int) -> Node:
    """The condition; `while (n)` means that it is not zero."""
    plain = bare(condition)
    return (
        plain
        if plain.type != "identifier" or text(plain) != variable
        else bare_expression(f"{variable} {'>' if step < 0 else '!='} 0")
    )


def _declared_loop(function: Node) -> list[Edit] | None:
    """A `for` whose variable lives outside gets its own one, and advances nothing else."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        first, condition, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
        body = field(loop, "body")
        if update is not None and update.type == "comma_expression" and condition is not None:
            return _several(loop, condition, update, body)
        if first is not None and first.type == "comma_expression":
            apart = "; ".join(text(field(first, side)) for side in ("left", "right"))
            return [(loop.start_byte, first.end_byte, f"{{ {apart}; for ("), behind(loop, " }")]
        if first is not None and first.type == "declaration" and len(declarators(first)) > 1:
            return [(loop.start_byte, first.end_byte, f"{{ {text(first)} for (;"), behind(loop, " }")]
        if condition is None or update is None or (first is not None and first.type == "declaration"):
            continue
        variable = next((text(place) for place, _, _ in writes(update)), "")
        low = _low(first, variable)
        if (
            variable not in kinds
            or kinds[variable][1]
            or low is None
            or counted_head(loop, variable, low, condition, update, kinds[variable][0]) is None
        ):
            continue
        if leaves(body, *JUMPS):
            continue
        return _own_variable(function, loop, kinds[variable][0], variable, low)
    return None


def _several(loop: Node, condition: Node, update: Node, body: Node) -> list[Edit] | None:
    parts = list[Node]()
    while update.type == "comma_expression":
        parts.insert(0, field(update, "right"))
        update = field(update, "left")
    parts.insert(0, update)
    counter = next(
        (
            p
            for p in parts
            if step_of(p, next((text(w) for w, _, _ in writes(p)), ""))
            and bound_of(condition, next(text(w) for w, _, _ in writes(p)))
        ),
        None,
    )
    if counter is None or leaves(body, "continue_statement"):
        return None
    others = " ".join(f"{text(p)};" for p in parts if p != counter)
    return [(parts[0].start_byte, parts[-1].end_byte, text(counter)), ahead(body, "{ "), behind(body, f" {others} }}")]


def _low(first: Node | None, variable: str) -> str | None:
    if first is None:
        return variable
    given = bare(first)
    plain = (
        given.type == "assignment_expression"
        and text(field(given, "operator")) == "="
        and text(field(given, "left")) == variable
    )
    return text(field(given, "right")) if plain else None


def _own_variable(function: Node, loop: Node, kind: str, variable: str, low: str) -> list[Edit]:
    own = f"{variable}_{loop.start_byte}"
    condition, update = field(loop, "condition"), field(loop, "update")
    head = counted_head(loop, variable, low, condition, update, kind)
    assert head is not None
    inside = [
        over(i, own)
        for part in (condition, update, field(loop, "body"))
        for i in walk(part, "identifier")
        if text(i) == variable
    ]
    start = next(c for c in loop.children if c.type == "(").end_byte
    made = [(start, condition.start_byte, f"{kind.replace('const ', '')} {own} = {low}; "), *inside]
    if first_event(list(after(loop)), variable) == "read":
        far = f"({head.low}) + {head.step} * {head.passes}"
        made += [ahead(loop, "{ "), behind(loop, f" {variable} = {far}; }}")]
    return made


_CHANGES = (
    one_by_one, pointed_once, pointed_back, swapped, plain_arrays, named_once, taken_apart, _shortened, _copied, _unbroken,
    _split, left_first, otherwise, turned, both_ways, twins, followed, own_pointers, done_once, searched, first_found,
    _condition_steps, _asked_stepping, _counted, walked, _declared_loop, stepped_midway, gathered, advanced, promoted,
    running, compensated, summed_twice, placed, compacted, compared, last_found, told,
)  # fmt: skip
"""In the order in which they are tried."""
