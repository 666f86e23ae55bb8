"""The arguments of one operation, by name and with the schema's defaults made explicit."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Operand, Value
from kernelwright.records.graph import Infinity, OpNode, Ref
from kernelwright.records.graph import Value as Literal

Result = Value | tuple[Value | None, ...]
"""What an operation gives: a value, or several of which some may not be written."""


@dataclass(frozen=True)
class Arguments:
    """One node's arguments, with references resolved to values."""

    node: OpNode
    values: Mapping[str, Result]

    def raw(self, name: str) -> Literal:
        """The argument as it stands in the graph; None when it was left out."""
        return self.node.argument(name)

    def operand(self, name: str, default: float | int | bool | None = None) -> Operand:
        """A tensor or a number.

        Raises:
            ProposeError: it is neither.
        """
        found = self.raw(name)
        if found is None and default is not None:
            return default
        if isinstance(found, Ref):
            return self._referred(found)
        if isinstance(found, Infinity):
            return float("inf") * found.infinity
        if isinstance(found, bool | int | float):
            return found
        raise ProposeError(f"argument {name!r} of {self.node.op} is {found!r}")

    def tensor(self, name: str) -> Value:
        """A tensor.

        Raises:
            ProposeError: it is something else.
        """
        found = self.operand(name)
        if not isinstance(found, Value):
            raise ProposeError(f"argument {name!r} of {self.node.op} is the number {found!r}, not a tensor")
        return found

    def optional(self, name: str) -> Value | None:
        """A tensor, or None when the call has none."""
        return None if self.raw(name) is None else self.tensor(name)

    def tensors(self, name: str) -> tuple[Value, ...]:
        """A list of tensors."""
        found = self.raw(name)
        items = found if isinstance(found, tuple) else (found,)
        return tuple(self._referred(item) for item in items if isinstance(item, Ref))

    def number(self, name: str, default: float) -> float:
        """A number.

        Raises:
            ProposeError: it is a tensor.
        """
        found = self.operand(name, default)
        if isinstance(found, Value):
            raise ProposeError(f"argument {name!r} of {self.node.op} is a tensor, not a number")
        return float(found)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        return bool(self.number(name, default))

    def dims(self, name: str) -> tuple[int, ...] | None:
        """A list of dimensions; None when the call has none."""
        found = self.raw(name)
        if isinstance(found, tuple):
            return tuple(int(d) for d in found if isinstance(d, int))
        return (found,) if isinstance(found, int) else None

    def results(self) -> Result:
        """Whatever the first reference gives, several results included."""
        return next(self.values[v.value.ref] for v in self.node.arguments if isinstance(v.value, Ref))

    def _referred(self, ref: Ref) -> Value:
        found = self.values[ref.ref]
        if not isinstance(found, Value):
            raise ProposeError(f"{self.node.op} takes all results of {ref.ref!r} at once")
        return found
