"""Finds which dimensions of which tensors are the same axis.

By unification: dimensions that a pointwise operation lines up are one axis, whatever their sizes, so a square tensor is
never confused with its transpose. A dimension that a view merged is a list of axes.
"""

from collections.abc import Sequence
from math import prod

from kernelwright.errors import ProposeError

Dim = tuple[int, ...]
"""The axes that a dimension runs over, slowest first; empty for size one."""
Shape = tuple[Dim, ...]


class Axes:
    """Axes with their sizes, made as tensors are met and merged as operations line them up."""

    def __init__(self) -> None:
        self._size: list[int] = []
        self._bound: dict[int, Dim] = {}

    def fresh(self, sizes: Sequence[int]) -> Shape:
        """New axes for a tensor of this shape."""
        return tuple(() if n == 1 else (self._new(n),) for n in sizes)

    def _new(self, size: int) -> int:
        self._size.append(size)
        return len(self._size) - 1

    def resolve(self, dim: Dim) -> Dim:
        """The dimension over axes that are bound to no others."""
        out: list[int] = []
        for axis in dim:
            out += self.resolve(self._bound[axis]) if axis in self._bound else [axis]
        return tuple(out)

    def size(self, dim: Dim) -> int:
        """Elements along the dimension."""
        return prod(self._size[axis] for axis in self.resolve(dim))

    def unify(self, left: Dim, right: Dim) -> None:
        """Make two dimensions the same.

        Raises:
            ProposeError: they merge axes in ways that do not line up.
        """
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return
        if len(left) == 1 and left[0] not in right:
            self._bound[left[0]] = right
        elif len(right) == 1 and right[0] not in left:
            self._bound[right[0]] = left
        elif [self.size((a,)) for a in left] == [self.size((b,)) for b in right]:
            for a, b in zip(left, right, strict=True):
                self.unify((a,), (b,))
        else:
            raise ProposeError("two views of one tensor split it in ways that do not line up")

    def broadcast(self, *shapes: Shape) -> Shape:
        """The common shape of operands, lined up from the right; unifies what meets."""
        rank = max(map(len, shapes))
        padded = [((),) * (rank - len(s)) + s for s in shapes]
        out: list[Dim] = []
        for dims in zip(*padded, strict=True):
            wide = [d for d in dims if d]
            for other in wide[1:]:
                self.unify(wide[0], other)
            out.append(wide[0] if wide else ())
        return tuple(out)

    def view(self, shape: Shape, sizes: Sequence[int]) -> Shape:
        """The same elements in the same order under other sizes.

        Raises:
            ProposeError: a dimension would have to be split.
        """
        left = [axis for dim in shape for axis in self.resolve(dim)]
        out: list[Dim] = []
        for size in self._complete(left, sizes):
            dim: list[int] = []
            while prod(self._size[a] for a in dim) < size and left:
                dim.append(left.pop(0))
            if prod(self._size[a] for a in dim) != size:
                raise ProposeError("a view that splits an axis")
            out.append(tuple(dim))
        return tuple(out)

    def _complete(self, axes: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Sizes with the one -1 filled in."""
        known = prod(n for n in sizes if n >= 0)
        total = prod(self._size[a] for a in axes)
        return [total // known if n < 0 else n for n in sizes]
