"""Faults that are put into right kernels by rule: of C++ by its syntax tree, of Triton by Python's.

A rule looks at one place of the text and says what could stand there instead. To add one, add a function and its row in
`CPP_RULES` or `TRITON_RULES`; the name of the row is the kind of fault that the table of results counts.
"""

import ast
import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Node

from kernelwright.nests.edits import Edit, edited
from kernelwright.nests.syntax import parse, text, walk

ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "+", "+=": "-=", "-=": "+=", "*=": "+="}
EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&", "&": "|", "|": "&"}
FUNCTIONS = {
    "max": "min", "min": "max", "fmax": "fmin", "fmin": "fmax", "exp": "exp2", "log": "log2", "sqrt": "cbrt", "fabs": "",
    "abs": "", "floor": "ceil", "ceil": "floor", "round": "trunc", "nearbyint": "floor", "tanh": "erf", "erf": "tanh",
    "cos": "sin", "sin": "cos",
}  # fmt: skip
IN_TRITON = {
    "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "sum": "max", "exp": "exp2", "exp2": "exp",
    "log": "log2", "log2": "log", "sqrt": "exp", "rsqrt": "sqrt", "floor": "ceil", "argmax": "argmin", "argmin": "argmax",
}  # fmt: skip
FLOAT = re.compile(r"(?P<value>\d*\.\d*(e-?\d+)?|\d+e-?\d+)(?P<suffix>[fF]?)$")
PYTHON = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+", ast.Lt: "<=", ast.LtE: "<",
    ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip


class Mutation(NamedTuple):
    """One fault."""

    rule: str
    line: int
    """Of the original, from 1."""
    was: str
    now: str
    source: str
    """The whole text with it."""


def chosen(mutations: list[Mutation], each: int, seed: str) -> list[Mutation]:
    """At most `each` of every rule, the same ones for the same seed."""
    mixed = random.Random(seed).sample(mutations, len(mutations))
    taken: dict[str, list[Mutation]] = {}
    for one in mixed:
        if len(taken.setdefault(one.rule, [])) < each:
            taken[one.rule].append(one)
    return sorted((one for found in taken.values() for one in found), key=lambda one: (one.line, one.rule, one.now))


def of_cpp(source: str, entry: str) -> list[Mutation]:
    """All faults of an entry point that is written in C++."""
    body = next(
        node
        for node in walk(parse(source), "function_definition")
        if re.search(rf"\b{entry}\s*\(", text(node).partition("{")[0])
    )
    return [
        _mutation(source, rule, (node.start_byte, node.end_byte, now))
        for node in walk(body)
        for rule, changes in CPP_RULES.items()
        for now in changes(node)
    ]


