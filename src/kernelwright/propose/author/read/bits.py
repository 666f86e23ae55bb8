"""PyTorch's operations on the bits of whole numbers, and divisions of these."""

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import Call, Const
from kernelwright.propose.author.ir.positions import whole
from kernelwright.propose.author.read.builder import Arguments, Builder, Rule, Value, as_whole, call, wrapped
from kernelwright.records.tensor import ITEM_BYTES

LOGIC = {"and": "and", "or": "or", "xor": "ne"}
"""Of truth values."""


def _both(b: Builder, a: Arguments) -> tuple[Value, Value]:
    """The two operands, as whole numbers.

    Raises:
        ProposeError: one of them is no whole number.
    """
    sides = [b.value(a.operand("self")), b.value(a.operand("other"))]
    if any(side.expr.kind == "float" for side in sides):
        raise ProposeError(f"{a.node.op} of numbers that are not whole")
    one, other = (side.with_expr(as_whole(side.expr)) for side in sides)
    return one, other


def _made(b: Builder, a: Arguments, op: str, *sides: Value) -> Value:
    """A call on whole numbers, in the result's type."""
    values, shape = b.aligned(sides)
    found = Call(op, tuple(v.expr for v in values), "int")
    grows = op in ("shift_left", "sub")
    return b.new(wrapped(b, found, a.node.result[0].dtype) if grows else found, shape)


def _bits(op: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        sides = [b.value(a.operand("self")), b.value(a.operand("other"))]
        if all(side.expr.kind == "bool" for side in sides):
            return call(LOGIC[op], *sides)
        values, shape = b.aligned(_both(b, a))
        return b.new(Call(f"bit_{op}", tuple(v.expr for v in values), "int"), shape)

    return rule


def _inverted(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if x.expr.kind == "bool":
        return call("not", x)
    if x.expr.kind == "float":
        raise ProposeError("the bits of a number that is not whole")
    return _made(b, a, "sub", b.new(whole(-1), ()), x)


def _shifted(op: str) -> Rule:
    """By more bits than there are nothing is left, or the sign."""

    def rule(b: Builder, a: Arguments) -> Value:
        x, amount = _both(b, a)
        if op == "shift_left" and a.node.result[0].dtype == "int64" and not isinstance(x.expr, Const):
            x = x.with_expr(Call("int", (x.expr,), "int"))  # what was made of fewer bits has no room
        room = 8 * ITEM_BYTES[a.node.result[0].dtype]
        match amount.expr:
            case Const(value=count) if 0 <= count < room:
                return _made(b, a, op, x, amount)
        outside = call("or", amount < 0, amount >= room)
        found = _made(b, a, op, x, call("where", outside, room - 1, amount))
        return found if op == "shift_right" else call("where", outside, 0, found)

    return rule


def divided(b: Builder, a: Arguments) -> Value:
    """Whole numbers divided towards minus infinity, or towards zero."""
    x, y = _both(b, a)
    quotient, rest = _made(b, a, "quotient", x, y), _made(b, a, "remainder", x, y)
    if a.raw("rounding_mode") == "trunc":
        return quotient
    return call("where", _turned(rest, y), quotient - 1, quotient)


def _rest(b: Builder, a: Arguments) -> Value:
    x, y = _both(b, a)
    rest = _made(b, a, "remainder", x, y)
    return call("where", _turned(rest, y), rest + y, rest)


def _turned(rest: Value, divisor: Value) -> Value:
    """Whether a division towards zero was not one towards minus infinity."""
    return call("and", call("ne", rest, 0), call("ne", rest < 0, divisor < 0))


BITS: dict[str, Rule] = {
    **{f"aten.{form}.{kind}": _bits(op) for op in LOGIC for form in (f"bitwise_{op}", f"__{op}__")
       for kind in ("Tensor", "Scalar", "Scalar_Tensor")},
    **{f"aten.{form}.{kind}": _shifted(op) for op, forms in (
        ("shift_left", ("bitwise_left_shift", "__lshift__")), ("shift_right", ("bitwise_right_shift", "__rshift__")),
       ) for form in forms for kind in ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor")},
    "aten.bitwise_not.default": _inverted, "aten.floor_divide.default": divided, "aten.floor_divide.Scalar": divided,
    "aten.remainder.Tensor": _rest, "aten.remainder.Scalar": _rest,
}  # fmt: skip
