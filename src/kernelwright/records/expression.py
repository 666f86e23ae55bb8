"""Whole-number expressions over the names of sizes, such as `n * 4`, and comparisons of them. Nothing else is evaluated."""

import ast
import itertools
import operator
from collections.abc import Callable, Mapping

Expression = str | int
"""A number, a size's name, or sums, products and the like of them, such as `n * 4`."""
MOST_BITS = 256
"""Of a value: no size is so large, and a power could be."""


def _divided(left: int, right: int) -> int:
    if left % right:
        raise ArithmeticError(f"{left} / {right} is no whole number")
    return left // right


def _power(left: int, right: int) -> int:
    if right < 0 or left.bit_length() * right > MOST_BITS:
        raise ArithmeticError(f"{left} ** {right} is no size")
    return int(left**right)


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: _divided, ast.Pow: _power,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"max": max, "min": min, "abs": abs}
_WRONG = (SyntaxError, KeyError, ArithmeticError, RecursionError, MemoryError)


def worth(expression: Expression, sizes: Mapping[str, int]) -> int:
    """The value of an expression over sizes.

    Raises:
        ValueError: it is no such expression, or names a size that is not there.
    """
    if isinstance(expression, int):
        return expression
    try:
        return _worth(ast.parse(expression.strip(), mode="eval").body, sizes)
    except _WRONG as error:
        raise ValueError(f"{expression!r} is no number, size, or sum or product of them ({error})") from None


def holds(comparison: str, sizes: Mapping[str, int]) -> bool:
    """Whether a comparison of expressions is true, such as `heads == groups * 4` or `heads in (4, 8)`.

    Several may be joined by `and`, `or` and `not`; `max`, `min` and `abs` stand in expressions.

    Raises:
        ValueError: it is no such comparison.
    """
    try:
        return _holds(ast.parse(comparison.strip(), mode="eval").body, sizes)
    except _WRONG as error:
        raise ValueError(f"{comparison!r} is no comparison of sizes ({error})") from None


def in_order(expressions: Mapping[str, str]) -> dict[str, str]:
    """Expressions by name, each after those that it names.

    Raises:
        ValueError: one follows from itself.
    """
    found: dict[str, str] = {}
    waiting = dict(expressions)
    while waiting:
        ready = [name for name, text in waiting.items() if not named_in(text) & waiting.keys()]
        if not ready:
            raise ValueError(f"{next(iter(waiting))} follows from itself: {', '.join(waiting.values())}")
        found |= {name: waiting.pop(name) for name in ready}
    return found


def named_in(expression: Expression) -> frozenset[str]:
    """The sizes that an expression or a comparison names; none where it is neither."""
    try:
        tree = ast.parse(str(expression).strip(), mode="eval")
    except _WRONG:
        return frozenset()
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)


def _worth(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_worth(operand, sizes)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _worth(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_worth(left, sizes), _worth(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]) if name in _FUNCTIONS:
            if name != "abs" and len(given) == 1:
                raise ArithmeticError(f"{name} of one number")
            return _FUNCTIONS[name](*(_worth(each, sizes) for each in given))
    raise KeyError(ast.unparse(node))


def _holds(node: ast.expr, sizes: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp(op=op, values=values):
            # Each is looked at: what is no comparison is one nowhere.
            found = [_holds(value, sizes) for value in values]
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand, sizes)
        case ast.Constant(value=bool(value)):
            return value
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip(ops, itertools.pairwise((left, *others)), strict=True)
            found = [_compares(op, one, other, sizes) for op, (one, other) in pairs]
            return all(found)
    raise KeyError(ast.unparse(node))


def _compares(op: ast.cmpop, one: ast.expr, other: ast.expr, sizes: Mapping[str, int]) -> bool:
    if isinstance(op, ast.In | ast.NotIn) and isinstance(other, ast.Tuple | ast.List | ast.Set):
        among = _worth(one, sizes) in [_worth(each, sizes) for each in other.elts]
        return among == isinstance(op, ast.In)
    return _COMPARISONS[type(op)](_worth(one, sizes), _worth(other, sizes))
