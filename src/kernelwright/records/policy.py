"""Policy: how strictly and how long the referee judges. Part of an evaluation's identity."""

from typing import Literal

from pydantic import Field, field_validator

from kernelwright.records.base import Record
from kernelwright.records.defences import Defence, Defences, defences_without
from kernelwright.records.measure import BaselineName
from kernelwright.records.numerics import NumericsMode

Effort = Literal["search", "final", "replay", "verify"]
"""`replay` judges on seeds that are known already, `verify` on a search's cases: right or wrong, and no time."""
UNTIMED: tuple[Effort, ...] = ("replay", "verify")
ON_SHARED_CASES: tuple[Effort, ...] = ("search", "verify")
"""All candidates of a task meet the same secret cases; the others get cases of their own, whose seeds are then told."""


class Policy(Record):
    """The referee's options. Times in seconds."""

    isolation: Literal["auto", "strict"] = "auto"
    """`strict` refuses to judge where a part of the sandbox is denied."""
    numerics: NumericsMode = "as-is"
    """Under which of PyTorch's precision flags reference, baselines and candidate run."""
    state: Literal["compare", "ignore"] = "compare"
    """Whether what a forward writes to its buffers and inputs is compared like its results."""
    seeds: int = Field(default=5, ge=1)
    """Secret seeds that calibrate the tolerance."""
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    search_blocks: int = Field(default=24, ge=4)
    final_blocks: int = Field(default=60, ge=4)
    """Paired blocks at most; fewer where the comparison is settled before."""
    search_precision: float = Field(default=0.02, gt=0)
    final_precision: float = Field(default=0.005, gt=0)
    """Relative width of an interval that is tight enough. A search also stops at a clear verdict, a final does not."""
    search_seconds: float = Field(default=5.0, gt=0)
    final_seconds: float = Field(default=30.0, gt=0)
    """About how long the blocks may take; eight are measured in any case, three of a kernel of many seconds."""
    minimum_effect: float = Field(default=0.015, ge=0)
    """A verdict needs a median speedup beyond 1 + this, or below its inverse, besides an interval that excludes 1."""
    compile_limit_s: float = 120.0
    """Longest that compiling a candidate may take, and the first call of a module, in which it compiles."""
    tuning_limit_s: float = Field(default=90.0, gt=0, le=3600)
    """Longest that torch.compile may tune for a final (`compile_max`). Where it is not done by then it is left out, and the
    verdict says so."""
    run_limit_s: float = 30.0
    """Longest that one call to a candidate may take before its group is killed."""
    patience: float = Field(default=200.0, gt=1)
    """On a GPU, a kernel that takes this many times as long as eager, and 3 s more, is ended."""
    tune_points: int = Field(default=16, ge=1)
    """Most settings of tunables that a candidate leaves open which are built and tried on a GPU."""
    memory_bytes: int = 16 << 30
    """Address space that a candidate process may add."""
    library_calls: Literal["report", "forbid"] = "report"
    weights: Literal["fresh", "constant"] = "fresh"
    """`fresh`: every call has parameters of its own, as in training. `constant`: they are given once, as in inference, so
    that a candidate may pack and fold them before its first call."""
    unmatched: Literal["refuse", "construction"] = "refuse"
    """What becomes of a candidate that cannot be given the reference's parameters; `construction`: it is judged with those
    under which both models were built, and its verdict says so. For kernels that were published, not for a search."""
    baselines: tuple[BaselineName, ...] = ("eager", "compile")
    """Whom the candidate is timed against. Eager is always among them: it says what a timed result should be."""
    final_baselines: tuple[BaselineName, ...] = ("compile_max", "graph")
    """Whom else in a final on a GPU."""
    cached_baselines: bool = True
    """In a search on a GPU, time torch.compile against eager once for the task, and the candidate against eager alone."""
    counters: bool = True
    """Hardware counters in profiles, which take seconds each; without them a profile is the driver's trace. No verdict
    depends on it."""
    disabled: tuple[Defence, ...] = ()
    """Defences (`records/defences.py`) that a test of them switches off; recorded in every evaluation that was made so."""

    @property
    def defences(self) -> Defences:
        """Which defences are on."""
        return defences_without(self.disabled)

    @field_validator("baselines")
    @classmethod
    def _eager_is_there(cls, value: tuple[BaselineName, ...]) -> tuple[BaselineName, ...]:
        if "eager" not in value or len(set(value)) != len(value):
            raise ValueError(f"baselines are {list(value)}: name eager, and each one once")
        return value
