"""Loops that count in other words, as a `for` with a variable of its own: `do … while`, and pointers that walk to an end."""

from tree_sitter import Node

from kernelwright.nests.heads import Head, after, bound_of, head_of, leaves, step_of, types, unconditional
from kernelwright.nests.syntax import (
    JUMPS,
    Edit,
    ahead,
    assigned,
    bare,
    bare_expression,
    behind,
    declarators,
    declared_names,
    edited,
    field,
    first_event,
    identifiers,
    mentions,
    over,
    text,
    walk,
    writes,
)


def done_once(function: Node) -> list[Edit] | None:
    """`do … while (++i < n)` as a `for` that runs once at least."""
    kinds = types(function)
    for loop in walk(function, "do_statement"):
        body, condition = field(loop, "body"), bare(field(loop, "condition"))
        if leaves(body, "continue_statement", *JUMPS):
            continue
        found = _step_in(condition) or _step_last(body, condition)
        if found is None:
            continue
        variable, step, asked, gone = found
        bound = bound_of(asked, variable)
        own = sum(text(p) == variable for p, _, _ in writes(loop))
        if bound is None or own != 1 or variable not in kinds or not _steady(bound[1], body, variable):
            continue
        order = bound[0].replace("!=", "<" if step > 0 else ">")
        if (order[0] == "<") != (step > 0):
            continue
        near = "0" if kinds[variable][1] else variable
        end = f"({text(bound[1])}) - {variable}" if kinds[variable][1] else f"({text(bound[1])})"
        first = near if "=" in order else f"{near} {'+' if step > 0 else '-'} 1"
        far = f"({end} {'>' if step > 0 else '<'} {near} ? {end} : {first})"
        return _counted(function, loop, kinds[variable], Head(variable, variable, order, far, step), gone)
    return None


def _step_in(condition: Node) -> tuple[str, int, Node, Node | None] | None:
    """`++i < n` and `--left`: the variable, its step, and the condition without it."""
    steps = list(walk(condition, "update_expression"))
    if len(steps) != 1 or not text(steps[0]).startswith(("++", "--")):
        return None
    variable = text(field(steps[0], "argument"))
    plain = (steps[0].start_byte - condition.start_byte, steps[0].end_byte - condition.start_byte, variable)
    asked = bare_expression(edited(text(condition), [plain]))
    return variable, step_of(steps[0], variable), asked, None


def _step_last(body: Node, condition: Node) -> tuple[str, int, Node, Node | None] | None:
    """A step in the body, behind which nobody speaks of the variable but the condition."""
    inside = list(unconditional(body))
    for place, one in enumerate(inside):
        step = bare(one.named_children[0]) if one.type == "expression_statement" and one.named_children else None
        variable = next((text(p) for p, _, _ in writes(step) if p.type == "identifier"), "") if step is not None else ""
        far = step_of(step, variable) if step is not None and variable else 0
        if far and mentions(condition, variable) and not any(mentions(o, variable) for o in inside[place + 1 :]):
            return variable, far, condition, one
    return None


def _steady(far: Node, body: Node, variable: str) -> bool:
    """Whether an end stays the same while a loop runs."""
    deep = any(walk(far, "subscript_expression", "pointer_expression", "call_expression", "field_expression"))
    return not deep and not ((identifiers(far) & assigned(body)) | ({variable} & identifiers(far)))


def walked(function: Node) -> list[Edit] | None:
    """`for (; p < end; ++p)` of a pointer counts its elements."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        first, condition, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
        body = field(loop, "body")
        if condition is None or update is None or leaves(body, *JUMPS):
            continue
        variable = next((text(p) for p, _, _ in writes(update)), "")
        step, bound = step_of(update, variable), bound_of(condition, variable)
        if not step or bound is None or not kinds.get(variable, ("", False))[1] or variable in assigned(body):
            continue
        order = bound[0].replace("!=", "<" if step > 0 else ">")
        if (order[0] == "<") != (step > 0) or not _steady(bound[1], body, variable):
            continue
        if first is not None:  # what comes first stands before it
            one = f"{text(first).rstrip(';')};"
            if first.type == "declaration" and len(declarators(first)) != 1:
                continue
            start = next(c for c in loop.children if c.type == "(").end_byte
            return [
                (loop.start_byte, start, f"{{ {one} for (; "),
                (first.start_byte, condition.start_byte, ""),
                behind(loop, " }"),
            ]
        return _counted(
            function,
            loop,
            kinds[variable],
            Head(variable, variable, order, f"({text(bound[1])}) - {variable}", step),
            None,
        )
    return None


def gathered(function: Node) -> list[Edit] | None:
    """A variable that a pass advances several times, `*p++ = x; *p++ = y;`, is advanced once."""
    for loop in walk(function, "for_statement"):
        body = field(loop, "body")
        if head_of(loop) is None or leaves(body, "continue_statement", *JUMPS):
            continue
        steps = dict[str, list[tuple[Node, int]]]()
        for one in unconditional(body):
            inner = bare(one.named_children[0]) if one.type == "expression_statement" and one.named_children else None
            variable = next((text(p) for p, _, _ in writes(inner) if p.type == "identifier"), "") if inner else ""
            far = step_of(inner, variable) if inner is not None and variable else 0
            steps.setdefault(variable, []).extend([(one, far)] if far else [])
        for variable, found in steps.items():
            whole = sum(text(p) == variable for p, _, _ in writes(body))
            if len(found) > 1 and whole == len(found) and variable not in declared_names(body):
                return _gathered(body, variable, found)
    return None


def _gathered(body: Node, variable: str, steps: list[tuple[Node, int]]) -> list[Edit]:
    made = [over(one, ";") for one, _ in steps[:-1]]
    made.append(over(steps[-1][0], f"{variable} += {sum(far for _, far in steps)};"))
    for i in walk(body, "identifier"):
        before = sum(far for one, far in steps if one.end_byte <= i.start_byte)
        if (
            text(i) == variable
            and before
            and not any(one.start_byte <= i.start_byte < one.end_byte for one, _ in steps)
        ):
            made.append(over(i, f"({variable} + {before})"))
    return made


def _counted(function: Node, loop: Node, kind: tuple[str, bool], head: Head, gone: Node | None) -> list[Edit]:
    """The loop with a variable of its own: the old one's value, or how far a pointer has walked."""
    body, old, own = field(loop, "body"), head.variable, f"{head.variable}_{loop.start_byte}"
    head = Head(own, "0" if kind[1] else old, head.order, head.high, head.step)
    place = f"({old} + {own})" if kind[1] else own
    called = "long" if kind[1] else kind[0].replace("const ", "")
    said = f"for ({called} {own} = {head.low}; {own} {head.order} {head.high}; {own} += {head.step}) "
    said = said.replace(f"+= {head.step})", f"-= {-head.step})") if head.step < 0 else said
    inside = [
        (i.start_byte, i.end_byte, place)
        for i in walk(body, "identifier")
        if text(i) == old and (gone is None or not gone.start_byte <= i.start_byte < gone.end_byte)
    ]
    made: list[Edit] = [(loop.start_byte, body.start_byte, said), *inside, *([over(gone, ";")] if gone else [])]
    made += [(body.end_byte, loop.end_byte, "")] if loop.type == "do_statement" else []
    if first_event(list(after(loop)), old) == "read":
        last = f"{old} += {head.step} * {head.passes};"
        made += [ahead(loop, "{ "), (loop.end_byte, loop.end_byte, f" {last} }}")]
    return made
