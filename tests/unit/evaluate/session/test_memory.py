"""Where things lie in a segment: nothing overlaps, and all but the draws is aligned."""

import itertools

import pytest

from kernelwright.evaluate.session.memory import LINE, Layout
from kernelwright.records.tensor import TensorSpec


@pytest.mark.parametrize("numel", [0, 1, 101, 4096])
def test_nothing_overlaps_and_everything_fits(numel):
    spec, layout = TensorSpec(name="x", shape=(numel,), dtype="float32"), Layout(5, 3, 4)
    draws = [layout.draw(spec, i) for i in range(5)]
    places = [layout.place(spec, i) for i in range(3)]
    distributions = [layout.distribution(spec, i) for i in range(4)]
    assert draws == [i * spec.nbytes for i in range(5)], "in one piece"
    assert all(offset % LINE == 0 for offset in (*places, *distributions))
    begins = [*draws, *places, *distributions, layout.input_bytes(spec)]
    assert all(b - a >= spec.nbytes for a, b in itertools.pairwise(begins))
    assert all(b - a >= spec.nbytes + LINE for a, b in itertools.pairwise([*distributions, layout.input_bytes(spec)]))


def test_spare_parameters_lie_behind_those_that_stay():
    spec, layout = TensorSpec(name="w", shape=(101,), dtype="float32"), Layout(5, 3, 4)
    begins = [layout.parameter(spec, i) for i in range(5)]
    assert all(b - a >= spec.nbytes and b % LINE == 0 for a, b in itertools.pairwise(begins))
    assert begins[-1] + spec.nbytes <= layout.parameter_bytes(spec)
