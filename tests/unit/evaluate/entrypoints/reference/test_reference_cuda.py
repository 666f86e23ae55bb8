"""The fp64 reference goes in slices where a row is measured to take much, and to the host where there is no room for it."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference import cuda as reference_cuda
from kernelwright.evaluate.entrypoints.reference.cuda import CudaReferenceSide
from kernelwright.evaluate.entrypoints.reference.slices import SLICE_BYTES
from kernelwright.evaluate.sandbox.messages.calls import ROUNDED
from kernelwright.records.tensor import TensorSpec

ROWS, WIDTH = 128, 4
SPEC = TensorSpec(name="x", shape=(ROWS, WIDTH), dtype="float32")


class Scores:
    """A model whose rows take `row_bytes` each; and the device's memory as torch would tell it."""

    def __init__(self, row_bytes):
        self.row_bytes, self.rows, self.most = row_bytes, [], 0

    def __call__(self, x):
        assert x.dtype == torch.float64
        self.rows.append(len(x))
        self.most = max(self.most, len(x) * self.row_bytes)
        return x * 2


@pytest.fixture
def side(monkeypatch):
    """A reference on a device that is not there, whose inputs are cut into rows together; `of(row_bytes)`."""
    x = torch.rand(SPEC.shape)

    def of(row_bytes, rows=(0,)):
        model, one = Scores(row_bytes), CudaReferenceSide("cpu")
        one._inputs, one._outputs, one._rows, one._models = [SPEC], [SPEC], rows, {"fp64": model}
        one._view = SimpleNamespace(tensor=lambda index, offset, spec: x)
        monkeypatch.setattr(one, "_called", lambda model, leaves: model(*leaves))
        monkeypatch.setattr(one, "_make_ready", lambda variant, offsets: None)
        monkeypatch.setattr(one, "_after", lambda variant, leaves: [])
        monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: setattr(model, "most", 0))
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 0)
        monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: model.most)
        found = one._precise(one._leaves_of("fp64", (0,)), (0,))
        torch.testing.assert_close(found[0], x.double() * 2)
        model.side = one
        return model

    return of


def test_rows_that_take_much_go_in_slices_as_large_as_they_may_be(side):
    model = side(reference_cuda.WHOLE_BYTES // 100)
    assert model.rows[1:] == [SLICE_BYTES // model.row_bytes] * (ROWS // (SLICE_BYTES // model.row_bytes)) + [2]
    assert model.most <= SLICE_BYTES


def test_a_row_is_a_slice_at_least(side):
    assert side(SLICE_BYTES * 2).rows == [2] + [1] * ROWS


@pytest.mark.parametrize("row_bytes", [1000, SLICE_BYTES])
def test_the_rounded_variant_goes_the_same_way(side, monkeypatch, row_bytes):
    one = side(row_bytes).side
    one._variants[ROUNDED] = lambda x: x * 3
    found = one._precise(one._leaves_of(ROUNDED, (0,)), (0,), ROUNDED)
    torch.testing.assert_close(found[0], one._view.tensor(0, 0, SPEC).double() * 3)


def test_what_takes_little_is_computed_as_a_whole(side):
    assert side(1000).rows == [2, ROWS]


def test_what_cannot_be_cut_is_not_measured(side):
    assert side(SLICE_BYTES, rows=()).rows == [ROWS]


def test_what_a_call_wrote_to_before_there_was_no_room_is_put_back(monkeypatch):
    """A batch norm in training counts its batches first; the counter had been 2 after one call, and a right kernel wrong."""

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("batches", torch.tensor(0))
            self.tries = 0

        def forward(self, x):
            self.batches += 1
            x += 1
            self.tries += 1
            if self.tries == 1:
                raise torch.OutOfMemoryError
            return x * 2

    x, counter = torch.rand(SPEC.shape), TensorSpec(name="batches", shape=(), dtype="int64")
    model, one = Counts(), CudaReferenceSide("cpu")
    one._inputs, one._outputs, one._parameters, one._models = (
        [SPEC],
        [SPEC, counter, SPEC],
        [counter],
        {"eager": model, "fp64": model},
    )
    one._view = SimpleNamespace(tensor=lambda index, offset, spec: x if spec is SPEC else torch.tensor(0))
    one._written, one._compared, one._compares, one._state, one._taken = (0,), (0,), True, ("batches",), (0, 0)
    monkeypatch.setattr(one, "_called", lambda function, leaves: function(*leaves))
    result, batches, after = one._precise(one._leaves_of("fp64", (0,)), (0,))
    assert (model.tries, batches) == (2, 1)
    torch.testing.assert_close(after, x.double() + 1)
    torch.testing.assert_close(result.double(), (x.double() + 1) * 2)
