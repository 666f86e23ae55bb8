"""Floats of eight bits: torch has few operators for them, so arithmetic on them goes through single precision and saturates.

A result in eight bits is one of at most 256 values. An error relative to its magnitude says little of it (all zeros err
by one, and an ulp is an eighth or a quarter), so that it is compared by steps, as an integer is that rounding decides
(`verify/exact.py`).
"""

from collections.abc import Callable

import torch

FLOAT8 = frozenset({torch.float8_e4m3fn, torch.float8_e5m2})


def wide(values: torch.Tensor) -> torch.Tensor:
    """The same values in single precision where they have eight bits; anything else as it is."""
    return values.float() if values.dtype in FLOAT8 else values


def bits(values: torch.Tensor) -> torch.Tensor:
    """The bytes of what has eight bits, which can be compared and chosen among; anything else as it is."""
    return values.view(torch.uint8) if values.dtype in FLOAT8 else values


def stored(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Values in another dtype. Of eight bits, the largest finite one stands for all beyond it; a NaN stays."""
    if dtype not in FLOAT8 or values.dtype == dtype:
        return values.to(dtype)
    most = torch.finfo(dtype).max
    return wide(values).clamp(-most, most).to(dtype)


def change(values: torch.Tensor, how: Callable[[torch.Tensor], object]) -> None:
    """Have `how` change values in their place."""
    if values.dtype not in FLOAT8:
        how(values)
        return
    single = values.float()
    how(single)
    values.copy_(stored(single, values.dtype))


def steps(values: torch.Tensor) -> torch.Tensor:
    """What has eight bits as integers in the order of its values, a step apart; both zeros are 0. Anything else as it is."""
    if values.dtype not in FLOAT8:
        return values
    codes = values.contiguous().view(torch.uint8).to(torch.int16)
    magnitude = codes & 0x7F
    return torch.where(codes > 0x7F, -magnitude, magnitude)
