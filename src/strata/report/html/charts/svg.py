"""The few SVG elements the charts are made of, and their axes. Everything that is text is escaped here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache

from markupsafe import Markup, escape

LAYER_COLOURS = 8
"""Classes ``layer-0`` … ``layer-7`` exist in the style sheet; more layers begin again."""


def layer_class(index: int) -> str:
    """The CSS class of a layer: one colour and one line pattern, the same in every chart and table."""
    return f"layer-{index % LAYER_COLOURS}"


def coordinate(value: float) -> str:
    """One decimal is a tenth of a pixel; trailing zeros are left out."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, *children: object, **attributes: object) -> Markup:
    """``<name a="…">children</name>``; underscores of attribute names become hyphens, ``class_`` is ``class``."""
    # Joined by hand: a page has thousands of them, and `Markup.format` costs ten times as much.
    said = "".join(f' {_attribute(key)}="{_value(value)}"' for key, value in attributes.items())
    inner = "".join(map(escape, children))
    return Markup(f"<{name}{said}>{inner}</{name}>")


@cache
def _attribute(keyword: str) -> str:
    return keyword.rstrip("_").replace("_", "-")


def _value(value: object) -> str:
    return coordinate(value) if isinstance(value, float) else escape(value)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str, *children: object) -> Markup:
    """A rectangle; a width below zero is drawn to the left of ``x``."""
    left, size = (x, width) if width >= 0 else (x + width, -width)
    return element("rect", *children, x=float(left), y=float(y), width=float(size), height=float(height), class_=class_)


def text(x: float, y: float, content: str, class_: str = "", anchor: str = "start") -> Markup:
    """A line of text at its baseline."""
    return element("text", content, x=float(x), y=float(y), class_=class_, text_anchor=anchor)


def path(points: Iterable[tuple[float, float]], class_: str, *children: object) -> Markup:
    """An open line through the points."""
    d = " ".join(f"{'L' if i else 'M'}{coordinate(x)} {coordinate(y)}" for i, (x, y) in enumerate(points))
    return element("path", *children, d=d, class_=class_)


def dot(x: float, y: float, colour: str, told: Markup) -> Markup:
    """One figure of a layer; ``told`` is its `title`."""
    return element("circle", told, cx=x, cy=y, r=2.6, class_=f"dot {colour}")


_MARKS = ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "M0 -4L4 0L0 4L-4 0Z", "M-3 -3H3V3H-3Z", "M0 -4L4 3H-4Z")
"""A circle, a diamond, a square, a triangle: where colour and line pattern do not tell layers apart."""


def mark(x: float, y: float, index: int, *children: object) -> Markup:
    """One figure of the layer of that number, in its shape and colour."""
    # Written whole: a page that is looked at has hundreds of them, twice a second.
    at, inner = f"translate({coordinate(x)} {coordinate(y)})", "".join(map(escape, children))
    shape, kind = _MARKS[index % len(_MARKS)], layer_class(index)
    return Markup(f'<path d="{shape}" transform="{at}" class="dot {kind}">{inner}</path>')


def left_axis(left: float, right: float, ticks: Iterable[tuple[float, str]]) -> list[Markup]:
    """A rule across the picture for each (y, word) of ``ticks``, with the word before it."""
    each = ((line(left, y, right, y, "grid"), text(left - 6, y + 4, word, "tick", "end")) for y, word in ticks)
    return [part for pair in each for part in pair]


def title(content: str) -> Markup:
    """What a pointer over the parent shows, and a screen reader reads."""
    return Markup(f"<title>{escape(content)}</title>")


def picture(
    ident: str, name: str, description: str, width: int, height: int, *children: object, stretched: bool = True
) -> Markup:
    """The outermost element, named and described for those who do not see it. ``ident`` is unique in the page. Not
    ``stretched``: it keeps its size, however wide the page is."""
    size = {} if stretched else {"style": f"width: {width}px"}
    return element(
        "svg",
        element("title", name, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"),
        *children,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        class_="chart",
        **size,
    )


Scale = Callable[[float], float]


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """``low..high`` onto ``start..end``."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """The same on a logarithmic axis; ``low`` must be above 0."""
    inner = linear(math.log10(low), math.log10(high), start, end)
    return lambda value: inner(math.log10(max(value, low * 1e-3)))


def tail(percentile: float) -> float:
    """How many nines: 0.3 at the median, 1 at 90, 2 at 99, 4 at 99.99. Spreads the tail where it matters."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def nice_ceiling(value: float) -> float:
    """The next 1, 2, 2.5 or 5 times a power of ten at or above ``value``."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= value * (1 - 1e-9))


def linear_ticks(high: float, about: int = 4) -> tuple[float, ...]:
    """From 0 to at most ``high`` in even steps of 1, 2, 2.5 or 5."""
    step = nice_ceiling(high / about)
    return tuple(step * i for i in range(int(high / step + 1e-9) + 1))


def linear_top(most: float) -> float:
    """The first step of the ticks that ``most`` is not above."""
    ticks = linear_ticks(most)
    return ticks[-1] if ticks[-1] >= most else ticks[-1] + ticks[1]


def log_range(low: float, high: float) -> tuple[float, float]:
    """Widened to steps of 1, 2 and 5, and to at least a factor of ten, so that noise does not look like a cliff."""
    steps = [m * 10.0**e for e in range(-3, 16) for m in (1, 2, 5)]
    bottom = max(s for s in steps if s <= low * (1 + 1e-9))
    top = min(s for s in steps if s >= high * (1 - 1e-9))
    while top / bottom < 10:
        top = min(s for s in steps if s > top * 1.0001)
    return bottom, top


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 in every decade; only the powers of ten where that would be more than seven."""
    fine = [m * 10.0**e for e in range(-3, 16) for m in (1, 2, 5) if low * 0.999 <= m * 10.0**e <= high * 1.001]
    coarse = [t for t in fine if abs(math.log10(t) - round(math.log10(t))) < 1e-9]
    return tuple(fine if len(fine) <= 7 else coarse)
