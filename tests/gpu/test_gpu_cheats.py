"""Python around a right kernel that makes it look faster than it is; the same without the trick is measured."""

import gpu_kernels
import pytest

pytestmark = pytest.mark.gpu


def test_the_honest_twins_are_measured(gpu):
    for task in ("small", "softmax"):
        found = gpu.judge(task, gpu_kernels.SOFTMAX)
        assert found.outcome == "measured", found


def test_results_kept_by_pointer_are_wrong_when_contents_change(gpu):
    found = gpu.judge("small", gpu_kernels.REMEMBERS_POINTERS)
    assert found.outcome == "incorrect", found
    assert found.because in ("timed_output", "value")


def test_work_on_another_stream_is_not_faster_work(gpu):
    found = gpu.judge("softmax", gpu_kernels.WORKS_ON_ANOTHER_STREAM)
    assert found.outcome in ("suspect", "incorrect"), found
    if found.outcome == "suspect":
        assert found.because in ("below_floor", "clock_disagrees")
