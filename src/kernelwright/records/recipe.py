"""Recipe: how to launch a `cuda` candidate's kernels, in expressions over shapes and tunables.

The referee works out a `LaunchPlan` from it for the shapes of a workload (`evaluate/languages/cuda/recipe.py`); here an
expression is unchecked text. docs/candidate.md has the language.
"""

from typing import Annotated

from pydantic import Field

from kernelwright.records.base import Record

Expression = Annotated[str, Field(max_length=400)]
"""Text such as `ceil_div(in0.numel, BLOCK * 4)`; never evaluated as Python."""
Expressions3 = tuple[Expression, Expression, Expression]
ONE: Expressions3 = ("1", "1", "1")


class RecipeConstant(Record):
    """A name for a value that follows from shapes, tunables and the constants above it."""

    name: str
    value: Expression
    in_source: bool = False
    """The source defines it itself; otherwise the compiler gets it as a macro."""


class RecipeWorkspace(Record):
    """Memory that the kernels share between launches, called `work0`, `work1`, … in arguments."""

    nbytes: Expression
    zeroed: bool = False
    """Set to zero before the first launch of every call."""


class RecipeLaunch(Record):
    """One kernel launch."""

    kernel: str = Field(max_length=400)
    """A name, or an instance of a template such as `scale<float, BLOCK>`."""
    grid: Expressions3
    block: Expressions3
    shared_bytes: Expression = "0"
    """Dynamic shared memory of one block."""
    cluster: Expressions3 = ONE
    cooperative: bool = False
    arguments: tuple[Expression, ...] = Field(default=(), max_length=64)


class Recipe(Record):
    """Every launch of one call, in order."""

    launches: tuple[RecipeLaunch, ...] = Field(min_length=1, max_length=64)
    workspaces: tuple[RecipeWorkspace, ...] = Field(default=(), max_length=16)
    constants: tuple[RecipeConstant, ...] = Field(default=(), max_length=64)
    zeroed_outputs: tuple[int, ...] = ()
    """Outputs that are set to zero before the first launch of every call."""
