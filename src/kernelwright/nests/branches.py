"""What a pass does in one of two ways, so that both end alike: early ends of a pass, common steps, counters side by side."""

from collections.abc import Iterator
from itertools import pairwise, permutations

from tree_sitter import Node

from kernelwright.nests.edits import Edit, ahead, behind, over
from kernelwright.nests.events import exposed, writes
from kernelwright.nests.heads import WHOLE, moved, types, unconditional
from kernelwright.nests.names import declared, declared_name, identifiers, mentions, parameters
from kernelwright.nests.syntax import JUMPS, LOOPS, bare, field, text, walk


def otherwise(function: Node) -> list[Edit] | None:
    """`if (c) { …; continue; } …` of a loop's body is `if (c) { … } else { … }`."""
    for jump in walk(function, "continue_statement"):
        block = jump.parent
        alone = block is not None and block.type == "if_statement"
        choice = block if alone or block is None else block.parent
        body = choice.parent if choice is not None else None
        if choice is None or body is None or body.parent is None or choice.type != "if_statement":
            continue
        way = field(choice, "consequence")
        last = way == jump or (way.type == "compound_statement" and way.named_children[-1] == jump)
        if last and _is_body(body) and choice.child_by_field_name("alternative") is None:
            rest = [one for one in body.named_children if one.start_byte > choice.start_byte]
            opened = [ahead(rest[0], "else { "), behind(rest[-1], " }")] if rest else []
            return [over(jump, "{ }" if alone else ""), *opened]
    return None


def _is_body(block: Node) -> bool:
    loop = block.parent
    return block.type == "compound_statement" and loop is not None and loop.type in LOOPS


