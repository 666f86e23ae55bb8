"""Objects of Triton and torch, which ship no types that a checker reads: names for them, and attributes replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

Untyped = Any
"""An object of an untrusted library: a builder, a Triton type, an enumeration's member, kernel metadata."""

Array = np.ndarray[Any, np.dtype[Any]]


class Handle(Protocol):
    """A value inside of the interpreter: what Triton calls a TensorHandle."""

    data: Array
    dtype: Untyped

    def get_element_ty(self) -> Untyped:
        """The type that a pointer points to."""
        ...


@contextmanager
def replaced(owner: object, **attributes: object) -> Iterator[None]:
    """Set attributes of `owner` for a while."""
    before = {name: getattr(owner, name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
