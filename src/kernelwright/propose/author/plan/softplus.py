"""Softplus is one operation however it is spelled, and its hyperbolic tangent needs neither a logarithm nor a tangent."""

from kernelwright.propose.author.plan.builder import Builder, Operand, Value
from kernelwright.propose.author.plan.expr import Call, Const, Expr

LARGEST = 20.0
"""From here on the hyperbolic tangent of softplus is 1 in float32; beyond 44 the square of the exponential has no number."""


def softplus(b: Builder, x: Operand) -> Value:
    """log(1 + exp(x)) without overflow."""
    return b.call("softplus", x)


def log1p(b: Builder, x: Value) -> Value:
    """log(1 + x)."""
    return b.call("log1p", x) if (power := _exponent(x.expr)) is None else softplus(b, Value(power, x.shape))


def logarithm(b: Builder, x: Value) -> Value:
    """log(x)."""
    match x.expr:
        case Call(op="add", args=(Const(value=1.0), term) | (term, Const(value=1.0))):
            if (power := _exponent(term)) is not None:
                return softplus(b, Value(power, x.shape))
    return b.call("log", x)


def _exponent(expr: Expr) -> Expr | None:
    """Of which the expression is the exponential."""
    match expr:
        case Call(op="exp", args=(power,)):
            return power
    return None


def tanh(b: Builder, x: Value) -> Value:
    """The hyperbolic tangent; of log(1 + e) it is n / (n + 2) with n = e (e + 2)."""
    match x.expr:
        case Call(op="softplus", args=(power,)):
            e = b.call("exp", b.call("min", Value(power, x.shape), LARGEST))
            n = b.call("mul", e, b.call("add", e, 2.0))
            return b.call("div", n, b.call("add", n, 2.0))
    return b.call("tanh", x)
