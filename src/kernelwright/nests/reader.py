"""Reads a function in normal form: its loops, and what each statement touches. Two arguments never overlap."""

import re
from collections.abc import Mapping
from dataclasses import replace

from tree_sitter import Node

from kernelwright.nests.events import GIVEN, assigned, given_away, variable_of, writes
from kernelwright.nests.heads import WHOLE, Head, head_of, types
from kernelwright.nests.loops import Access, Linear, Loop, Nest, Value
from kernelwright.nests.names import declarators, declared_name, declared_names, mentions, parameters, type_of
from kernelwright.nests.syntax import LOOPS, bare, bare_expression, base_of, called, field, functions, parse, text, walk
from kernelwright.nests.values import BYTES, LOST, Pointer, Values, indices, unit_of, within
from kernelwright.nests.widths import kinds_around, unsigned_bits, width


def read_nest(code: str, name: str, sizes: Mapping[str, int]) -> Nest:
    """The nest of the function `name` in normal form, with these whole numbers passed by value."""
    function = functions(parse(code))[name]
    reader = _Reader(Nest(code, function, sizes=dict(sizes)))
    reader.run()
    return reader.nest


_STEPS = ("++", "--", "+=", "-=")
"""What leaves a pointer in its array."""
ODD = ("reference_declarator", "structured_binding_declarator")
"""What is left of other names, and what may do anything."""


