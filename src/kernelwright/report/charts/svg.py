"""SVG elements as escaped markup, and the frame that every chart shares.

A chart is drawn for a given width in CSS pixels; the page shows the wide or the narrow one. Nothing is
styled here: classes only.
"""

from collections.abc import Iterable

from markupsafe import Markup

Number = float | int

WIDE = 1040
HALF = 500
NARROW = 330


def element(tag: str, *children: Markup | str, **attributes: str | Number) -> Markup:
    """One element. Underscores in attribute names become hyphens; `class_` and `in_` lose theirs."""
    pairs = (
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _value(value))
        for name, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, Markup("").join(pairs), Markup("").join(children))


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
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
