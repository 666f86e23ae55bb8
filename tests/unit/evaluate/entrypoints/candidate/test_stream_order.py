"""Results that are not complete on their call's stream, with a device that is played by the order of things."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.candidate.stream_order import StreamOrder

DTYPES = (torch.float32, torch.float16, torch.bool, torch.int64, torch.complex64, torch.float8_e4m3fn)


def ordered(calls, occupied):
    return StreamOrder(lambda i: calls[i], len(calls) - 1, occupied.append)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (700, 900)])
def test_a_result_that_is_written_after_its_stream_is_done_is_refused(dtype, shape):
    result, occupied = torch.zeros(shape, dtype=dtype), []
    order = ordered([(torch.ones(2),), (result,)], occupied)
    order(0)
    assert order(1) == (result,)
    assert not order.late()
    result.view(-1)[-1:].copy_(torch.ones(1))
    assert order.late()
    assert len(occupied) == 1


def test_what_is_no_number_equals_itself():
    order = ordered([(torch.full((4,), float("nan")), torch.zeros(0), torch.zeros(4, 4).T)], [])
    order(0)
    assert not order.late()


def test_a_result_that_a_later_call_overwrites_is_its_own_affair():
    kept = torch.zeros(4)
    order = StreamOrder(lambda i: (kept.fill_(i + 1),), 1, lambda ns: None)
    order(0), order(1)
    assert not order.late()
