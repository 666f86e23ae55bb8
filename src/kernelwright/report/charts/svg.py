"""What charts are drawn with: SVG elements as escaped markup, the frame that every chart shares, and scales.

A chart is drawn for a given width in CSS pixels; the page shows the wide or the narrow one. Nothing is
styled here: classes only.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

Number = float | int

WIDE = 1040
HALF = 500
NARROW = 330


_CONTROL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), 0xFFFE, 0xFFFF], "\ufffd")
"""Characters that no XML has."""


def element(tag: str, *children: Markup | str, **attributes: str | Number) -> Markup:
    """One element. Underscores in attribute names become hyphens; `class_` and `in_` lose theirs."""
    pairs = "".join(f' {_name(key)}="{escape(_value(value))}"' for key, value in attributes.items())
    inside = "".join(one if isinstance(one, Markup) else escape(one.translate(_CONTROL)) for one in children)
    return Markup(f"<{tag}{pairs}>{inside}</{tag}>")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def frame(width: Number, height: Number, description: str, parts: Iterable[Markup]) -> Markup:
    """The drawing, with `description` as its text alternative."""
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        role="img",
        aria_label=description,
        class_="chart",
    )


def text(x: Number, y: Number, words: str, kind: str = "tick", anchor: str = "start") -> Markup:
    """A label whose baseline starts, is centred or ends at (x, y)."""
    return element("text", words, x=x, y=y, class_=kind, text_anchor=anchor)


def rule(x1: Number, y1: Number, x2: Number, y2: Number, kind: str = "grid") -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def bar(x: Number, y: Number, width: Number, height: Number, kind: str) -> Markup:
    """A filled rectangle with softened corners."""
    return element("rect", x=x, y=y, width=max(width, 0), height=height, rx=2, class_=kind)


def dot(x: Number, y: Number, radius: Number, kind: str, title: str = "") -> Markup:
    """A point, with what it says when pointed at."""
    inside = (element("title", title),) if title else ()
    return element("circle", *inside, cx=x, cy=y, r=radius, class_=kind)


def _value(value: str | Number) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value).translate(_CONTROL)


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
    """A logarithmic scale that holds all positive values with a margin of the factor `pad`; the absurd go to an edge."""
    usable = [min(max(v, 1e-30), 1e30) for v in values if math.isfinite(v) and v > 0] or [1.0]
    return Scale(min(usable) / pad, max(usable) * pad, start, end, log=True)
