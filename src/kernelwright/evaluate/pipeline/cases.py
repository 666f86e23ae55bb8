"""One set of inputs that a kernel is judged on: where it lies and what is expected, before and after that is known.

Decides nothing.
"""

from dataclasses import dataclass

from kernelwright.evaluate.pipeline import expectations
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.evaluate.verify.regimes import Regime


@dataclass(frozen=True)
class Case:
    """One set of inputs, by byte offsets into the arena, and what every output should be."""

    regime: str
    offsets: tuple[int, ...]
    expected: tuple[Expectation, ...]
    exact: bool = False


@dataclass(frozen=True)
class Observed:
    """One case before it is known what may be allowed; `fault` says why it cannot be one."""

    regime: Regime
    offsets: tuple[int, ...]
    outputs: tuple[expectations.Seen, ...]
    fault: str = ""
