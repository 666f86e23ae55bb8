"""Wrong and broken Triton kernels: each is a value that says what it was, and harms nobody after it."""

import gpu_kernels
import pytest

pytestmark = pytest.mark.gpu

HANG_S = 15.0
"""Limit of a call where a candidate hangs; the first one compiles as well."""


@pytest.mark.parametrize(
    ("task", "source", "because"),
    [
        ("softmax", gpu_kernels.SKIPS_THE_LAST_BLOCK, ("unwritten", "value", "nonfinite")),
        ("softmax", gpu_kernels.ADDS_IN_BFLOAT16, ("value",)),
        ("softmax", gpu_kernels.NO_MAXIMUM, ("nonfinite", "value")),
        ("softmax", gpu_kernels.WRONG_DTYPE, ("dtype",)),
        ("softmax", gpu_kernels.WRONG_SHAPE, ("shape",)),
        ("softmax", gpu_kernels.TWO_RESULTS, ("count",)),
        ("softmax", gpu_kernels.RETURNS_ITS_INPUT, ("value",)),
        ("layer_norm", gpu_kernels.NO_BIAS, ("value",)),
        ("layer_norm", gpu_kernels.INITIAL_WEIGHTS, ("value",)),
    ],
    ids=[
        "skips the last block", "adds in bfloat16", "no maximum", "wrong dtype", "wrong shape", "two results",
        "returns its input", "no bias", "initial weights",
    ],
)  # fmt: skip
def test_a_wrong_kernel_is_incorrect(gpu, task, source, because):
    found = gpu.judge(task, source)
    assert found.outcome == "incorrect", found
    assert found.because in because
    assert found.evidence
    assert found.case


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (gpu_kernels.COMPILE_ERROR, "no_such_function"),
        (gpu_kernels.SYNTAX_ERROR, "SyntaxError"),
        (gpu_kernels.NO_MODEL, "ModelNew"),
        (gpu_kernels.TOO_MUCH_SHARED_MEMORY, "shared memory"),
    ],
    ids=["compile error", "syntax error", "no model", "shared memory"],
)
def test_what_does_not_build_is_told_with_its_log(gpu, source, told):
    found = gpu.judge("softmax", source)
    assert found.outcome == "build_failed", found
    assert told in found.log


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (gpu_kernels.ILLEGAL_ADDRESS, "illegal memory access"),
        (gpu_kernels.EXITS, "exited with status 0 before it answered"),
        (gpu_kernels.RAISES, "not today"),
        (gpu_kernels.NO_TENSOR, "the model returned a str"),
    ],
    ids=["illegal address", "exits", "raises", "no tensor"],
)
def test_what_ends_by_itself_has_crashed(gpu, source, told):
    found = gpu.judge("softmax", source)
    assert found.outcome == "crashed", found
    assert told in f"{found.reason}\n{found.log}"


def test_a_write_to_an_input_is_told_from_other_illegal_addresses(gpu):
    found = gpu.judge("softmax", gpu_kernels.WRITES_TO_ITS_INPUT)
    assert (found.outcome, found.because) == ("incorrect", "input_mutated"), found
    assert "writes to its input 'x'" in found.evidence


def test_a_kernel_that_never_ends_is_killed_and_the_next_one_is_unharmed(gpu):
    found = gpu.judge("softmax", gpu_kernels.LOOPS_FOR_EVER, run_limit_s=HANG_S)
    assert found.outcome == "timed_out", found
    assert 0 < found.limit_s < HANG_S  # what eager takes bounds it further: a hanging kernel holds the whole device
    after = gpu.judge("softmax", gpu_kernels.SOFTMAX)
    assert after.outcome == "measured", after


def test_after_an_illegal_address_the_inputs_are_as_they_were(gpu):
    gpu.judge("softmax", gpu_kernels.WRITES_TO_ITS_INPUT)
    gpu.judge("softmax", gpu_kernels.ILLEGAL_ADDRESS)
    after = gpu.judge("softmax", gpu_kernels.SOFTMAX)
    assert after.outcome == "measured", after


def test_memory_that_no_kernel_uses_is_asked_for_when_the_source_itself_is_run(gpu):
    assert gpu.judge("softmax", gpu_kernels.OUT_OF_MEMORY).outcome == "measured", "its launches are right"
    found = gpu.judge("softmax", gpu_kernels.OUT_OF_MEMORY, effort="final")
    assert found.outcome == "crashed", found
    assert "OutOfMemoryError" in found.reason


def test_a_kernel_that_holds_all_memory_ends_no_run_and_the_next_one_is_unharmed(gpu):
    found = gpu.judge("softmax", gpu_kernels.HOLDS_ALL_MEMORY, effort="final")
    assert found.outcome == "crashed", found
    assert "no memory left beside this kernel" in found.reason or "OutOfMemoryError" in found.reason
    after = gpu.judge("softmax", gpu_kernels.SOFTMAX)
    assert after.outcome == "measured", after
