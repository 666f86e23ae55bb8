"""Which inputs can be cut into rows, and that slices give what the whole gives."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference.slices import run_in_slices, sliced_inputs

ROWS = 40


def x():
    return torch.rand(ROWS, 6, generator=torch.Generator().manual_seed(1))


CASES = {
    "row by row": (lambda a: a[0].softmax(-1), [x()], (0,)),
    "two inputs": (lambda a: (a[0] * a[1]).sum(1), [x(), x() + 1], (0, 1)),
    "a weight beside it": (lambda a: a[0] @ a[1], [x(), torch.rand(6, 3)], (0,)),
    "the first alone": (lambda a: a[0] @ a[1], [torch.rand(ROWS, ROWS), torch.rand(ROWS, ROWS)], (0,)),
    "targets": (lambda a: a[0].gather(1, a[1][:, None]), [x(), torch.arange(ROWS) % 6], (0, 1)),
    "statistics of all rows": (lambda a: a[0] - a[0].mean(0), [x()], ()),
    "one norm": (lambda a: a[0] / a[0].norm(), [x()], ()),
    "where a row stands": (lambda a: a[0] + torch.arange(len(a[0]))[:, None], [x()], ()),
    "partial sums of columns": (lambda a: a[0].cumsum(0), [x()], ()),
    "the number of rows in the code": (lambda a: a[0].view(ROWS, 2, 3).sum(1), [x()], ()),
    "one number": (lambda a: a[0].sum(), [x()], ()),
    "backwards": (lambda a: a[0].flip(0), [x()], ()),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_that_depend_on_themselves_alone_are_found(case):
    called, leaves, expected = CASES[case]
    result = called(leaves)
    found = sliced_inputs(called, leaves, [result])
    assert found == expected
    if found:
        into = [torch.empty_like(result)]
        torch.testing.assert_close(run_in_slices(called, leaves, found, into)[0], result)


def test_slices_are_small_pieces_of_many_rows(monkeypatch):
    monkeypatch.setattr("kernelwright.evaluate.entrypoints.reference.slices.SLICE_BYTES", 8 * 12 * 7)
    sizes = []

    def called(leaves):
        sizes.append(len(leaves[0]))
        return leaves[0] * 2

    given = x()
    (found,) = run_in_slices(called, [given], (0,), [torch.empty(ROWS, 6, dtype=torch.float64)])
    assert sizes == [7, 7, 7, 7, 7, 5]
    torch.testing.assert_close(found, given.double() * 2)
