"""How a live module's tensor is drawn in a task's text: as itself where a short expression makes it, or as one like it."""

from collections.abc import Iterator

import torch

FEWEST_CLASSES, MOST_CLASSES = 2, 16
MARKS, FAR = 2, 16
"""Most negative values of positions that stand for none; and times the usual step to the next one that the largest is away
from all others where it is such a mark too (255 of some twenty classes)."""
FEW = 256
"""Numbers in order that are written down as they are."""
GLANCE = 1024
"""Values that are looked at before all are."""


def drawn(tensor: torch.Tensor) -> str:
    """The expression; it uses nothing but `torch` and makes its tensor on the default device."""
    here = tensor.detach().cpu()
    if here.is_complex():
        return f"torch.view_as_complex({drawn(torch.view_as_real(here.resolve_conj()).contiguous())})"
    return next((text for text in _simple(here) if _makes(text, here)), None) or _random(here)


def _simple(tensor: torch.Tensor) -> Iterator[str]:
    """Expressions that might be the tensor itself, by a glance at its first values."""
    if tensor.numel() == 0:
        return
    shape, dtype, glance = tuple(tensor.shape), tensor.dtype, tensor.flatten()[:GLANCE]
    values = glance.unique()
    if _is_sorted(tensor) and tensor.numel() <= FEW:
        yield f"torch.tensor({tensor.tolist()}, dtype={dtype})"
    if values.numel() == 1:
        yield f"torch.full({shape}, {_number(values.item())}, dtype={dtype})"
    if dtype != torch.bool and torch.equal(glance, torch.arange(glance.numel(), dtype=dtype)):
        yield f"torch.arange({tensor.numel()}, dtype={dtype}).reshape({shape})"
    values = tensor.unique() if tensor.dim() >= 2 and values.numel() <= 2 else values
    if tensor.dim() >= 2 and values.numel() == 2:
        yield from _triangles(shape, dtype, (_number(values[0].item()), _number(values[1].item())))


def _is_sorted(tensor: torch.Tensor) -> bool:
    """Whether these are whole numbers in order, as offsets and lengths are."""
    whole = not tensor.is_floating_point() and tensor.dtype != torch.bool and tensor.dim() == 1
    return whole and tensor.numel() > 1 and bool((tensor.diff() >= 0).all())


def _triangles(shape: tuple[int, ...], dtype: torch.dtype, values: tuple[str, str]) -> Iterator[str]:
    """One value in a triangle, the other one elsewhere: the masks of attention."""
    for inside, outside in (values, values[::-1]):
        for side in ("tril", "triu"):
            for diagonal in (0, -1, 1):
                where = f"torch.ones({shape}, dtype=torch.bool).{side}({diagonal})"
                yield f"torch.full({shape}, {outside}, dtype={dtype}).masked_fill({where}, {inside})"


def _makes(text: str, tensor: torch.Tensor) -> bool:
    with torch.device("cpu"):
        return bool(torch.equal(eval(text, {"torch": torch}), tensor))


def _random(tensor: torch.Tensor) -> str:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if dtype == torch.bool:
        return f"torch.rand({shape}) < {tensor.double().mean().item():.6g}"
    if not tensor.is_floating_point():
        return _integers(tensor, shape)
    text = _floats(tensor.double(), shape)
    return text if dtype == torch.float32 else f"{text}.to({dtype})"


def _integers(tensor: torch.Tensor, shape: tuple[int, ...]) -> str:
    """Positions or labels, and beside them as often as there were the values that stand for none, such as -100."""
    values, counts = tensor.unique(return_counts=True)
    kept = torch.ones(len(values), dtype=torch.bool)
    if int((values < 0).sum()) <= MARKS and bool((values >= 0).any()):
        kept &= values >= 0
    steps = values[kept].diff()
    if len(steps) > 1 and counts[-1] > 1 and steps[-1] > FAR * steps.double().median():
        kept[-1] = False
    low, high = (int(values[kept].min()), int(values[kept].max())) if len(values) else (0, 0)
    text = f"torch.randint({low}, {high + 1}, {shape}, dtype={tensor.dtype})"
    text += ".sort().values" if _is_sorted(tensor) else ""
    for value, count in zip(values[~kept].tolist(), counts[~kept].tolist(), strict=True):
        text += f".masked_fill(torch.rand({shape}) < {count / tensor.numel():.6g}, {value})"
    return text


def _floats(values: torch.Tensor, shape: tuple[int, ...]) -> str:
    if values.numel() == 0 or not bool(values.isfinite().all()):
        return f"torch.randn({shape})"
    low, high = values.min().item(), values.max().item()
    if low >= 0 and values.dim() and torch.allclose(values.sum(-1), values.new_ones(()), atol=1e-3):
        return f"torch.softmax(torch.randn({shape}), -1)"
    if (classes := _classes(values)) is not None:
        return f"torch.tensor({classes})[torch.randint(0, {len(classes)}, {shape})]"
    if low >= 0:
        return f"(torch.rand({shape}) * {high:.6g})"
    return f"(torch.randn({shape}) * {values.std().item():.6g} + {values.mean().item():.6g})"


def _classes(values: torch.Tensor) -> list[float] | None:
    """The few whole values that occur; None where there are many, or others."""
    glance = values.flatten()[:GLANCE]
    if not bool((glance == glance.round()).all()):
        return None
    found: list[float] = values.unique().tolist()
    few = FEWEST_CLASSES <= len(found) <= MOST_CLASSES
    return found if few and all(value.is_integer() for value in found) else None


def _number(value: bool | int | float) -> str:
    return repr(value) if value == value and value not in (float("inf"), float("-inf")) else f'float("{value}")'
