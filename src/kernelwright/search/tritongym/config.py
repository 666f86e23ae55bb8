"""TritonGymConfig: which workflow, and its dials. Those of the other workflows mean nothing to it."""

from typing import Literal

from pydantic import Field

from kernelwright.records.base import Record

Workflow = Literal["refine", "one_shot", "reflective", "evolutionary", "agent"]


class TritonGymConfig(Record):
    """How often, and in which way."""

    name: Literal["tritongym"] = "tritongym"
    attempts: int | None = Field(default=None, ge=1)
    """The K of the trials. None: as many as the budget has proposals."""
    workflow: Workflow = "refine"
    debug_limit: int = Field(default=5, ge=0)
    """`reflective`: repairs in a row before the failed line is left; GEAK's max_perf_debug_num."""
    ancestors: int = Field(default=5, ge=1)
    """`reflective`: most working kernels that an improvement gets to see; GEAK's ancestor_num."""
    population: int = Field(default=8, ge=1)
    """`evolutionary`: the best distinct kernels that are kept."""
    inspirations: int = Field(default=2, ge=0)
    """`evolutionary`: kernels of the population shown beside the parent."""
    seed: int = 0
    """`evolutionary`: of the draw of parents."""

    def trials(self, proposals: int) -> int:
        """The K where the budget has so many proposals."""
        return min(self.attempts or proposals, proposals)
