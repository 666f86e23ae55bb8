"""What runs learned of a graph's edges: how often each was gone, what was reached behind it, how often it failed.

Sums and counts only, so that two runs which write at once add up (`search.strategy.add_learned`). Gains are factors over
the kernel before the step, on a logarithmic scale: they carry over to other sizes, where times do not.
"""

import math
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from kernelwright.errors import UsageError
from kernelwright.records.base import Record

Count = Annotated[int, Field(ge=0)]


class Weight(Record):
    """Of one edge."""

    runs: Count = 0
    """Rollouts that took it."""
    gain: float = 0.0
    """Sum of log2 of the best that they reached behind it, over the kernel before it."""
    failed: Count = 0
    """Steps that gave no right kernel."""


class Stored(Record):
    """What is stored; a text as version, because numbers are added up."""

    version: Literal["1"] = "1"
    edges: dict[str, Weight] = Field(default_factory=dict)


class EdgeWeights:
    """Weights by an edge's key."""

    def __init__(self, edges: dict[str, Weight] | None = None) -> None:
        self._edges = dict(edges or {})

    @classmethod
    def load(cls, state: JsonValue) -> "EdgeWeights":
        """The weights in a stored state.

        Raises:
            UsageError: another version left it.
        """
        try:
            return cls(Stored.model_validate(state).edges)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            raise UsageError(
                f"the edge weights that earlier runs left cannot be read ({where}: {fault['msg']}): "
                "use the version that wrote them, or begin without them (`weights = false` under [strategy])"
            ) from None

    def dump(self) -> JsonValue:
        """As it is stored."""
        return Stored(edges=dict(sorted(self._edges.items()))).model_dump(mode="json")

    def learned(self, edge: str, factor: float) -> None:
        """A rollout took the edge and reached a kernel so many times as fast as the one before it."""
        old = self._edges.get(edge, Weight())
        gain = old.gain + math.log2(max(factor, 1e-6))
        self._edges[edge] = old.model_copy(update={"runs": old.runs + 1, "gain": gain})

    def failed(self, edge: str) -> None:
        """A step along the edge gave no right kernel."""
        old = self._edges.get(edge, Weight())
        self._edges[edge] = old.model_copy(update={"failed": old.failed + 1})

    def prior(self, edge: str) -> float | None:
        """The factor to expect behind an edge; None where nobody went there. Failures count as nothing gained."""
        found = self._edges.get(edge)
        if found is None or not found.runs + found.failed:
            return None
        return math.exp2(found.gain / (found.runs + found.failed))