def of_triton(source: str) -> list[Mutation]:
    """All faults of the kernels in a Python file; its host code is left alone."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [
        _mutation(source, rule, (starts[at.lineno - 1] + at.col_offset, _end(starts, at), now))
        for kernel in ast.walk(ast.parse(source))
        if isinstance(kernel, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in kernel.decorator_list)
        for statement in kernel.body
        for node in ast.walk(statement)
        for rule, changes in TRITON_RULES.items()
        for at, now in changes(node)
    ]


def _end(starts: list[int], node: ast.expr | ast.stmt) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.end_lineno - 1] + node.end_col_offset


def _mutation(source: str, rule: str, edit: Edit) -> Mutation:
    start, end, now = edit
    return Mutation(rule, source.count("\n", 0, start) + 1, source[start:end], now, edited(source, [edit]))


def _operator(table: dict[str, str]) -> Callable[[Node], Iterator[str]]:
    def changes(node: Node) -> Iterator[str]:
        operator = node.child_by_field_name("operator")
        if node.type in ("binary_expression", "assignment_expression") and operator and text(operator) in table:
            left, right = (text(n) for n in (node.named_children[0], node.named_children[-1]))
            yield f"{left} {table[text(operator)]} {right}"

    return changes


def _sign(node: Node) -> Iterator[str]:
    if node.type == "unary_expression" and text(node).startswith("-"):
        yield text(node)[1:]


def _constant(node: Node) -> Iterator[str]:
    if node.type == "number_literal" and (found := FLOAT.match(text(node))):
        value = float(found["value"])
        yield f"{value * 1.01 if value else 0.01!r}{found['suffix']}"


def _one_more(node: Node) -> Iterator[str]:
    if node.type == "number_literal" and text(node).isdigit():
        yield str(int(text(node)) + 1)


def _tail(node: Node) -> Iterator[str]:
    if node.type == "binary_expression" and node.parent and node.parent.type == "for_statement":
        yield f"{text(node)} - 1"


def _half(node: Node) -> Iterator[str]:
    if node.type == "binary_expression" and node.parent and node.parent.type == "for_statement":
        left, right = node.named_children[0], node.named_children[-1]
        yield f"{text(left)} < ({text(right)} + 1) / 2"


def _dropped(node: Node) -> Iterator[str]:
    if node.type == "expression_statement" and node.named_children:
        yield ";"


def _branch(node: Node) -> Iterator[str]:
    if node.type == "condition_clause" and node.parent and node.parent.type == "if_statement":
        yield "(false)"
    if node.type == "conditional_expression":
        condition, yes, no = node.named_children
        yield f"{text(condition)} ? {text(no)} : {text(yes)}"


def _narrowed(node: Node) -> Iterator[str]:
    if node.type == "assignment_expression":
        left, right = text(node.named_children[0]), text(node.named_children[-1])
        operator = text(node.children[1])
        value = right if operator == "=" else f"{left} {operator[0]} ({right})"
        yield f"{left} = (_Float16)(float)({value})"


def _stale(node: Node) -> Iterator[str]:
    inside = node.parent is not None and node.parent.type == "compound_statement"
    if node.type == "declaration" and inside and " = " in text(node) and "static" not in text(node):
        yield f"static {text(node).replace('const ', '')}"


def _function(node: Node) -> Iterator[str]:
    if node.type == "call_expression":
        name = text(node.named_children[0])
        bare = name.removeprefix("std::")
        if (other := FUNCTIONS.get(bare.removesuffix("f"), FUNCTIONS.get(bare))) is not None:
            yield (f"std::{other}" if other else "") + text(node.named_children[1])


def _neighbour(node: Node) -> Iterator[str]:
    if node.type == "subscript_argument_list":
        yield f"[({text(node)[1:-1]}) ^ 1]"


CPP_RULES: dict[str, Callable[[Node], Iterator[str]]] = {
    "arithmetic": _operator(ARITHMETIC),
    "edge of a comparison": _operator(EDGES),
    "logic": _operator(LOGIC),
    "sign": _sign,
    "constant by a hundredth": _constant,
    "off by one": _one_more,
    "last step of a loop": _tail,
    "half of a loop": _half,
    "dropped statement": _dropped,
    "dropped branch": _branch,
    "half precision": _narrowed,
    "kept between calls": _stale,
    "another function": _function,
    "neighbour's element": _neighbour,
}

Change = Iterator[tuple[ast.expr | ast.stmt, str]]


def _binary(node: ast.AST) -> Change:
    if isinstance(node, ast.BinOp) and type(node.op) in PYTHON:
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield node, f"(({left}) {PYTHON[type(node.op)]} ({right}))"


def _comparison(node: ast.AST) -> Change:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in PYTHON:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield node, f"(({left}) {PYTHON[type(node.ops[0])]} ({right}))"


def _negation(node: ast.AST) -> Change:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node, ast.unparse(node.operand)


def _number(node: ast.AST) -> Change:
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield node, repr(node.value * 1.01 if node.value else 0.01)


def _index(node: ast.AST) -> Change:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, str(node.value + 1)


def _mask(node: ast.AST) -> Change:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tl.load", "tl.store"):
        kept = [word for word in node.keywords if word.arg not in ("mask", "other")]
        if any(word.arg == "mask" for word in node.keywords):
            yield node, ast.unparse(ast.Call(node.func, node.args, kept))


def _other(node: ast.AST) -> Change:
    if isinstance(node, ast.keyword) and node.arg == "other":
        yield node.value, "1.0" if "inf" in ast.unparse(node.value) else "float('inf')"


def _called(node: ast.AST) -> Change:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IN_TRITON:
        yield node.func, f"{ast.unparse(node.func.value)}.{IN_TRITON[node.func.attr]}"


def _selection(node: ast.AST) -> Change:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.where":
        condition, yes, no = map(ast.unparse, node.args)
        yield node, f"tl.where({condition}, {no}, {yes})"


def _cast(node: ast.AST) -> Change:
    if isinstance(node, ast.Attribute) and ast.unparse(node) == "tl.float32":
        yield node, "tl.float16"


def _statement(node: ast.AST) -> Change:
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, "pass"


def _short(node: ast.AST) -> Change:
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and len(node.iter.args) == 3:
        start, stop, step = map(ast.unparse, node.iter.args)
        yield node.iter, f"range({start}, ({stop}) - ({step}), {step})"


TRITON_RULES: dict[str, Callable[[ast.AST], Change]] = {
    "arithmetic": _binary,
    "edge of a comparison": _comparison,
    "sign": _negation,
    "constant by a hundredth": _number,
    "off by one": _index,
    "dropped mask": _mask,
    "value of masked lanes": _other,
    "another function": _called,
    "dropped branch": _selection,
    "half precision": _cast,
    "dropped statement": _statement,
    "last step of a loop": _short,
}
