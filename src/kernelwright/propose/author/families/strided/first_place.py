"""Where an extremum lies first, found in the pass that finds the extremum: every element is read once.

A lane meets its columns in their order. So it keeps the first place of its own best one, and of the lanes that hold the row's
best one the least place is the row's. A NaN is better than any number, and the first of them stays.
"""

from dataclasses import dataclass, field

from kernelwright.propose.author.plan.expr import Reduce
from kernelwright.propose.author.plan.orders import LAST
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.writer import Writer


@dataclass
class FirstPlace:
    """The lines that keep the place of one extremum beside it, in Triton."""

    writer: Writer
    names: Names
    best: Reduce
    kept: str
    """The lanes' best so far, of this shape."""
    shape: str
    place: str = field(init=False)

    def __post_init__(self) -> None:
        self.place = self.names.fresh("lanes_place")

    @property
    def _nan(self) -> bool:
        return self.best.op in ("amax", "amin") and self.best.kind == "float"

    def begin(self, steps: bool) -> None:
        """Each lane's first column, which holds as long as nothing is better than the worst number there is."""
        first = "" if steps else " + tl.arange(0, BLOCK)[None, :]"
        self.writer.line(f"{self.place} = tl.full({self.shape}, 0, tl.int32){first}")

    def meet(self, text: str) -> None:
        """Take a column's element, where it is better."""
        names, w = self.names.inner(), self.writer
        value = text if text.isidentifier() else names.fresh("value")
        better, sign = names.fresh("better"), ">" if self.best.op in ("max", "amax") else "<"
        if value != text:
            w.line(f"{value} = {text}")
        first = f" | (({value} != {value}) & ({self.kept} == {self.kept}))"
        w.line(
            f"{better} = " + (f"({value} {sign} {self.kept}){first}" if self._nan else f"{value} {sign} {self.kept}")
        )
        w.line(f"{self.kept} = tl.where({better}, {value}, {self.kept})")
        w.line(f"{self.place} = tl.where({better}, column, {self.place})")

    def end(self, best: str, steps: bool) -> str:
        """The name of the row's place; `best` is the row's extremum."""
        if steps:
            return self.place
        hits, name = self.names.fresh("hits"), self.names.fresh("row_place")
        equal = f"{self.kept} == {best}"
        self.writer.line(f"{hits} = " + (f"({equal}) | ({self.kept} != {self.kept})" if self._nan else equal))
        self.writer.line(f"{name} = tl.min(tl.where({hits}, {self.place}, {LAST}), axis=1, keep_dims=True)")
        return name
