"""Equality: of bits where a task declares it, and of integers up to the steps that rounding decides.

An integer that comes from floating arithmetic (a quantised value, a comparison with a threshold) is settled by rounding
where it lies on an edge. Demanding equality there would refuse the eager reference itself; so a few elements, as many as
rounding moves, may be off by one step, and no element by two.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.verify.compare import Wrong, not_finite
from kernelwright.records.graph import OpGraph, OpNode
from kernelwright.records.tensor import TensorSpec

FREE = 2
"""Elements on an edge that any output may have."""
MOST_SHARE = 0.01
"""Of a result that may be on an edge because of rounding alone."""
SELECTING = frozenset(
    (
        "clone", "view", "reshape", "permute", "transpose", "contiguous", "flip", "expand", "slice", "select", "squeeze",
        "unsqueeze", "flatten", "cat", "stack", "getitem", "index", "gather", "where", "neg", "abs", "relu", "clamp",
        "maximum", "minimum", "max", "min", "amax", "amin", "sort", "topk", "masked_fill", "alias", "detach", "t", "roll",
    )
)  # fmt: skip
"""Operations that only choose or move values: nothing is rounded in them."""


@dataclass(frozen=True)
class Identical:
    """The eager reference's bits."""

    value: torch.Tensor
    reference_error: float = 0.0
    allowed: float = 0.0
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """One if any bit differs: how many elements do, and the first of them."""
        mine, wanted = got[0].contiguous(), self.value.contiguous()
        if mine.dtype.is_floating_point and (wrong := not_finite(mine)):
            return float("inf"), wrong
        differs = _bits(mine).ne(_bits(wanted)).any(dim=1)
        if not bool(differs.any()):
            return 0.0, None
        where = int(differs.to(torch.uint8).argmax())
        evidence = (
            f"{int(differs.sum())} of {mine.numel()} elements are not the reference's bits; first at flat index {where}: "
            f"expected {wanted.flatten()[where].item()!r}, got {mine.flatten()[where].item()!r}"
        )
        return 1.0, Wrong("value", evidence, 1.0)


@dataclass(frozen=True)
class Stepped:
    """Integers or booleans that rounding decides: `allowed` is the share of elements that may be off by one."""

    value: torch.Tensor
    reference_error: float
    allowed: float
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """The share of elements that are off, infinite where one is off by more than a step."""
        mine, wanted = got[0].flatten(), self.value.flatten()
        if not mine.numel():
            return 0.0, None
        differs = mine != wanted.to(mine.dtype)
        count = int(differs.sum())
        far = differs & ((mine.double() - wanted.double()).abs() > 1)
        share = count / mine.numel()
        if not bool(far.any()) and count <= FREE + self.allowed * mine.numel():
            # What is free of charge counts as nothing, so that error and allowance stay comparable.
            return min(share, self.allowed), None
        where = int((far if bool(far.any()) else differs).to(torch.uint8).argmax())
        evidence = (
            f"{count} of {mine.numel()} elements are off, {int(far.sum())} of them by more than one; at flat index {where}: "
            f"expected {wanted[where].item()}, got {mine[where].item()} "
            f"({FREE} and a share of {self.allowed:.3g} may be off by one, where rounding decides)"
        )
        return float("inf") if bool(far.any()) else share, Wrong("value", evidence, share)


def share_off(got: torch.Tensor, reference: torch.Tensor) -> float:
    """Share of elements that differ."""
    return float((got != reference.to(got.dtype)).double().mean()) if got.numel() else 0.0


def rounding_share(value: torch.Tensor, epsilon: float) -> float:
    """Share of elements that lie on an edge for an arithmetic of this precision, roughly."""
    magnitude = 0.0 if value.dtype == torch.bool or not value.numel() else float(value.double().abs().median())
    return min(MOST_SHARE, 16 * epsilon * (1 + magnitude))


def rounded(graph: OpGraph, output: str, specs: Sequence[TensorSpec]) -> bool:
    """Whether floating arithmetic that rounds lies behind a node of the graph."""
    floats = {s.name: s.floating for s in specs} | {r.name: r.floating for n in graph.nodes for r in n.result}
    return any(_rounds(node, floats) for node in graph.behind(output))


def _rounds(node: OpNode, floats: dict[str, bool]) -> bool:
    name = node.op.removeprefix("aten.").split(".")[0]
    return name not in SELECTING and any(floats.get(r.name, r.floating) for r in node.result)


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1).view(torch.uint8).view(-1, values.element_size())
