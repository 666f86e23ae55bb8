"""Scales: values to positions, linear or logarithmic, with round ticks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps `low`..`high` to `start`..`end`; values outside, and those that are no numbers, go to an edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of `value`."""
        if math.isnan(value):
            return self.end
        inside = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 7) -> list[float]:
        """At most about `most` round values inside the scale."""
        if not self.log or self.high / self.low < 4:
            return self._even(most)
        for mantissas in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
            found = self._decades(mantissas)
            if len(found) <= most:
                return found
        return found[:: math.ceil(len(found) / most)]

    def _even(self, most: int) -> list[float]:
        raw = (self.high - self.low) / max(most - 1, 1)
        power = 10 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]

    def _decades(self, mantissas: Iterable[float]) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = (m * 10.0**p for p in powers for m in mantissas)
        return [v for v in values if self.low <= v * 1.000001 and v <= self.high * 1.000001]


def around(values: Iterable[float], start: float, end: float, pad: float = 1.12) -> Scale:
    """A logarithmic scale that holds all positive finite values with a margin of the factor `pad`."""
    usable = [v for v in values if math.isfinite(v) and v > 0] or [1.0]
    return Scale(min(usable) / pad, max(usable) * pad, start, end, log=True)
