"""The lanes of the suite: which tests stand beside others, which stand alone, and which only belong to the long matrix.

`make test` runs two lanes: everything without a marker side by side, and then what is `quiet`, one test after the other
with the machine for itself. A test that compares times is quiet; one that only takes them is not.

Parameters of a large matrix are `matrix`, but for a sample of each kind: `make test-all` runs them too.
"""

from collections.abc import Callable, Iterable

import pytest


def sampled(cases: Iterable[object], quick: Callable[..., bool]) -> list[object]:
    """Parameters of a matrix; those that `quick` accepts run in every lane, the others with `make test-all` only.

    A case that is a tuple has several arguments.
    """
    return [case if quick(*arguments_of(case)) else _matrix(case) for case in cases]


def arguments_of(case: object) -> tuple[object, ...]:
    """What a case hands to its test."""
    return case if isinstance(case, tuple) else (case,)


def _matrix(case: object) -> object:
    return pytest.param(*arguments_of(case), marks=pytest.mark.matrix)
