"""Results are overwritten whatever their type and layout, except those that are spared."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.candidate import poison
from kernelwright.records.tensor import TensorSpec

DTYPES = [
    torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, torch.int64,
    torch.int8, torch.uint8, torch.bool, torch.complex64,
]  # fmt: skip


def overwritten(tensor, spared=lambda tensor: False):
    poison.over([tensor], spared)
    return tensor


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_left_of_a_result(dtype):
    tensor = overwritten(torch.zeros(4, 6).to(dtype))
    values = tensor if dtype.is_complex else tensor.float()
    assert torch.isfinite(values).any() != (dtype.is_floating_point or dtype.is_complex)
    assert (values != 0).all()


@pytest.mark.parametrize("view", [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[1:2].expand(4, 6)])
def test_views_are_overwritten_where_they_lie(view):
    memory = torch.zeros(4, 6)
    overwritten(view(memory))
    assert torch.equal(torch.isnan(memory), view_of(memory, view))


def view_of(memory, view):
    """Which elements of the memory a view shows."""
    shown = torch.zeros(memory.shape, dtype=torch.bool)
    places = view(torch.arange(memory.numel()).view(memory.shape)).reshape(-1)
    shown.view(-1)[places] = True
    return shown


def test_what_was_made_in_inference_mode_can_be_overwritten():
    with torch.inference_mode():
        made = torch.zeros(3)
    assert torch.isnan(overwritten(made)).all()


def test_a_parameter_can_be_overwritten():
    assert torch.isnan(overwritten(torch.nn.Parameter(torch.zeros(3)))).all()


def test_what_is_spared_and_what_is_empty_stay():
    assert overwritten(torch.zeros(3), spared=lambda tensor: True).tolist() == [0.0] * 3
    assert overwritten(torch.zeros(0, 3)).numel() == 0


def test_memory_of_the_results_sizes_is_filled(monkeypatch):
    filled = []
    monkeypatch.setattr(poison, "FULL", lambda size, byte, dtype, device: filled.append((size, byte, dtype, device)))
    outputs = [TensorSpec(name="x", shape=(3,), dtype="float32"), TensorSpec(name="y", shape=(0,), dtype="float32")]
    poison.ahead(outputs, 2, "cuda")
    assert filled == [((12,), 0xFF, torch.uint8, "cuda"), ((1,), 0xFF, torch.uint8, "cuda")] * 2
