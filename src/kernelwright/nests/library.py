"""Algorithms of the C++ standard library (`<algorithm>`, `<numeric>`), written out as the loops that they stand for.

A row of `ALGORITHMS` is the body of the loop: `e0` is the element that the first argument leads to, `a2` the third argument as
it stands, `@3(e0)` the function in the fourth applied, `r` the value that the call has, and `at` the pass. What is in no row,
or stands where a loop cannot come before it, stays a call.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from kernelwright.nests.edits import Edit, ahead, behind, changed, over, renamed
from kernelwright.nests.names import declarators, declared_name
from kernelwright.nests.storage import length_of
from kernelwright.nests.syntax import bare, called, field, text, walk


class Algorithm(NamedTuple):
    """What a call does pass by pass; with `start` it has a value, which is that at first."""

    body: str
    start: str = ""
    kind: str = "auto"
    first: int = 0
    """The pass that the loop begins with."""
    before: str = ""
    """What is done before it."""


_SUM, _FIRST = "r = r + e0;", "if (length > 0) z2 = z0;"
_ONWARD = Algorithm("e2 = p2 + e0;", first=1, before=_FIRST)
ALGORITHMS = {
    ("fill", 3): Algorithm("e0 = a2;"),
    ("fill_n", 3): Algorithm("e0 = a2;"),
    ("copy", 3): Algorithm("e2 = e0;"),
    ("copy_n", 3): Algorithm("e2 = e0;"),
    ("iota", 3): Algorithm("e0 = a2 + at;"),
    ("transform", 4): Algorithm("e2 = @3(e0);"),
    ("transform", 5): Algorithm("e3 = @4(e0, e2);"),
    ("for_each", 3): Algorithm("@2(e0);"),
    ("for_each_n", 3): Algorithm("@2(e0);"),
    ("replace", 4): Algorithm("if (e0 == a2) e0 = a3;"),
    ("replace_if", 4): Algorithm("if (@2(e0)) e0 = a3;"),
    ("swap_ranges", 3): Algorithm("const auto own = e0; e0 = e2; e2 = own;"),
    ("partial_sum", 3): _ONWARD,
    ("inclusive_scan", 3): _ONWARD,
    ("exclusive_scan", 4): Algorithm("const auto own = e0; e2 = r; r = r + own;", "a3"),
    ("adjacent_difference", 3): Algorithm("e2 = e0 - p0;", first=1, before=_FIRST),
    ("accumulate", 3): Algorithm(_SUM, "a2"),
    ("accumulate", 4): Algorithm("r = @3(r, e0);", "a2"),
    ("reduce", 3): Algorithm(_SUM, "a2"),
    ("reduce", 4): Algorithm("r = @3(r, e0);", "a2"),
    ("inner_product", 4): Algorithm("r = r + e0 * e2;", "a3"),
    ("inner_product", 6): Algorithm("r = @4(r, @5(e0, e2));", "a3"),
    ("transform_reduce", 4): Algorithm("r = r + e0 * e2;", "a3"),
    ("transform_reduce", 5): Algorithm("r = @3(r, @4(e0));", "a2"),
    ("transform_reduce", 6): Algorithm("r = @4(r, @5(e0, e2));", "a3"),
    ("count", 3): Algorithm("r += e0 == a2 ? 1 : 0;", "0", "long"),
    ("count_if", 3): Algorithm("r += @2(e0) ? 1 : 0;", "0", "long"),
    ("any_of", 3): Algorithm("if (@2(e0)) r = true;", "false", "bool"),
    ("all_of", 3): Algorithm("if (!(@2(e0))) r = false;", "true", "bool"),
    ("none_of", 3): Algorithm("if (@2(e0)) r = false;", "true", "bool"),
    ("equal", 3): Algorithm("if (!(e0 == e2)) r = false;", "true", "bool"),
    ("*max_element", 2): Algorithm("if (r < e0) r = e0;", "z0"),
    ("*min_element", 2): Algorithm("if (e0 < r) r = e0;", "z0"),
    ("max_element-", 2): Algorithm("if (e(r) < e0) r = at;", "0", "long"),
    ("min_element-", 2): Algorithm("if (e0 < e(r)) r = at;", "0", "long"),
    ("find-", 3): Algorithm("if (e0 == a2) { r = at; break; }", "length", "long"),
    ("find_if-", 3): Algorithm("if (@2(e0)) { r = at; break; }", "length", "long"),
}
"""By name and number of arguments; `*` means the element that the result leads to, and `-` how far it is from the first."""
_NAMES = {name.strip("*-") for name, _ in ALGORITHMS}
_OPERATORS = {
    "plus": "+", "minus": "-", "multiplies": "*", "divides": "/", "modulus": "%", "bit_and": "&", "bit_or": "|",
    "bit_xor": "^", "logical_and": "&&", "logical_or": "||", "less": "<", "greater": ">", "equal_to": "==",
}  # fmt: skip
_OBJECT = re.compile(r"(?:std::)?(\w+)(?:<[^<>]*>)?\s*(?:\(\)|\{\})")
_EFFECTS = ("update_expression", "assignment_expression")
_PARTS = re.compile(r"@(\d)\(|\b(e\(r\)|[eazp]\d|r|at|own|length)(?!\w)")


def written_out(code: str) -> str:
    """The code without calls of algorithms that stand for loops."""
    return changed(
        code, lambda root, number: (edits for call in _calls(root) if (edits := _Call(call, number).edits()))
    )


def _calls(root: Node) -> Iterator[Node]:
    """Calls of the library, those within others first."""
    everywhere = re.search(r"\busing namespace std\b", text(root))
    for call in reversed(list(walk(root, "call_expression"))):
        own = everywhere or text(field(call, "function")).startswith("std::")
        if called(call) in _NAMES and (own or re.search(rf"\busing std::{called(call)}\b", text(root))):
            yield call


class _Place(NamedTuple):
    """Where an iterator begins: an array, and how far behind its beginning."""

    array: str
    offset: str = ""

    def element(self, at: str) -> str:
        return f"{self.array}[{f'({self.offset}) + ' if self.offset else ''}{at}]"


def _place(given: Node) -> _Place:
    given = bare(given)
    operator = text(field(given, "operator")) if given.type == "binary_expression" else ""
    if operator in ("+", "-"):
        left, right = _place(field(given, "left")), text(field(given, "right"))
        right = right if operator == "+" else f"-({right})"
        return _Place(left.array, f"{left.offset} + {right}" if left.offset else right)
    led = field(given, "argument") if given.type == "pointer_expression" and text(given).startswith("&") else given
    if led.type == "subscript_expression" and led != given:
        return _Place(text(field(led, "argument")), text(field(led, "indices")).strip("[]"))
    said = text(given)
    ends = re.fullmatch(r"(\w+)\.c?(begin|end)\(\)", said)
    if ends:
        return _Place(ends[1], length_of(ends[1], given) if ends[2] == "end" else "")
    return _Place(said if re.fullmatch(r"\w+", said) else f"({said})")


class _Call:
    def __init__(self, call: Node, number: int) -> None:
        self.call, self.number = call, number
        self.name, given = called(call), field(call, "arguments").named_children
        self.given = [one for one in given if "execution::" not in text(one)]
        self.whole, kind = self._with_what_is_asked()
        self.row = ALGORITHMS.get((kind, len(self.given)))
        self.at, self.result = f"at_std{number}", f"value_std{number}"
        self.first: list[str] = []
        """What has to come before the loop."""

    def _with_what_is_asked(self) -> tuple[Node, str]:
        """The expression that has a value, and the row that it is in: `*` of the call, or its distance from the first."""
        parent = self.call.parent
        assert parent is not None
        if parent.type == "pointer_expression" and text(parent).startswith("*"):
            return parent, f"*{self.name}"
        begun = text(self.given[0]) if self.given else ""
        if parent.type == "binary_expression" and text(parent).endswith(f"- {begun}"):
            return parent, f"{self.name}-"
        above = parent.parent
        apart = parent.type == "argument_list" and text(parent.named_children[0]) == begun
        if apart and above is not None and called(above) == "distance":
            return above, f"{self.name}-"
        return self.call, self.name

    def edits(self) -> list[Edit]:
        """The loop ahead of the call's statement, or in its place; none: it has no row, or nothing can come before it."""
        statement = self._statement()
        if self.row is None or statement is None or self._overwrites():
            return []
        alone = statement.type == "expression_statement" and statement.named_children == [self.whole]
        if not self.row.start and not alone:
            return []
        made = self._loop(self.row)
        if alone:
            return [over(statement, f"{{ {made} }}")]
        said = [ahead(statement, f"{made} "), over(self.whole, self.result)]
        if statement.type == "declaration":
            return said
        return [ahead(statement, f"{{ {made} "), said[1], behind(statement, " }")]

    def _overwrites(self) -> bool:
        """Whether a pass would read what the pass before it has replaced."""
        return self.name == "adjacent_difference" and _place(self.given[0]).array == _place(self.given[2]).array

    def _statement(self) -> Node | None:
        """What the call is part of, if all of it that comes before the call changes nothing, and the call always comes."""
        node = self.whole
        while node.parent is not None and not node.type.endswith("statement") and node.type != "declaration":
            node = node.parent
            if node.type in ("conditional_expression", "lambda_expression", "comma_expression") or (
                node.type == "binary_expression" and text(field(node, "operator")) in ("&&", "||")
            ):
                return None
        parent = node.parent
        looped = parent is not None and parent.type == "for_statement" and parent.child_by_field_name("body") != node
        first = node.type == "if_statement" and parent is not None and parent.type != "else_clause"
        plain = first or node.type in ("expression_statement", "return_statement", "declaration")
        if not plain or looped or (node.type == "declaration" and len(list(declarators(node))) > 1):
            return None
        asked = field(node, "condition") if first else node
        effects = [one for one in walk(asked, *_EFFECTS) if not _within_lambda(one)]
        return None if len(effects) > 1 or any(one.type == "update_expression" for one in effects) else node

    def _loop(self, row: Algorithm) -> str:
        length = self._length()
        words = {"at": self.at, "r": self.result, "length": f"({length})", "own": f"own_std{self.number}"}
        body = self._worded(row.body, words)
        begun = f"{row.kind} {self.result} = {self._worded(row.start, words)}; " if row.start else ""
        ahead_ = self._worded(row.before, words)
        head = f"for (long {self.at} = {row.first}; {self.at} < {length}; ++{self.at})"
        several = body.count(";") > 1
        return f"{' '.join(self.first)} {begun}{ahead_} {head} {f'{{ {body} }}' if several else body}"

    def _length(self) -> str:
        if self.name.endswith("_n"):
            return f"({text(self.given[1])})"
        one, two = _place(self.given[0]), _place(self.given[1])
        if one.array != two.array:
            return f"({text(self.given[1])}) - ({text(self.given[0])})"
        if not one.offset:
            return f"({two.offset or '0'})"
        begun = f"{one.offset} + "
        return (
            f"({two.offset.removeprefix(begun)})"
            if two.offset.startswith(begun)
            else f"({two.offset}) - ({one.offset})"
        )

    def _worded(self, said: str, words: dict[str, str]) -> str:
        """A row's text with what the arguments are."""
        found = _PARTS.search(said)
        if found is None:
            return said
        if found[1] is None:
            return said[: found.start()] + self._word(found[2], words) + self._worded(said[found.end() :], words)
        end = _closing(said, found.end())
        applied = self._applied(int(found[1]), [self._worded(one, words) for one in _listed(said[found.end() : end])])
        return said[: found.start()] + applied + self._worded(said[end + 1 :], words)

    def _word(self, word: str, words: dict[str, str]) -> str:
        if word in words:
            return words[word]
        if word == "e(r)":
            return _place(self.given[0]).element(self.result)
        given = self.given[int(word[1])]
        places = {"e": self.at, "z": "0", "p": f"{self.at} - 1"}
        return _place(given).element(places[word[0]]) if word[0] in places else f"{text(given)}"

    def _applied(self, index: int, values: list[str]) -> str:
        """A function's call, or an operator between two values; a lambda gets a name first."""
        function = self.given[index]
        one = _OBJECT.fullmatch(text(function))
        if one and one[1] in _OPERATORS and len(values) == 2:
            return f"(({values[0]}) {_OPERATORS[one[1]]} ({values[1]}))"
        if function.type != "lambda_expression":
            return f"{text(function)}({', '.join(values)})"
        place = next(walk(field(function, "declarator"), "reference_declarator"), None)
        if place is not None and self.name.startswith("for_each"):
            return renamed(field(function, "body"), {text(declared_name(place)): values[0]})
        name = f"call_std{self.number}_{index}"
        said = f"auto {name} = {text(function)};"
        self.first += [] if said in self.first else [said]
        return f"{name}({', '.join(values)})"


def _within_lambda(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type != "lambda_expression":
        above = above.parent
    return above is not None


def _closing(said: str, start: int) -> int:
    """Where the parenthesis ends that was opened before `start`."""
    depth = 1
    for place in range(start, len(said)):
        depth += {"(": 1, ")": -1}.get(said[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a parenthesis without end in {said!r}")


def _listed(said: str) -> list[str]:
    """What stands between commas that are within no parentheses."""
    return [one.strip() for one in re.split(r",(?![^()]*\))", said)]
