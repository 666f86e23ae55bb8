"""How much of a device one task takes: what gives way, in which order, and when nothing does any more."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.backends.cuda import footprint
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

GB = 1 << 30


def spec(numel, dtype="float32"):
    return (TensorSpec(name="x", shape=(numel,), dtype=dtype),)


def need(inputs, outputs, parameters=(), **more):
    workload = Workload(inputs=inputs, parameters=parameters, outputs=outputs)
    return footprint.Need(workload, distributions=6, seeds=5, **more)


def fit(inputs, outputs, free, parameters=(), **more):
    return footprint.fit(need(inputs, outputs, parameters, **more), free)


def test_a_small_task_gets_all_seeds_and_a_place_for_every_call_of_a_sample():
    found = fit(spec(1 << 20), spec(1), 140 * GB)
    assert (found.kept, found.spare) == (5, 16)


def test_a_large_task_gives_up_calls_and_draws_then_kept_results_then_a_place_of_its_own():
    sizes = [fit(spec(n), spec(n), 140 * GB, sliced=True) for n in (1 << 20, 1 << 24, 1 << 26, 3 << 29)]
    for shares in ([f.kept for f in sizes], [f.spare for f in sizes], [f.held for f in sizes]):
        assert shares == sorted(shares, reverse=True)
    assert not sizes[-1].held
    assert sizes[-1].sliced


@pytest.mark.parametrize("count", [1 << 10, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 30, 3 << 29])
@pytest.mark.parametrize("free", [79 * GB, 140 * GB])
def test_a_task_takes_about_four_times_what_eager_does(count, free):
    asked = need(spec(count), spec(count), sliced=True)
    assert footprint.fit(asked, free).nbytes <= 1.25 * asked.allowance


def test_sixteen_hundred_million_elements_in_and_out_fit_eighty_gigabytes():
    found = fit(spec(4096 * 393216), spec(4096 * 393216), 79 * GB, sliced=True)
    assert found.nbytes < 56e9
    whole = fit(spec(4096 * 393216), spec(4096 * 393216), 79 * GB)
    assert whole.shared
    assert whole.nbytes < 79 * GB


def test_indices_and_sizes_go_beyond_32_bits():
    found = fit(spec(1 << 32, "bfloat16"), spec(1 << 16, "bfloat16"), 79 * GB, sliced=True)
    assert found.nbytes > 1 << 33


def test_what_weakens_the_judgement_is_told():
    least = fit(spec(1 << 30), spec(1 << 30), 79 * GB)
    assert least.shared
    assert least.weaker == ("fresh inputs of one call at a time",)
    assert fit(spec(1 << 20), spec(1), 140 * GB).weaker == ()


def test_a_place_holds_parameters_too():
    without, large = (fit(spec(1 << 20), spec(1), 140 * GB, parameters=spec(n)) for n in (1, 1 << 28))
    assert large.spare < without.spare
    assert large.nbytes > 5 * GB, "two sets that stay, and three"


def test_what_does_not_fit_at_all_is_the_task_s_fault():
    with pytest.raises(TaskError, match=r"in GB: inputs .*make its inputs smaller"):
        fit(spec(1 << 32), spec(1 << 32), 140 * GB)


def test_large_results_are_kept_in_single_precision():
    assert footprint.wide(spec(1 << 20))
    assert not footprint.wide(spec(1 << 30))
    assert footprint.expected_bytes(spec(1 << 20)) == 8 << 20
    assert footprint.expected_bytes(spec(1 << 30)) == 4 << 30
    assert footprint.expected_bytes(spec(1 << 20, "int64")) == 8 << 20
    assert footprint.expected_bytes(spec(1 << 30, "float64")) == 8 << 30
