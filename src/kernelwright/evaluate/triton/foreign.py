"""Names for the objects of Triton's interpreter and of torch, which ship no types that a checker reads."""

from typing import Any, Protocol

import numpy as np

Foreign = Any
"""An object of a foreign library: a builder, a Triton type, an enumeration's member, kernel metadata."""

Array = np.ndarray[Any, np.dtype[Any]]


class Handle(Protocol):
    """A value inside of the interpreter: what Triton calls a TensorHandle."""

    data: Array
    dtype: Foreign

    def get_element_ty(self) -> Foreign:
        """The type that a pointer points to."""
        ...
