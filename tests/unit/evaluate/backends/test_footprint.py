"""How much of a device one task takes: what gives way, in which order, and when nothing does any more."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.backends.cuda import footprint
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

GB = 1 << 30


def spec(numel, dtype="float32"):
    return (TensorSpec(name="x", shape=(numel,), dtype=dtype),)


def fit(inputs, outputs, free, parameters=()):
    workload = Workload(inputs=inputs, parameters=parameters, outputs=outputs)
    return footprint.fit(workload, distributions=6, seeds=5, free=free)


def test_a_small_task_gets_all_seeds_and_a_place_for_every_call_of_a_sample():
    found = fit(spec(1 << 20), spec(1), 140 * GB)
    assert (found.kept, found.spare) == (5, 16)


def test_a_large_task_gets_fewer_places_for_fresh_inputs_first_and_then_fewer_cases():
    sizes = [fit(spec(n), spec(n), 140 * GB) for n in (1 << 24, 1 << 28, 1 << 30, 5 << 28)]
    for shares in ([f.kept for f in sizes], [f.spare for f in sizes]):
        assert shares == sorted(shares, reverse=True)
        assert min(shares) >= 1
    assert (sizes[0].kept, sizes[0].spare) == (5, 16)
    assert sizes[1].spare == 4
    assert sizes[-1].kept < 5
    assert all(f.nbytes <= 140 * GB for f in sizes)


def test_a_place_holds_parameters_too():
    large = fit(spec(1 << 20), spec(1), 140 * GB, parameters=spec(1 << 28))
    assert large.spare == 3
    assert large.nbytes > 5 * GB, "two sets that stay, and three"


def test_what_does_not_fit_at_all_is_the_task_s_fault():
    with pytest.raises(TaskError, match="make its inputs smaller"):
        fit(spec(1 << 32), spec(1 << 32), 140 * GB)


def test_large_results_are_kept_in_single_precision():
    assert footprint.wide(spec(1 << 20))
    assert not footprint.wide(spec(1 << 30))
    assert footprint.expected_bytes(spec(1 << 20)) == 8 << 20
    assert footprint.expected_bytes(spec(1 << 30)) == 4 << 30
    assert footprint.expected_bytes(spec(1 << 20, "int64")) == 8 << 20
    assert footprint.expected_bytes(spec(1 << 30, "float64")) == 8 << 30
