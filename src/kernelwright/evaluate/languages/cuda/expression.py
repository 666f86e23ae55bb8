"""Arithmetic of a recipe: text over shapes and tunables into a number, by a walk over its syntax tree.

The text is hostile and is evaluated in the grader's own process: nothing of it runs as Python, there is no power, no
loop and no string, and text, tree and every intermediate value are bounded.
"""

import ast
import math
from collections.abc import Callable, Mapping

from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

LONGEST_TEXT, MOST_NODES = 400, 150
LARGEST = 1 << 63
"""No integer on the way may leave (-2^63, 2^63); fractions must be finite."""

Number = int | float
Value = Number | TensorSpec
Names = Mapping[str, Value]


class RecipeError(Exception):
    """The recipe cannot be followed; the message is for its author, and says the fix."""


def whole(text: str, names: Names) -> int:
    """An expression's value, which must be an integer.

    Raises:
        RecipeError: it has none.
    """
    value = number(text, names)
    if isinstance(value, float):
        raise RecipeError(f"{text!r} is {value}, no integer: use // or ceil_div(a, b) instead of /")
    return value


def number(text: str, names: Names) -> Number:
    """An expression's value.

    Raises:
        RecipeError: it has none.
    """
    return number_of(parsed(text), text, names)


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression within its bounds.

    Raises:
        RecipeError: it is none, or is too large.
    """
    if len(text) > LONGEST_TEXT:
        raise RecipeError(f"the expression {text[:40]!r}… has {len(text)} characters; at most {LONGEST_TEXT} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise RecipeError(f"{text!r} is no expression: {getattr(error, 'msg', error)}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise RecipeError(f"{text!r} has too many parts: name some of them under [constants]")
    return tree


def number_of(tree: ast.expr, text: str, names: Names) -> Number:
    """The value of a syntax tree; `text` is what an error shows.

    Raises:
        RecipeError: it has none.
    """
    try:
        value = _value(tree, names)
    except (RecipeError, ArithmeticError) as error:
        raise RecipeError(f"in {text!r}: {error}") from None
    if isinstance(value, TensorSpec):
        raise RecipeError(f"{text!r} is a tensor where a number is needed: say .numel, .nbytes, .ndim or .shape[i]")
    return value


def _value(tree: ast.expr, names: Names) -> Value:
    match tree:
        case ast.Constant(value=bool(value)):
            return int(value)
        case ast.Constant(value=int(value) | float(value)):
            return _bounded(value)
        case ast.Name(id=name):
            return _named(name, names)
        case ast.Attribute() | ast.Subscript():
            return _of_tensor(tree, names)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [_number(a, names) for a in arguments])
        case _:
            return _operation(tree, names)


def _operation(tree: ast.expr, names: Names) -> Number:
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            return _bounded(_BINARY[type(operator)](_number(left, names), _number(right, names)))
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARE:
            return int(_COMPARE[type(operator)](_number(left, names), _number(right, names)))
        case ast.IfExp(test=test, body=body, orelse=other):
            return _number(body if _number(test, names) else other, names)
        case _:
            raise RecipeError(
                f"{ast.unparse(tree)!r} is not understood: there are + - * / // % << >>, comparisons, a if c else b, and "
                f"{', '.join(sorted(_FUNCTIONS))}"
            )


def _number(tree: ast.expr, names: Names) -> Number:
    value = _value(tree, names)
    if isinstance(value, TensorSpec):
        raise RecipeError(f"{ast.unparse(tree)} is a tensor: say .numel, .nbytes, .ndim or .shape[i]")
    return value


def _named(name: str, names: Names) -> Value:
    if name not in names:
        raise RecipeError(f"unknown name {name!r}; known are {', '.join(names)}")
    return names[name]


def _of_tensor(tree: ast.Attribute | ast.Subscript, names: Names) -> int:
    match tree:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=position):
            shape = _tensor(name, names).shape
            index = _number(position, names)
            if isinstance(index, float) or not -len(shape) <= index < len(shape):
                raise RecipeError(f"{name} has {len(shape)} dimensions {list(shape)}, and no shape[{index}]")
            return shape[index]
        case ast.Attribute(value=ast.Name(id=name), attr="numel" | "nbytes" | "ndim" | "itemsize" as what):
            spec = _tensor(name, names)
            known = {"numel": spec.numel, "nbytes": spec.nbytes, "ndim": len(spec.shape)}
            return known.get(what, ITEM_BYTES[spec.dtype])
        case _:
            raise RecipeError(
                f"{ast.unparse(tree)!r} is not understood: a tensor has .numel, .nbytes, .itemsize, .ndim and .shape[i]"
            )


def _tensor(name: str, names: Names) -> TensorSpec:
    found = _named(name, names)
    if not isinstance(found, TensorSpec):
        raise RecipeError(f"{name} is a number, no tensor")
    return found


def _call(name: str, arguments: list[Number]) -> Number:
    if name not in _FUNCTIONS:
        raise RecipeError(f"there is no function {name!r}; known are {', '.join(sorted(_FUNCTIONS))}")
    count, function = _FUNCTIONS[name]
    if not arguments or (count and len(arguments) != count):
        raise RecipeError(f"{name} takes {count or 'some'} arguments, not {len(arguments)}")
    return _bounded(function(*arguments))


def _bounded(value: Number) -> Number:
    if not (math.isfinite(value) if isinstance(value, float) else -LARGEST < value < LARGEST):
        raise RecipeError("a value leaves the range of 64 bits")
    return value


def _integers(*values: Number) -> list[int]:
    if any(isinstance(v, float) for v in values):
        raise RecipeError("a fraction where only integers make sense")
    return [int(v) for v in values]


def _shift(value: Number, by: Number, right: bool = False) -> int:
    value, by = _integers(value, by)
    if not 0 <= by < 64:
        raise RecipeError(f"a shift by {by}")
    return value >> by if right else value << by


def _divided(a: Number, b: Number) -> int:
    a, b = _integers(a, b)
    return a // b


def _rest(a: Number, b: Number) -> int:
    a, b = _integers(a, b)
    return a % b


def _ceil_div(a: Number, b: Number) -> int:
    a, b = _integers(a, b)
    return -(-a // b)


def _next_power_of_2(a: Number) -> int:
    (a,) = _integers(a)
    return 1 << max(a - 1, 0).bit_length()


_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: _divided,
    ast.Mod: _rest,
    ast.LShift: _shift,
    ast.RShift: lambda a, b: _shift(a, b, right=True),
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Number]]] = {
    "ceil_div": (2, _ceil_div),
    "round_up": (2, lambda a, b: _ceil_div(a, b) * b),
    "next_power_of_2": (1, _next_power_of_2),
    "min": (0, lambda *values: min(values)),
    "max": (0, lambda *values: max(values)),
}
"""How many arguments (0: one or more), and what it does."""
