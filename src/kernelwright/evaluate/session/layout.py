"""Where things lie in a session's segments, one for each tensor.

Draws, spare places, input distributions; or sets of parameters.

Draws lie one behind the other in one piece, since windows of them go from one into the next; everything else begins where an
allocator would put it. Knows neither what is written there nor what the memory is.
"""

from dataclasses import dataclass

from kernelwright.records.tensor import TensorSpec

LINE = 64
"""Alignment of a place in bytes."""
SETS = 2
"""Sets of parameters that stay: as they were initialised, and randomised."""


@dataclass(frozen=True)
class Layout:
    """Byte offsets into the segments of inputs and of parameters."""

    kept: int
    """Draws that stay."""
    spare: int
    """Places for fresh inputs and parameters, one for each call of a sample."""
    distributions: int
    """Places for inputs of input distributions."""
    shared: bool = False
    """These have none of their own: they lie where the first fresh inputs will."""

    def draw(self, spec: TensorSpec, number: int) -> int:
        """Where a draw begins."""
        return number * spec.nbytes

    def place(self, spec: TensorSpec, number: int) -> int:
        """Where a spare place of an input begins."""
        return line(self.kept * spec.nbytes) + number * line(spec.nbytes)

    def distribution(self, spec: TensorSpec, number: int) -> int:
        """Where the inputs of an input distribution begin; there is room for a shift by some elements."""
        if self.shared:
            return self.place(spec, 0)
        return self.place(spec, self.spare) + number * (line(spec.nbytes) + LINE)

    def parameter(self, spec: TensorSpec, number: int) -> int:
        """Where a set of parameters begins: those that stay come first, then the spare ones."""
        return number * line(spec.nbytes)

    def input_bytes(self, spec: TensorSpec) -> int:
        """Size of an input's segment."""
        if self.shared:
            return self.place(spec, self.spare) + LINE
        return self.distribution(spec, self.distributions)

    def parameter_bytes(self, spec: TensorSpec) -> int:
        """Size of a parameter's segment."""
        return self.parameter(spec, SETS + self.spare)


def line(size: int) -> int:
    """The next multiple of LINE."""
    return -(-size // LINE) * LINE
