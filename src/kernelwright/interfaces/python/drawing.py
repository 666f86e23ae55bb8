"""A tensor as an expression that draws another one like it: shape, dtype, and what its values are like.

Where the values themselves are simple they are kept: all alike, counted up, or a triangle. Otherwise they are drawn: rows
that sum to one, whole numbers of the same range, what is never below zero, or a normal distribution with the same mean
and spread.
"""

from collections.abc import Iterator

import torch

FEWEST_CLASSES, MOST_CLASSES = 2, 16


def drawn(tensor: torch.Tensor) -> str:
    """The expression; it uses nothing but `torch` and makes its tensor on the default device."""
    here = tensor.detach().cpu()
    return next((text for text in _simple(here) if _makes(text, here)), None) or _random(here)


def _simple(tensor: torch.Tensor) -> Iterator[str]:
    """Expressions that might be the tensor itself."""
    if tensor.numel() == 0:
        return
    shape, dtype, first = tuple(tensor.shape), tensor.dtype, _number(tensor.flatten()[0].item())
    yield f"torch.full({shape}, {first}, dtype={dtype})"
    if tensor.dtype != torch.bool and not tensor.is_complex():
        yield f"torch.arange({tensor.numel()}, dtype={dtype}).reshape({shape})"
    values = tensor.unique()
    if tensor.dim() >= 2 and values.numel() == 2:
        for inside, outside in ((values[0], values[1]), (values[1], values[0])):
            a, b = _number(inside.item()), _number(outside.item())
            for side in ("tril", "triu"):
                for diagonal in (0, -1, 1):
                    where = f"torch.ones({shape}, dtype=torch.bool).{side}({diagonal})"
                    yield f"torch.full({shape}, {b}, dtype={dtype}).masked_fill({where}, {a})"


def _makes(text: str, tensor: torch.Tensor) -> bool:
    with torch.device("cpu"):
        return bool(torch.equal(eval(text, {"torch": torch}), tensor))


def _random(tensor: torch.Tensor) -> str:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if dtype == torch.bool:
        return f"torch.rand({shape}) < {tensor.double().mean().item():.6g}"
    if not tensor.is_floating_point():
        low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 0)
        return f"torch.randint({low}, {high + 1}, {shape}, dtype={dtype})"
    text = _floats(tensor.double(), shape)
    return text if dtype == torch.float32 else f"{text}.to({dtype})"


def _floats(values: torch.Tensor, shape: tuple[int, ...]) -> str:
    if values.numel() == 0 or not bool(values.isfinite().all()):
        return f"torch.randn({shape})"
    low, high = values.min().item(), values.max().item()
    if low >= 0 and values.dim() and torch.allclose(values.sum(-1), values.new_ones(()), atol=1e-3):
        return f"torch.softmax(torch.randn({shape}), -1)"
    classes = values.unique()
    if bool((classes == classes.round()).all()) and FEWEST_CLASSES <= classes.numel() <= MOST_CLASSES:
        return f"torch.tensor({classes.tolist()})[torch.randint(0, {classes.numel()}, {shape})]"
    if low >= 0:
        return f"(torch.rand({shape}) * {high:.6g})"
    return f"(torch.randn({shape}) * {values.std().item():.6g} + {values.mean().item():.6g})"


def _number(value: bool | int | float) -> str:
    return repr(value) if value == value and value not in (float("inf"), float("-inf")) else f'float("{value}")'
