"""How long to wait."""

from email.utils import formatdate

import pytest

from kernelwright.models.fault import LONGEST_ASKED_S, RetryPolicy, retry_after


@pytest.mark.parametrize("draw", [0.0, 0.999])
def test_waits_grow_and_are_bounded(draw):
    retries = RetryPolicy(draw=lambda: draw)
    waits = [retries.delay_s(failures, None) for failures in range(1, 12)]
    assert waits == sorted(waits)
    assert 0.25 <= waits[0] <= 0.5
    assert 30 <= waits[-1] <= 60


def test_two_policies_do_not_wait_in_step():
    assert RetryPolicy().delay_s(3, None) != RetryPolicy().delay_s(3, None)


def test_what_the_endpoint_asks_for_is_bounded():
    retries = RetryPolicy(draw=lambda: 0.0)
    assert retries.delay_s(1, 5.0) == 5.0
    assert retries.delay_s(1, 1e9) == LONGEST_ASKED_S


@pytest.mark.parametrize("asked_s", [0.0, 0.01])
def test_an_endpoint_that_asks_for_no_wait_is_waited_for_all_the_same(asked_s):
    retries = RetryPolicy(draw=lambda: 0.5)
    assert [retries.delay_s(n, asked_s) for n in range(1, 8)] == [retries.delay_s(n, None) for n in range(1, 8)]


def test_the_thousandth_wait_is_like_the_hundredth():
    retries = RetryPolicy(draw=lambda: 0.5)
    assert retries.delay_s(5000, None) == retries.delay_s(100, None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_how_it_is_asked(headers, seconds):
    assert retry_after(headers, now=lambda: 1_000_000.0) == seconds
