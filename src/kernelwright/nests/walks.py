"""Loops that count in other words, as a `for` with a variable of its own: `do … while`, and pointers that walk to an end."""

from tree_sitter import Node

from kernelwright.nests.edits import Edit, ahead, behind, edited, over
from kernelwright.nests.events import assigned, first_event, writes
from kernelwright.nests.heads import Head, after, bound_of, head_of, leaves, moved, step_of, types, unconditional
from kernelwright.nests.names import declarators, declared_names, identifiers, mentions
from kernelwright.nests.syntax import JUMPS, bare, bare_expression, field, text, walk


def done_once(function: Node) -> list[Edit] | None:
    """`do … while (++i < n)` as a `for` that runs once at least."""
    kinds = types(function)
    for loop in walk(function, "do_statement"):
        body, condition = field(loop, "body"), bare(field(loop, "condition"))
        if leaves(body, "continue_statement", *JUMPS):
            continue
        if text(condition) in ("0", "false"):
            return [over(loop, text(body))]
        found = _step_in(condition) or _step_last(body, condition)
        if found is None:
            counted = _by_count(loop, condition, kinds)
            if counted:
                return counted
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


def stepped_midway(function: Node) -> list[Edit] | None:
    """`while (i < n) { … i++; … }`, where more is said of `i` behind the step."""
    kinds = types(function)
    for loop in walk(function, "while_statement"):
        if not leaves(field(loop, "body"), "continue_statement", *JUMPS):
            made = _by_count(loop, bare(field(loop, "condition")), kinds)
            if made:
                return made
    return None


def _by_count(loop: Node, condition: Node, kinds: dict[str, tuple[str, bool]]) -> list[Edit] | None:
    """A loop over how often it runs, whose body still advances the variable."""
    body = field(loop, "body")
    for one in unconditional(body):
        variable, far = moved(one)
        bound = bound_of(condition, variable) if far else None
        if bound is None or variable not in kinds or not _steady(bound[1], body, variable):
            continue
        order = bound[0].replace("!=", "<" if far > 0 else ">")
        if (order[0] == "<") != (far > 0) or sum(text(p) == variable for p, _, _ in writes(body)) != 1:
            continue
        once = loop.type == "do_statement"
        head = Head(variable, f"{variable} + {far}" if once else variable, order, text(bound[1]), far)
        own, end = f"{variable}_{loop.start_byte}", f"end_{loop.start_byte}"
        said = f"{{ const long {end} = {head.passes}{' + 1' if once else ''}; for (long {own} = 0; {own} < {end}; ++{own}) "
        return [(loop.start_byte, body.start_byte, said), (body.end_byte, loop.end_byte, " }")]
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
        variable, far = moved(one)
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
        step = step or (1 if first is not None and _amount(update, variable) else 0)
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


def _amount(update: Node, variable: str) -> str:
    """By how much an expression advances a variable, where that is a name; empty: it does something else."""
    found = list(writes(update))
    plain = len(found) == 1 and text(found[0][0]) == variable and found[0][1] == "+=" and found[0][2] is not None
    value = bare(found[0][2]) if plain and found[0][2] is not None else None
    return text(value) if value is not None and value.type == "identifier" else ""


def by_rows(function: Node) -> list[Edit] | None:
    """`for (; p < end; p += n)` of a pointer: an end that it reaches, or never passes, says how often."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        first, condition, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
        body = field(loop, "body")
        if first is not None or condition is None or update is None or leaves(body, "continue_statement", *JUMPS):
            continue
        variable = next((text(p) for p, _, _ in writes(update)), "")
        by, bound = _amount(update, variable), bound_of(condition, variable)
        if not by or bound is None or not kinds.get(variable, ("", False))[1] or bound[0] not in ("<", "!="):
            continue
        if _steady(bound[1], body, variable) and not {by, variable} & assigned(body):
            own, end = f"{variable}_{loop.start_byte}", f"end_{loop.start_byte}"
            said = f"{{ const long {end} = (({text(bound[1])}) - {variable} + {by} - 1) / {by}; "
            said += f"for (long {own} = 0; {own} < {end}; ++{own}) {{ "
            return [(loop.start_byte, body.start_byte, said), behind(body, f" {text(update)}; }} }}")]
    return None


def gathered(function: Node) -> list[Edit] | None:
    """A variable that a pass advances several times, `*p++ = x; *p++ = y;`, is advanced once."""
    for loop in walk(function, "for_statement"):
        body = field(loop, "body")
        if head_of(loop) is None or leaves(body, "continue_statement", *JUMPS):
            continue
        steps = dict[str, list[tuple[Node, int]]]()
        for one in unconditional(body):
            variable, far = moved(one)
            if far:
                steps.setdefault(variable, []).append((one, far))
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
