"""An input distribution for some inputs alone, where the reference does not bear it of all.

Each case changes all inputs at once. One that bears no change (a target that must lie between zero and one) would keep every
other input as it was drawn, and so hide what a kernel makes of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from kernelwright.evaluate.verify.distributions import InputDistribution

Bears = Callable[[InputDistribution], bool]
"""Whether the reference is finite and near the truth under an input distribution."""


def of_some(distribution: InputDistribution, touched: tuple[int, ...], bears: Bears) -> InputDistribution | None:
    """The strongest form of which the reference bears some of the inputs, and these; None where it bears none.

    Inputs are taken in one after another, as long as it bears them together.
    """
    if len(touched) < 2:
        return None
    for form in _forms(distribution):
        kept: tuple[int, ...] = ()
        for number in touched:
            more = (*kept, number)
            if len(more) < len(touched) and bears(replace(form, only=more, weaker=None)):
                kept = more
        if kept:
            return replace(form, only=kept, weaker=None)
    return None


def _forms(distribution: InputDistribution) -> Iterator[InputDistribution]:
    form: InputDistribution | None = distribution
    while form is not None:
        yield form
        form = form.weaker
