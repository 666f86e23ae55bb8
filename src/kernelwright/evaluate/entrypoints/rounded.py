"""The reference in double precision, but for the factors of its products, which are rounded to TF32 as tensor cores ask.

Which products cuDNN and cuBLAS round where they may, and how, depends on the algorithm that they choose: PyTorch's own
convolution of three channels is not rounded in one layout of memory and is in another; some round to nearest, others cut
bits off. So there are two such references: one rounds by chance, in each call in another way, and one cuts off. How far
their results move is what a kernel may lose that makes the same products in another way. The factors of every product move,
those too that are results of earlier ones, of which inputs that move say nothing; a bias is no factor and stays.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.evaluate.entrypoints.unrounded import within

PIECE = 1 << 22
"""Elements that are rounded at a time: beside them lie as many random numbers."""
DROPPED = (1 << 42) - 1
"""Bits of a double's significand beyond the ten that TF32 keeps."""


class Products(NamedTuple):
    """Which products may be rounded."""

    convolutions: bool
    matrices: bool


FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "addbmm": (1, 2), "baddbmm": (1, 2),
    "_addmm_activation": (1, 2), "convolution": (0, 1), "_cudnn_rnn": (0, 1, 4),
}  # fmt: skip
"""Which arguments of an operation are factors of its products."""
RECURRENT, PACKED = "_cudnn_rnn", 3
"""An operation that may have its weights in one piece too, and as which argument; without, it makes that piece of them."""
CONVOLUTIONS = ("convolution", RECURRENT)
"""Operations of cuDNN, whose flag is another than that of matrix products."""


class Rounded(TorchDispatchMode):  # type: ignore[misc]
    """Within it, factors in double precision are rounded to TF32: up or down by chance, or `cut` off."""

    def __init__(self, may: Products, cut: bool = False) -> None:
        super().__init__()
        self._may, self._cut = may, cut
        # What the reference draws itself stays what it is without the mode.
        self._drawn: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """See `TorchDispatchMode`."""
        name = func.__name__.split(".")[0]
        if name in FACTORS and (self._may.convolutions if name in CONVOLUTIONS else self._may.matrices):
            args = [self._tf32(a) if i in FACTORS[name] else a for i, a in enumerate(args)]
            if name == RECURRENT:
                args[PACKED] = None
        return func(*args, **(kwargs or {}))

    def _tf32(self, value: Any) -> Any:  # noqa: ANN401
        """One of the two numbers of TF32 beside each double: the smaller one, or by chance the nearer one the likelier.

        What is a number of TF32 stays itself.
        """
        if isinstance(value, list | tuple):
            return [self._tf32(v) for v in value]
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
            return value
        found = value.clone(memory_format=torch.contiguous_format)
        for part in found.view(torch.int64).view(-1).split(PIECE):
            if not self._cut:
                part += torch.randint(
                    0, DROPPED + 1, part.shape, device=part.device, generator=self._chance(part.device)
                )
            part.bitwise_and_(~DROPPED)
        return found

    def _chance(self, device: torch.device) -> torch.Generator:
        if device not in self._drawn:
            self._drawn[device] = torch.Generator(device)
            self._drawn[device].manual_seed(secrets.randbits(63))
        return self._drawn[device]


def rounded(
    forward: Callable[..., Any], module: torch.nn.Module, may: Products, cut: bool = False
) -> Callable[..., Any]:
    """The same function of doubles with rounded factors; `module` is whose buffers it may change."""
    return within(partial(Rounded, may, cut), forward, module)
