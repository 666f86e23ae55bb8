"""Binding: which of a candidate's own tensors hold the reference's parameters, and what its model was judged with."""

from typing import Annotated, Literal

from pydantic import Field

from kernelwright.records.base import Record

Weights = Literal["fresh", "constant", "construction"]
"""`fresh`: other parameters in every call. `constant`: one set for a whole evaluation, given before the first call.
`construction`: those with which both models were built, because the candidate's could not be given others."""
Name = Annotated[str, Field(max_length=400)]
Names = Annotated[tuple[Name, ...], Field(max_length=20_000)]


class Binding(Record):
    """How a candidate's model came to the reference's parameters, by the reference's names."""

    by_name: int = 0
    """How many have the reference's name and shape."""
    by_value: Names = ()
    """`theirs = ours`: of equal shape and equal values when both models were built under one seed."""
    by_order: Names = ()
    """`theirs = ours`: the rest, where shapes agree one by one."""
    by_method: bool = False
    """The model's own `load_reference(state_dict)` takes them all."""
    left: Names = ()
    """The reference's that nothing in the model holds."""
    constant: Names = ()
    """The model's own tensors that are none of the reference's: they stay as they were built."""
