"""Loops that count in other words, as a `for` with a variable of its own: `do … while`, and pointers that walk to an end."""

from tree_sitter import Node

from kernelwright.nests.edits import Edit, behind, inside, over
from kernelwright.nests.events import assigned, writes
from kernelwright.nests.heads import Head, bound_of, head_of, leaves, moved, step_of, types, unconditional
from kernelwright.nests.names import declarators, declared_names, identifiers
from kernelwright.nests.syntax import JUMPS, bare, field, text, walk
from kernelwright.nests.widths import as_counted, compared_unsigned, width


def done_once(function: Node) -> list[Edit] | None:
    """`do … while (++i < n)` as a `for` that runs once at least."""
    kinds = types(function)
    for loop in walk(function, "do_statement"):
        body, condition = field(loop, "body"), bare(field(loop, "condition"))
        if leaves(body, "continue_statement", *JUMPS):
            continue
        if text(condition) in ("0", "false"):
            return [over(loop, text(body))]
        steps = list(walk(condition, "update_expression"))
        if len(steps) == 1 and text(steps[0]).startswith(("++", "--")):
            plain = over(steps[0], text(field(steps[0], "argument")))
            return [*inside(body, last=f"{text(steps[0])};"), plain]
        made = _by_count(loop, condition, kinds)
        if made:
            return made
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
        kind = kinds.get(variable, ("", True))[0].replace("const ", "")
        unsigned = not kinds.get(variable, ("", True))[1] and compared_unsigned(kind, condition, loop)
        bound = bound_of(condition, variable, unsigned=unsigned) if far else None
        if bound is None or variable not in kinds:
            continue
        pointer = kinds[variable][1]
        wide = pointer or not width(kind).wraps
        if not _steady(bound[1], body, variable):  # the other side moves too: `while (lo < hi) { …; lo++; hi--; }`
            other = text(bare(bound[1]))
            far -= next((f for v, f in map(moved, unconditional(body)) if v == other), far)
            once = sum(text(p) == other for p, _, _ in writes(body)) == 1
            if not far or not once or bound[0] == "!=" or loop.type != "while_statement" or not (wide or abs(far) <= 2):
                continue
        order = bound[0].replace("!=", "<" if far > 0 else ">")
        if (order[0] == "<") != (far > 0) or sum(text(p) == variable for p, _, _ in writes(body)) != 1:
            continue
        once = loop.type == "do_statement"
        low = f"{variable} + {far}" if once else variable
        if not pointer and not as_counted(kind, low, bound[0], bound[1], far, loop):
            continue
        head = Head(variable, low, order, text(bound[1]), far, "" if pointer else kind)
        own, end = f"{variable}_{loop.start_byte}", f"end_{loop.start_byte}"
        said = f"{{ const long {end} = {head.passes}{' + 1' if once else ''}; for (long {own} = 0; {own} < {end}; ++{own}) "
        return [(loop.start_byte, body.start_byte, said), (body.end_byte, loop.end_byte, " }")]
    return None


def _steady(far: Node, body: Node, variable: str) -> bool:
    """Whether an end stays the same while a loop runs."""
    deep = any(walk(far, "subscript_expression", "pointer_expression", "call_expression", "field_expression"))
    return not deep and not ((identifiers(far) & assigned(body)) | ({variable} & identifiers(far)))


def walked(function: Node) -> list[Edit] | None:
    """`for (; p < end; p += n)` of a pointer is run as often as it takes to reach its end, or to pass it."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        first, condition, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
        body = field(loop, "body")
        if condition is None or update is None or leaves(body, "continue_statement", *JUMPS):
            continue
        variable = next((text(p) for p, _, _ in writes(update)), "")
        step, by, bound = step_of(update, variable), _amount(update, variable), bound_of(condition, variable)
        pointer = kinds.get(variable, ("", False))[1] and not {variable, by} & assigned(body)
        if not (step or by) or bound is None or not pointer or not _steady(bound[1], body, variable):
            continue
        order = bound[0].replace("!=", "<" if step >= 0 else ">")
        if (order[0] == "<") != (step >= 0) or (by and order != "<"):
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
        passes = f"(({text(bound[1])}) - {variable} + {by} - 1) / {by}"
        passes = passes if by else Head(variable, variable, order, text(bound[1]), step).passes
        own, end = f"{variable}_{loop.start_byte}", f"end_{loop.start_byte}"
        said = f"{{ const long {end} = {passes}; for (long {own} = 0; {own} < {end}; ++{own}) "
        return [(loop.start_byte, body.start_byte, said), *inside(body, last=f"{text(update)};"), behind(loop, " }")]
    return None


def _amount(update: Node, variable: str) -> str:
    """By how much an expression advances a variable, where that is a name; empty: it does something else."""
    found = list(writes(update))
    plain = len(found) == 1 and text(found[0][0]) == variable and found[0][1] == "+=" and found[0][2] is not None
    value = bare(found[0][2]) if plain and found[0][2] is not None else None
    return text(value) if value is not None and value.type == "identifier" else ""


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
