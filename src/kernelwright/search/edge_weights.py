"""What runs learned of a graph's edges: how often each was gone, what was reached behind it, how often it failed.

Which edges led to a run's best kernel is counted too, so that the next run begins with the way that was the best most often.
Sums and counts only, so that two runs which write at once add up (`search.strategy.add_learned`). Gains are factors over
the kernel before the step, on a logarithmic scale: they carry over to other sizes, where times do not.

An edge that nobody took is expected to do what its technique did after others: that a loop wants to be tiled is learned once,
and not once for each technique that could come before.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from kernelwright.errors import UsageError
from kernelwright.records.base import Record, first_fault

Count = Annotated[int, Field(ge=0)]


class Weight(Record):
    """Of one edge."""

    runs: Count = 0
    """Rollouts that took it."""
    gain: float = 0.0
    """Sum of log2 of the best that they reached behind it, over the kernel before it."""
    failed: Count = 0
    """Steps that gave no right kernel."""
    best: Count = 0
    """Runs whose best kernel it led to."""

    def plus(self, other: "Weight") -> "Weight":
        """Both together."""
        return Weight(**{name: getattr(self, name) + getattr(other, name) for name in Weight.model_fields})


class Stored(Record):
    """What is stored; a text as version, because numbers are added up."""

    version: Literal["1"] = "1"
    edges: dict[str, Weight] = Field(default_factory=dict)


class EdgeWeights:
    """Weights by an edge's key."""

    def __init__(self, edges: dict[str, Weight] | None = None) -> None:
        self._edges: dict[str, Weight] = {}
        self._techniques: dict[str, Weight] = {}
        """Of all edges that lead to a technique."""
        for edge, weight in (edges or {}).items():
            self._add(edge, weight)

    @classmethod
    def of_gains(cls, gains: Mapping[str, float]) -> "EdgeWeights":
        """Weights as if one rollout had taken each edge and gained this factor."""
        return cls({edge: Weight(runs=1, gain=math.log2(gain)) for edge, gain in gains.items()})

    @classmethod
    def load(cls, state: JsonValue) -> "EdgeWeights":
        """The weights in a stored state.

        Raises:
            UsageError: another version left it.
        """
        try:
            return cls(Stored.model_validate(state).edges)
        except ValidationError as error:
            where, fault = first_fault(error)
            raise UsageError(
                f"the edge weights that earlier runs left cannot be read ({where}: {fault}): "
                "use the version that wrote them, or begin without them (`weights = false` under [strategy])"
            ) from None

    def dump(self, best: Iterable[str] = ()) -> JsonValue:
        """As it is stored, with the edges that led to the run's best kernel."""
        led = {edge: self._edges.get(edge, Weight()).plus(Weight(best=1)) for edge in best}
        return Stored(edges=dict(sorted({**self._edges, **led}.items()))).model_dump(mode="json")

    def add_gain(self, edge: str, factor: float) -> None:
        """A rollout took the edge and reached a kernel so many times as fast as the one before it."""
        self._add(edge, Weight(runs=1, gain=math.log2(max(factor, 1e-6))))

    def add_failure(self, edge: str) -> None:
        """A step along the edge gave no right kernel."""
        self._add(edge, Weight(failed=1))

    def best_runs(self, edge: str) -> int:
        """How many runs it led to their best kernel."""
        return self._edges.get(edge, Weight()).best

    def prior(self, edge: str) -> float | None:
        """The factor to expect behind an edge; None where nobody went there, nor to its technique from elsewhere.

        Failures count as nothing gained.
        """
        found = self._edges.get(edge) or self._techniques.get(edge.rpartition(">")[2])
        if found is None or not found.runs + found.failed:
            return None
        return math.exp2(found.gain / (found.runs + found.failed))

    def _add(self, edge: str, more: Weight) -> None:
        for weights, name in ((self._edges, edge), (self._techniques, edge.rpartition(">")[2])):
            weights[name] = weights.get(name, Weight()).plus(more)
