"""A serial function as a task: its signature, shapes, values and sizes, as data."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import Field, FiniteFloat

from kernelwright.records.base import Record
from kernelwright.records.tensor import DType

Expression = str | int
"""A number, a size's name, or sums and products of them, such as `n * 4`."""
Values = Literal["normal", "uniform", "positive", "index", "sign"]
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip


class SerialArgument(Record):
    """One parameter of the function."""

    name: str
    dtype: DType
    pointer: bool
    """Else it is passed by value."""
    out: bool = False
    """The function writes it; it begins as zeros, or as the input of that name if `inout`."""
    inout: bool = False
    shape: tuple[Expression, ...] = ()
    value: Expression | FiniteFloat = 0
    """Of what is passed by value: a size's name, or a number."""
    values: Values = "normal"
    """`index`: whole numbers from 0 to below `bound`."""
    bound: Expression = 2


class SerialCase(Record):
    """Inputs and outputs that were stored, which the function must reproduce."""

    sizes: dict[str, int] = Field(default_factory=dict)
    inputs: dict[str, str]
    """By argument, a `.npy` file in base64; so are `outputs`."""
    outputs: dict[str, str]
    tolerance: float = Field(default=1e-5, ge=0)


class SerialSpec(Record):
    """How the function is called."""

    function: str
    dialect: Literal["c", "cpp"]
    family: str
    arguments: tuple[SerialArgument, ...]
    sizes: dict[str, int]
    cases: tuple[SerialCase, ...] = ()

    @property
    def inputs(self) -> tuple[SerialArgument, ...]:
        """What the reference's forward takes, in order."""
        return tuple(a for a in self.arguments if a.pointer and (a.inout or not a.out))

    @property
    def outputs(self) -> tuple[SerialArgument, ...]:
        """What it returns, in order."""
        return tuple(a for a in self.arguments if a.pointer and (a.out or a.inout))


def worth(expression: Expression, sizes: Mapping[str, int]) -> int:
    """The value of an expression over sizes.

    Raises:
        ValueError: it is no such expression, or names a size that is not there.
    """
    if isinstance(expression, int):
        return expression
    try:
        return _worth(ast.parse(expression, mode="eval").body, sizes)
    except (SyntaxError, KeyError, ZeroDivisionError) as error:
        raise ValueError(f"{expression!r} is no number, size, or sum or product of them ({error})") from None


def _worth(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_worth(left, sizes), _worth(right, sizes))
    raise KeyError(ast.unparse(node))
