"""Tensors described as data, with the domain that their values seem to come from. Runs inside the reference's process.

The guess rests on two draws with different seeds. What an author declares in the task's file comes first.
"""

from typing import TYPE_CHECKING

import torch

from kernelwright.records.tensor import Domain, TensorSpec

if TYPE_CHECKING:
    from pydantic import JsonValue

LABELS = 16
"""Most different whole values that floats have which are classes and not numbers."""


def spec_of(name: str, tensor: torch.Tensor) -> TensorSpec:
    """Shape and dtype."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorSpec.model_validate({"name": name, "shape": tuple(tensor.shape), "dtype": dtype})


def with_domain(spec: TensorSpec, values: list[torch.Tensor]) -> TensorSpec:
    """Infer the domain from what was drawn: integers are indices, rows that sum to one probabilities."""
    update: dict[str, JsonValue] = {"domain": Domain.REAL.value}
    if spec.dtype == "bool":
        update = {"domain": Domain.MASK.value}
    elif not spec.floating:
        update = {"domain": Domain.INDEX.value, "bound": max(int(v.max()) for v in values) + 1}
    else:
        update = {"domain": _domain_of_floats(values).value}
    return TensorSpec.model_validate({**spec.model_dump(mode="json"), **update})


def _domain_of_floats(values: list[torch.Tensor]) -> Domain:
    not_negative = all(bool((v >= 0).all()) for v in values)
    sums = [v.double().sum(-1) for v in values if v.dim()]
    if not_negative and sums and all(bool(((s - 1).abs() < 1e-3).all()) for s in sums):
        return Domain.PROBABILITY
    if _few_whole_values(values):
        return Domain.LABEL
    return Domain.NON_NEGATIVE if not_negative else Domain.REAL


def _few_whole_values(values: list[torch.Tensor]) -> bool:
    """Whether floats are classes: the same two to sixteen whole numbers in every draw, and each of them often."""
    found = [v.unique().tolist() for v in values]
    if not 2 <= len(found[0]) <= LABELS or values[0].numel() < 4 * len(found[0]):
        return False
    return all(f == found[0] for f in found) and all(float(x).is_integer() for x in found[0])
