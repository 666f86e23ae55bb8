"""How much of a device one task takes: what gives way, in which order, and when nothing does any more."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.pipeline import footprint
from kernelwright.records.tensor import TensorSpec

GB = 1 << 30


def spec(numel, dtype="float32"):
    return (TensorSpec(name="x", shape=(numel,), dtype=dtype),)


def fit(inputs, outputs, free, pool=300 << 20):
    return footprint.fit(inputs, outputs, regimes=6, seeds=5, pool=pool, free=free)


def test_a_small_task_gets_all_seeds_and_a_pool_for_the_clock():
    found = fit(spec(1 << 20), spec(1), 140 * GB)
    assert found.kept == 5
    assert found.draws == 64


def test_a_large_task_keeps_fewer_cases_and_then_fewer_draws():
    sizes = [fit(spec(n), spec(n), 140 * GB) for n in (1 << 28, 1 << 30, 3 << 29)]
    assert [f.kept for f in sizes] == sorted((f.kept for f in sizes), reverse=True)
    assert sizes[0].kept == 5
    assert 1 <= sizes[-1].kept < 5
    assert all(f.kept <= f.draws for f in sizes)
    assert all(f.nbytes <= 140 * GB for f in sizes)


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
