"""The lanes of the suite: which tests stand beside others, which stand alone, and which only belong to the long matrix.

`make test` runs two lanes: everything without a marker side by side, and then what is `quiet`, one test after the other
with the machine for itself. A test that compares times is quiet; one that only takes them is not.

Parameters of a large matrix are `matrix`, but for a sample of each kind: `make test-all` runs them too.
"""

from collections.abc import Callable, Iterable

import pytest

Case = Callable[..., bool]


def sampled(cases: Iterable[object], quick: Case, quiet: Case = lambda *_: False) -> list[object]:
    """Parameters of a matrix; those that `quick` accepts run in every lane, the others with `make test-all` only.

    A case that is a tuple has several arguments. Those that `quiet` accepts run alone.
    """
    return [_marked(case if isinstance(case, tuple) else (case,), quick, quiet) for case in cases]


def _marked(arguments: tuple[object, ...], quick: Case, quiet: Case) -> object:
    marks = [pytest.mark.quiet] * quiet(*arguments) + [pytest.mark.matrix] * (not quick(*arguments))
    return pytest.param(*arguments, marks=marks)


def asked_for(request: pytest.FixtureRequest, test: Callable[..., None]) -> list[str]:
    """The values of `name` for which this test is to run: what a fixture prepares for all of them together."""
    found = (item for item in request.session.items if getattr(item, "function", None) is test)
    return list(dict.fromkeys(item.callspec.params["name"] for item in found))