def left_first(function: Node) -> list[Edit] | None:
    """`for (;;) { if (i == n) break; … }` is `while (i != n) { … }`."""
    kinds = types(function)
    for loop in walk(function, "for_statement", "while_statement"):
        asked, body = loop.child_by_field_name("condition"), field(loop, "body")
        leave = next(unconditional(body), body)
        counts = loop.child_by_field_name("update") or loop.child_by_field_name("initializer")
        if counts or (asked is not None and text(bare(asked)) not in ("1", "true")) or leave.type != "if_statement":
            continue
        done, why = list(unconditional(field(leave, "consequence"))), bare(field(leave, "condition"))
        whole = all(WHOLE.match(kinds.get(i, ("?", False))[0]) for i in identifiers(why))
        order = field(why, "operator") if why.type == "binary_expression" else why
        other = {"==": "!=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}.get(text(order), "")
        if [one.type for one in done] == ["break_statement"] and not leave.child_by_field_name("alternative"):
            said = (
                text(field(why, "left")) + other + text(field(why, "right")) if whole and other else f"!({text(why)})"
            )
            return [(loop.start_byte, body.start_byte, f"while ({said}) "), over(leave, ";")]
    return None


def turned(function: Node) -> list[Edit] | None:
    """`if (!c) ; else …` is `if (c) …`."""
    for choice in walk(function, "if_statement"):
        other = choice.child_by_field_name("alternative")
        if other is not None and not list(unconditional(field(choice, "consequence"))):
            asked = bare(field(choice, "condition"))
            denied = asked.type == "unary_expression" and text(field(asked, "operator")) == "!"
            said = text(bare(field(asked, "argument"))) if denied else f"!({text(asked)})"
            return [over(choice, f"if ({said}) {text(other.named_children[-1])}")]
    return None


def both_ways(function: Node) -> list[Edit] | None:
    """A step that both ways of a choice end with stands behind the choice."""
    for choice in walk(function, "if_statement"):
        other = choice.child_by_field_name("alternative")
        if other is None:
            continue
        ways = [list(_last_steps(way)) for way in (field(choice, "consequence"), other.named_children[-1])]
        for one, variable, far in ways[0]:
            two = next((n for n, v, f in ways[1] if (v, f) == (variable, far)), None)
            if two is not None and variable not in exposed(function):
                block = choice.parent is not None and choice.parent.type == "compound_statement"
                step = f" {variable} += {far};"
                made = [over(one, ";"), over(two, ";"), behind(choice, step + ("" if block else " }"))]
                return made if block else [ahead(choice, "{ "), *made]
    return None


def _last_steps(way: Node) -> Iterator[tuple[Node, str, int]]:
    """Steps of variables, behind which nothing in a block speaks of them or leaves it."""
    inside = list(unconditional(way))
    for place, one in enumerate(inside):
        (variable, far), later = moved(one), inside[place + 1 :]
        if far and not any(mentions(o, variable) or o.type != "expression_statement" for o in later):
            yield one, variable, far


def twins(function: Node) -> list[Edit] | None:
    """Two counters that begin alike and always move together are one: that which moves last."""
    kinds, begun = types(function), dict[str, tuple[Node, str]]()
    for declaration, one, name in declared(function):
        value = one.child_by_field_name("value")
        if value is not None and value.type == "number_literal" and declaration.type == "declaration":
            begun[text(name)] = (declaration, text(value))
    names = sorted(begun.keys() - exposed(function))
    for first, last in permutations(names, 2):
        steps, theirs = ([_statement(p) for p, _, _ in writes(function) if text(p) == name] for name in (first, last))
        alike = begun[first][1] == begun[last][1] and kinds[first] == kinds[last] and WHOLE.match(kinds[first][0])
        uses = [i for i in walk(function, "identifier") if text(i) == first]
        own = [begun[first][0], *steps]
        left = [i for i in uses if not any(n.start_byte <= i.start_byte < n.end_byte for n in own)]
        known = begun[first][0].parent == begun[last][0].parent and all(
            i.start_byte > begun[last][0].end_byte for i in left
        )
        pairs = list(zip(steps, theirs, strict=False)) if alike and known and len(steps) == len(theirs) else []
        if pairs and all(_side_by_side(one, two, left) for one, two in pairs):
            return [over(begun[first][0], ""), *(over(s, ";") for s in steps), *(over(i, last) for i in left)]
    return None


def _statement(place: Node) -> Node:
    while place.parent is not None and place.type != "expression_statement":
        place = place.parent
    return place


def _side_by_side(one: Node, two: Node, left: list[Node]) -> bool:
    """Whether two steps of one length stand in one block, and between them nothing speaks of the first or leaves."""
    blocks, between = [n.parent for n in (one, two)], (one.end_byte, two.start_byte)
    for place, block in enumerate(blocks):
        while block is not None and block.parent is not None and block.parent.type == "compound_statement":
            block = blocks[place] = block.parent
    same = blocks[0] == blocks[1] and blocks[0] is not None and blocks[0].type == "compound_statement"
    inside = walk(blocks[0], *JUMPS, "continue_statement") if same and blocks[0] is not None else ()
    spoken = any(between[0] <= n.start_byte < between[1] for n in (*left, *inside))
    return same and between[0] <= between[1] and moved(one)[1] == moved(two)[1] != 0 and not spoken


def own_pointers(function: Node) -> list[Edit] | None:
    """A parameter that moves in a branch, `*to++ = v;`, is a local that begins there."""
    body = field(function, "body")
    for parameter in parameters(function):
        name, kind = text(declared_name(field(parameter, "declarator"))), text(field(parameter, "type"))
        steps = [p for p, o, _ in writes(body) if text(p) == name and o in ("++", "--", "+=", "-=")]
        whole = len(steps) == sum(text(p) == name for p, _, _ in writes(body))
        pointed = text(field(parameter, "declarator")).count("*") == 1 and "[" not in text(parameter)
        if steps and whole and pointed and name not in exposed(function) and any(map(_in_branch, steps)):
            read_only = "const " if "const" in text(parameter).split("*")[0] else ""
            own = f"{name}_here"
            said = f" {read_only}{kind} *{own} = {name};"
            return [
                (body.start_byte + 1, body.start_byte + 1, said),
                *(over(i, own) for i in walk(body, "identifier") if text(i) == name),
            ]
    return None


def _in_branch(node: Node) -> bool:
    while node.parent is not None:
        if node.type == "if_statement":
            return True
        node = node.parent
    return False


def followed(function: Node) -> list[Edit] | None:
    """`above = row; row += n;`, where `above` begins a step behind `row`, is that step behind it always."""
    body = field(function, "body")
    begun = {
        text(name): (d, one.child_by_field_name("value")) for d, one, name in declared(body) if d.type == "declaration"
    }
    given = [text(p) for p, _, _ in writes(body)]
    for one, two in (pair for loop in walk(body, *LOOPS) for pair in pairwise(unconditional(field(loop, "body")))):
        (tail, _, lead), (mover, sign, amount) = _only_write(one), _only_write(two)
        if lead is None or amount is None or mover != text(lead) or sign not in ("+=", "-="):
            continue
        known = all(begun.get(name, (None, None))[1] is not None for name in (tail, mover))
        once = given.count(tail) == given.count(mover) == 1 and not {tail, mover} & exposed(function)
        if known and once and not identifiers(amount) & set(given):
            uses = [i for i in walk(body, "identifier") if text(i) == tail]
            (mine, start), (theirs, ahead_) = begun[tail], begun[mover]
            own = [i for i in uses if any(n.start_byte <= i.start_byte < n.end_byte for n in (mine, one))]
            late = mine.parent == theirs.parent and all(i.start_byte > theirs.end_byte for i in uses if i not in own)
            if late and start is not None and ahead_ is not None and _a_step(start, ahead_, sign, amount, set(given)):
                behind_ = f"({mover} {'-' if sign == '+=' else '+'} ({text(amount)}))"
                return [over(mine, ""), over(one, ";"), *(over(i, behind_) for i in uses if i not in own)]
    return None


def _only_write(statement: Node) -> tuple[str, str, Node | None]:
    """The variable that a statement is about, the operator, and the value."""
    found = list(writes(statement)) if statement.type == "expression_statement" else []
    if len(found) != 1 or found[0][0].type != "identifier" or found[0][2] is None:
        return "", "", None
    return text(found[0][0]), found[0][1], bare(found[0][2])


def _a_step(start: Node, far: Node, sign: str, amount: Node, given: set[str]) -> bool:
    """Whether `far` is `start` moved by the amount, and neither begins with what is given another value."""
    if far.type != "binary_expression" or identifiers(far) & given:
        return False
    same = text(bare(field(far, "left"))) == text(bare(start)) and text(bare(field(far, "right"))) == text(amount)
    return same and text(field(far, "operator")) == sign[0]