class _Reader(Values):
    def __init__(self, nest: Nest) -> None:
        super().__init__(nest.sizes)
        self.nest = nest
        self.loop: Loop | None = None
        self.guards: tuple[str, ...] = ()
        self.swapped = _swapped(nest.function)
        self.united = any(walk(parse(nest.code), "union_specifier"))
        kinds = types(nest.function).items()
        self.elements = {
            n: BYTES[kind] for n, (said, many) in kinds if many and (kind := said.replace("const ", "")) in BYTES
        }
        nest.mixed |= self.swapped

    def run(self) -> None:
        root = parse(self.nest.code)
        odd = next(walk(field(self.nest.function, "body"), *ODD), None) or next(walk(root, "operator_name"), None)
        if odd is not None:
            raise ValueError(f"{text(odd)!r} may be another name of anything")
        for declaration in (
            *(n for n in root.named_children if n.type == "declaration"),
            *parameters(self.nest.function),
        ):
            for one in declarators(declaration):
                self._declare(declaration, one, own=False)
        self._statement(field(self.nest.function, "body"))

    # --- statements -----------------------------------------------------------------------------------------------

    def _statement(self, node: Node) -> None:
        if node.type in LOOPS:
            self._loop(node)
        elif node.type == "if_statement":
            self._branch(node)
        elif node.type == "declaration":
            for one in declarators(node):
                self._declare(node, one, own=True)
        elif node.type == "expression_statement":
            for one in node.named_children:
                self._expression(one)
        else:
            for child in node.named_children:
                self._statement(child) if child.type.endswith(
                    ("statement", "declaration", "_loop")
                ) else self._expression(child)

    def _declare(self, declaration: Node, one: Node, own: bool) -> None:
        name, kind = text(declared_name(one)), type_of(declaration)
        value = one.child_by_field_name("value") if one.type == "init_declarator" else None
        if value is not None:
            self._reads(value)
        inner = field(one, "declarator") if one.type == "init_declarator" else one
        sizes, starred = self._extents(inner), any(walk(inner, "pointer_declarator"))
        if sizes and not starred:
            self.pointers[name] = Pointer(name, Linear(), tuple(sizes[1:]), unit_of(kind))
            if own:
                self.nest.local_arrays[name] = inner
                self.nest.extents[name] = tuple(sizes)
        elif kind.replace("const ", "").startswith(("std::vector<", "std::array<")):
            self.pointers[name] = Pointer(name, Linear(), (), unit_of(kind))
            self._contained(name, one)
        elif starred or (value is not None and kind == "auto" and self.target(value)):
            self._point(name, kind, value if own else None, tuple(sizes), own)
        elif value is not None and _is_whole(declaration):
            self.known[name] = within(self.value(value), kind)

    def _point(self, name: str, kind: str, value: Node | None, sizes: tuple[int | None, ...], own: bool) -> None:
        """A pointer: to what its first value points to, or to memory of its own."""
        target = self.target(value) if value is not None else None
        fresh = not own or value is None or "alloc" in text(value)
        if target is not None and name in self.swapped:
            self.nest.mixed.add(target.array)
        if fresh and value is not None:
            self._allocated(name, value, kind)
        unit = "" if kind.replace("const ", "") == "auto" else unit_of(kind)
        alone = Pointer(name, Linear(), (), unit) if fresh else LOST
        if target and unit and target.unit and unit != target.unit:
            target = replace(target, offset=None)
        found = replace(target, extents=sizes or target.extents, unit=unit or target.unit) if target else alone
        self.pointers[name] = found

    def _contained(self, name: str, one: Node) -> None:
        """A vector with its length, which is memory of the function's own."""
        said = text(one).partition("(")[2].rpartition(")")[0].split(",")[0]
        size = self.value(bare_expression(said)) if said.strip() else None
        self.nest.extents[name] = (size.constant if size and not size.factors else None,)

    def _allocated(self, name: str, value: Node, kind: str) -> None:
        given = next(iter(walk(value, "argument_list")), None)
        sizes = [self.value(one) for one in given.named_children] if given is not None else []
        total = 1
        for size in sizes:
            total *= size.constant if size and not size.factors else 0
        self.nest.extents[name] = (total // (BYTES.get(kind.replace("const ", ""), 0) or 1) or None,)

    def _extents(self, declarator: Node) -> list[int | None]:
        """Of an array's dimensions, the outermost first."""
        found = list[int | None]()
        while declarator.type == "array_declarator":
            size = declarator.child_by_field_name("size")
            value = self.value(size) if size else None
            found.insert(0, value.constant if value and not value.factors else None)
            declarator = field(declarator, "declarator")
        return found

    def _branch(self, node: Node) -> None:
        condition = bare(field(node, "condition"))
        self._reads(condition)
        before, guards = (dict(self.known), dict(self.pointers)), self.guards
        asked = self.asked(condition)
        for part, guard in (("consequence", asked), ("alternative", "")):
            way = node.child_by_field_name(part)
            self.known, self.pointers = dict(before[0]), dict(before[1])
            self.guards = (*guards, guard) if guard else guards
            if way is not None:
                self._statement(way)
        self.known, self.pointers, self.guards = *before, guards
        self._forget(node)

    def _forget(self, node: Node) -> None:
        """What is assigned within has no known value any more."""
        for name in assigned(node):
            self.known[name] = None
            if name in self.pointers and name not in self.swapped and name not in self.nest.local_arrays:
                stays = all(o in _STEPS for p, o, _ in writes(node) if variable_of(p) == name)
                walks = stays and name not in declared_names(node)
                self.pointers[name] = replace(self.pointers[name], offset=None) if walks else LOST

    def _loop(self, node: Node) -> None:
        loop = Loop(node, head_of(node), self.loop)
        outside = (dict(self.known), dict(self.pointers))
        first = node.child_by_field_name("initializer")
        self._bounds(loop, first)
        (self.loop.children if self.loop else self.nest.loops).append(loop)
        self._forget(node)
        inner, self.loop = self.loop, loop
        self._counting(loop)
        for asked in filter(None, map(node.child_by_field_name, ("condition", "right"))):
            self._reads(asked)
        self._statement(field(node, "body"))
        update = node.child_by_field_name("update")
        if update is not None and loop.head is None:
            self._expression(update)
        self.loop = inner
        self.known, self.pointers = outside
        self._forget(node)

    def _bounds(self, loop: Loop, first: Node | None) -> None:
        """Where its variable begins and what it stays below."""
        head = loop.head
        if first is None:
            return
        if head is None:
            self._statement(first) if first.type == "declaration" else self._expression(first)
            return
        low, high = self.value(field(declarators(first)[0], "value")), self.value(_high(head))
        loop.low, loop.high = self._as_in_c(loop.node, head, within(low, head.kind), high)
        if loop.high is not None and "=" in head.order:
            loop.high = loop.high.plus(Linear({}, 1 if head.step > 0 else -1))
        self._reads(first)

    def _as_in_c(self, node: Node, head: Head, low: Value, high: Value) -> tuple[Value, Value]:
        """Both ends, where no number without a sign may be below zero: it would be a large one then."""
        own = width(head.kind)
        unsigned = not own.signed and own.bits >= 32
        least = [-1 if (found := self.least(end)) is None else found for end in (low, high)]
        either = unsigned or unsigned_bits(_high(head), kinds_around(node))
        return None if unsigned and least[0] < 0 else low, None if either and least[1] < 0 else high

    def _counting(self, loop: Loop) -> None:
        if loop.head is None:
            return
        self.known[loop.head.variable] = Linear({loop.variable: 1})
        last = loop.high.plus(Linear({}, 1)) if loop.high is not None else None
        least = self.least(loop.low if loop.head.step > 0 else last)
        if least is not None:
            self.lows[loop.variable] = least

    # --- expressions ----------------------------------------------------------------------------------------------

    def _expression(self, node: Node) -> None:
        """Anything evaluated for what it does."""
        one = bare(node)
        if one.type == "comma_expression":
            for child in one.named_children:
                self._expression(child)
            return
        if one.type not in ("assignment_expression", "update_expression"):
            self._reads(node)
            return
        place = bare(field(one, "left" if one.type == "assignment_expression" else "argument"))
        name = text(place)
        known, pointer = self.known.get(name), self.pointers.get(name)
        self._reads(node)
        if place.type != "identifier":
            return
        plain = one.type == "assignment_expression" and text(field(one, "operator")) == "="
        if pointer is not None and name not in self.nest.local_arrays:
            if name not in self.swapped:
                value = field(one, "right") if one.type == "assignment_expression" else None
                fresh = plain and value is not None and "alloc" in text(value)
                target = replace(pointer, array=name, offset=Linear()) if fresh else self._moved(pointer, one, plain)
                self.pointers[name] = target or LOST
        else:
            worth = self.value(field(one, "right")) if plain else self._changed(known, one)
            self.known[name] = within(worth, types(self.nest.function).get(name, ("", False))[0]) if worth else None

    def _moved(self, old: Pointer, one: Node, plain: bool) -> Pointer | None:
        if plain:
            return self.target(field(one, "right"))
        by = self._amount(one)
        moved = old.offset.plus(by) if old.offset and by else None
        return replace(old, offset=moved) if not old.extents else None

    def _amount(self, one: Node) -> Value:
        operator = text(field(one, "operator"))
        if one.type == "update_expression":
            return Linear({}, 1 if operator == "++" else -1)
        value = self.value(field(one, "right"))
        return Linear().plus(value, 1 if operator == "+=" else -1) if value and operator in ("+=", "-=") else None

    def _changed(self, old: Value, one: Node) -> Value:
        by = self._amount(one)
        return old.plus(by) if old and by else None

    def _reads(self, node: Node) -> None:
        """All accesses within an expression, those that write among them."""
        places = ("subscript_expression", "pointer_expression", "field_expression")
        if node.type in places and self.is_place(node):
            found, role = self.place(node) or LOST, _role(node)
            call = _addressed(node, decays=bool((there := self.target(node)) and there.extents) or self._is_array(node))
            if call is not None:
                found, role = replace(found, offset=None), "read" if self._only_reads(call, node) else "both"
            for write in {"both": (False, True), "none": ()}.get(role, (role == "write",)):
                self._note(found, write, node)
            self._subscripts(node)
            return
        call = _taking(node) if node.type == "identifier" and text(node) in self.pointers else None
        if call is not None:
            read_only = "const" in self._declared_as(text(node)) or self._only_reads(call, node)
            for write in (False,) if read_only else (False, True):
                self._note(replace(self.pointers[text(node)], offset=None), write, node)
        guards = self.guards
        for number, child in enumerate(node.named_children):
            self.guards = (*guards, *self._guarding(node, number))
            self._reads(child)
        self.guards = guards
        self._within(node)

    def _is_array(self, node: Node) -> bool:
        """Whether a member of a structure is an array."""
        if node.type != "field_expression":
            return False
        members = walk(parse(self.nest.code), "field_declaration")
        made = (d for m in members for d in declarators(m) if any(walk(d, "array_declarator")))
        return text(field(node, "field")) in {text(declared_name(d)) for d in made}

    def _within(self, node: Node) -> None:
        """A variable that changes in the midst of an expression has no known value from there on."""
        if node.type not in ("assignment_expression", "update_expression", "call_expression"):
            return
        for place, operator, _ in writes(node):
            if operator != GIVEN and place.type != "identifier" and not variable_of(place) and not self.is_place(place):
                self._note(LOST, True, place)  # what a call, or a choice of two, leads to
        for name in {variable_of(place) for place, _, _ in writes(node)}:
            if name in self.known:
                self.known[name] = None
            elif name in self.pointers and name not in self.nest.local_arrays and name not in self.swapped:
                self.pointers[name] = LOST

    def _note(self, there: Pointer, write: bool, node: Node) -> None:
        around = self.loop.around if self.loop else ()
        self.nest.accesses.append(Access(there.array, there.offset, write, node, around, self.guards, there.unit))

    def _guarding(self, node: Node, number: int) -> list[str]:
        """What must hold before a part of an expression is evaluated."""
        asked = ""
        if node.type == "binary_expression" and text(field(node, "operator")) == "&&" and number == 1:
            asked = self.asked(field(node, "left"))
        if node.type == "conditional_expression" and number == 1:
            asked = self.asked(field(node, "condition"))
        return [asked] if asked else []

    def _only_reads(self, call: Node, given: Node) -> bool:
        """Whether the function that is called writes nothing through what it is given here."""
        callee = functions(parse(self.nest.code)).get(text(field(call, "function")))
        places = [
            n
            for n, one in enumerate(field(call, "arguments").named_children)
            if one.start_byte <= given.start_byte < one.end_byte
        ]
        if callee is None or not places or places[0] >= len(parameters(callee)):
            return False
        parameter = parameters(callee)[places[0]]
        name = text(declared_name(field(parameter, "declarator")))
        kept = not any(text(base_of(place)) == name for place, _, _ in writes(callee))
        return "const" in type_of(parameter) or (
            kept
            and not any(mentions(c, name) for c in walk(callee, "call_expression", "init_declarator"))
            and not any(
                mentions(value, name) and types(callee).get(text(place), ("", False))[1]
                for place, _, value in writes(callee)
                if value is not None
            )
        )

    def _declared_as(self, name: str) -> str:
        return next(
            (type_of(p) for p in parameters(self.nest.function) if text(declared_name(field(p, "declarator"))) == name),
            "",
        )

    def _subscripts(self, node: Node) -> None:
        """What is read to know the place."""
        while node.type in (
            "subscript_expression",
            "field_expression",
            "pointer_expression",
            "parenthesized_expression",
        ):
            if node.type == "subscript_expression":
                for index in indices(node):
                    self._reads(index)
            node = node.named_children[0]
        if node.type != "identifier":
            for child in node.named_children:
                if bare(child).type == "binary_expression" and self.target(child):
                    self._subscripts(child)
                elif child.type != "identifier" or text(child) not in self.pointers:
                    self._reads(child)


def _is_whole(declaration: Node) -> bool:
    kind = type_of(declaration).replace("std::", "").replace("constexpr ", "")
    return bool(WHOLE.match(kind)) or kind in ("auto", "const auto")


def _high(head: Head) -> Node:
    return bare_expression(head.high)


def _role(node: Node) -> str:
    """`read`, `write`, `both`, or `none` where only its address is asked."""
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        node, outer = outer, outer.parent
    if outer is not None and outer.type == "assignment_expression" and outer.child_by_field_name("left") == node:
        return "write" if text(field(outer, "operator")) == "=" else "both"
    if outer is not None and outer.type == "update_expression":
        return "both"
    if outer is not None and outer.type == "pointer_expression" and text(field(outer, "operator")) == "&":
        return "none"
    call = outer.parent if outer is not None and outer.type == "argument_list" else None
    given = call is not None and call.type == "call_expression" and bare(node) in given_away(call)
    return "both" if given else "read"


def _addressed(node: Node, *, decays: bool) -> Node | None:
    """The call that gets the place's address, from which it reaches what lies around; an array given decays to its address."""
    outer = node.parent
    while outer is not None and outer.type in ("parenthesized_expression", "cast_expression", "binary_expression"):
        outer = outer.parent
    if outer is not None and outer.type == "pointer_expression" and text(field(outer, "operator")) == "&":
        decays, outer = True, outer.parent
    while outer is not None and outer.type in ("parenthesized_expression", "cast_expression", "binary_expression"):
        outer = outer.parent
    return outer.parent if decays and outer is not None and outer.type == "argument_list" else None


def _taking(node: Node) -> Node | None:
    """The call that a pointer goes into, where its accesses are not seen."""
    outer: Node | None = node
    while outer is not None and not outer.type.endswith("statement") and outer.type != "declaration":
        if outer.type == "argument_list" and outer.parent is not None and not called(outer.parent).endswith("_cast"):
            return outer.parent
        outer = outer.parent
    return None


def _swapped(function: Node) -> set[str]:
    """Pointers that are only ever swapped, `t = a; a = b; b = t;`: they stay pointers to different arrays."""
    found = set[str]()
    for block in walk(function, "compound_statement"):
        said = [re.sub(r"\s", "", text(s)).rstrip(";") for s in block.named_children]
        for one, two, three in zip(said, said[1:], said[2:], strict=False):
            parts = [p.split("=") for p in (one, two, three)]
            if all(len(p) == 2 for p in parts):
                (t, a), (b, c), (d, e) = parts
                if a == b and c == d and e.isidentifier() and t.endswith(e) and a.isidentifier() and c.isidentifier():
                    found |= {a, c, e}
    return found
