"""Inputs for a candidate that is looked at and not judged, by a profiler or a sanitizer. Secret ones stay where they are."""

import torch

from kernelwright.records.tensor import Domain, TensorSpec


def draw(spec: TensorSpec, device: str) -> torch.Tensor:
    """Values that the domain admits, of torch's generator."""
    dtype = getattr(torch, spec.dtype)
    if not spec.floating:
        return torch.randint(spec.bound or 2, spec.shape, dtype=dtype, device=device)
    if spec.domain in (Domain.MASK, Domain.LABEL):
        return torch.randint(spec.bound or 2, spec.shape, device=device).to(dtype)
    if spec.domain is Domain.PROBABILITY:
        return torch.rand(spec.shape, device=device).softmax(-1).to(dtype)
    if spec.domain is Domain.NON_NEGATIVE:
        return torch.rand(spec.shape, device=device).to(dtype)
    return torch.randn(spec.shape, device=device).to(dtype)
