"""What is far above all numbers of a tensor, as cases and challenges put it there."""

import torch

LARGEST = 1e4
"""Of numbers of natural size; in half precision still finite."""
LARGE, NATURAL = 100.0, 4.0
"""Magnitude of the largest element drawn from which on that is no longer so, and what it is of numbers of natural size."""


def far_above(x: torch.Tensor) -> float:
    """What is far above all of these numbers, and finite in their dtype: LARGEST, or as many times what large ones are."""
    low, high = x.aminmax()
    most = float(torch.maximum(-low, high))
    return min(LARGEST * most / NATURAL, torch.finfo(x.dtype).max / 16) if most > LARGE else LARGEST
