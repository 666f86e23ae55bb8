"""What goes into a forward and comes out of it: tensors and numbers, doubled, cut to another shape, compared.

Knows no process and no arena.
"""

import torch

from kernelwright.evaluate.triton.reduce import cut
from kernelwright.records.tensor import Scalar, TensorSpec


def tensors_of(value: object) -> list[torch.Tensor]:
    """The tensors that a forward returned.

    Raises:
        TypeError: it returned something else.
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(v, torch.Tensor) for v in value):
        return list(value)
    raise TypeError(f"forward returned a {type(value).__name__}; a tensor or a tuple of tensors can be judged")


def double(value: object) -> object:
    """A floating tensor in double precision; anything else as it is."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def cut_to(value: object, spec: TensorSpec | Scalar) -> object:
    """A tensor in the shape of its spec; anything else as it is."""
    if not isinstance(value, torch.Tensor) or not isinstance(spec, TensorSpec):
        return value
    return value if tuple(value.shape) == spec.shape else cut(value, spec)


def same(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether two lists of tensors are equal, NaN to NaN."""
    return len(some) == len(others) and all(_equal(a, b) for a, b in zip(some, others, strict=True))


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if not one.is_floating_point() or one.shape != other.shape:
        return bool(torch.equal(one, other))
    return bool(torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True))
