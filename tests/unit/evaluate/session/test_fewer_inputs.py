"""A case for some inputs alone, where the reference does not bear it of all."""

from kernelwright.evaluate.session.fewer_inputs import of_some
from kernelwright.evaluate.verify.distributions import DISTRIBUTIONS, TOGETHER


def test_inputs_are_taken_in_as_long_as_the_reference_bears_them_together():
    found = of_some(DISTRIBUTIONS[0], (0, 1, 2), lambda one: 1 not in one.only)
    assert (found.name, found.only) == (DISTRIBUTIONS[0].name, (0, 2))


def test_the_strongest_form_that_any_input_bears_is_taken():
    found = of_some(TOGETHER, (0, 1), lambda one: one.only == (1,) and one.spreads < TOGETHER.spreads)
    assert (found.only, found.spreads, found.weaker) == ((1,), TOGETHER.weaker.spreads, None)


def test_a_single_input_has_no_others_to_spare():
    assert of_some(DISTRIBUTIONS[0], (0,), lambda one: True) is None
    assert of_some(DISTRIBUTIONS[0], (0, 1), lambda one: False) is None
