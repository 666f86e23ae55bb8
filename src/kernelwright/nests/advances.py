"""Variables that advance by the same amount in every pass of a loop become what they are in that pass."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.nests.edits import Edit, ahead, behind, over
from kernelwright.nests.events import assigned, first_event, writes
from kernelwright.nests.heads import WHOLE, Head, after, head_of, leaves, step_of, types, unconditional
from kernelwright.nests.names import declared_names
from kernelwright.nests.syntax import JUMPS, bare_expression, base_of, field, text, walk
from kernelwright.nests.widths import width


def advanced(function: Node) -> list[Edit] | None:
    """A variable that every pass of a loop advances alike becomes its value in that pass."""
    kinds = types(function)
    for loop in reversed(list(walk(function, "for_statement"))):
        head, body = head_of(loop), field(loop, "body")
        if head is None or leaves(body, "continue_statement", *JUMPS):
            continue
        inside = declared_names(body)
        for statement in unconditional(body):
            found = (
                next(iter(_advance(statement, kinds)), None)
                if statement.type in ("expression_statement", "declaration")
                else None
            )
            if found is None or found[0] in inside or sum(text(p) == found[0] for p, _, _ in writes(body)) != 1:
                continue
            variable, amount, place = found
            changed = assigned(body) | {head.variable} | inside | {text(base_of(p)) for p, _, _ in writes(body)}
            if (
                any(text(i) in changed for i in walk(bare_expression(amount), "identifier"))
                or variable == head.variable
            ):
                continue
            kind, pointer = kinds[variable]
            return _closed(loop, head, body, ("" if pointer else kind.replace("const ", ""), variable, amount), place)
    return None


def _advance(statement: Node, kinds: dict[str, tuple[str, bool]]) -> Iterator[tuple[str, str, Node]]:
    """A variable, by how much the statement advances it, and the expression that does."""
    for one in statement.named_children if statement.type == "expression_statement" else []:
        if one.type not in ("update_expression", "assignment_expression"):
            continue
        place, operator, value = next(iter(writes(one)))
        variable, kind = text(place), kinds.get(text(place))
        if place.type != "identifier" or kind is None or not (kind[1] or WHOLE.match(kind[0])):
            continue
        sign = "-(long)" if "-" in operator else ""  # what has no sign has no negative
        if value is None:
            yield variable, f"{sign[:1]}1", one
        elif operator in ("+=", "-="):
            yield variable, f"{sign}({text(value)})", one
        elif operator == "=" and (amount := step_of(one, variable)):
            yield variable, str(amount), one


def _closed(loop: Node, head: Head, body: Node, what: tuple[str, str, str], place: Node) -> list[Edit]:
    """`what` is the variable's type, empty for a pointer, its name, and by how much it advances."""
    kind, variable, amount = what
    low = f"({head.kind})({head.low})" if head.kind and width(head.kind).wraps else f"({head.low})"
    passed = f"({head.variable} - {low})" if head.step > 0 else f"({low} - {head.variable})"
    passed = passed if low[1:-1] == head.low else f"(long){passed}"
    passed += f" / {abs(head.step)}" if abs(head.step) != 1 else ""
    cast = f"({kind})" if kind and width(kind).wraps and width(kind).bits < 64 else ""
    before, later = (f"({cast}({variable} + ({amount}) * ({passed}{more})))" for more in ("", " + 1"))
    before, later = (said if cast else said[1:-1] for said in (before, later))
    edits: list[Edit] = [over(place, "")]
    for i in walk(body, "identifier"):
        if text(i) == variable and not place.start_byte <= i.start_byte < place.end_byte:
            edits.append(over(i, before if i.start_byte < place.start_byte else later))
    if first_event(list(after(loop)), variable) == "read":
        edits += [ahead(loop, "{ "), behind(loop, f" {variable} += ({amount}) * {head.passes}; }}")]
    return edits
