"""The few SVG elements the charts are made of. Everything that is text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable

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
    said = "".join(f' {_NAMES[key]}="{_value(value)}"' for key, value in attributes.items())
    inner = "".join(map(escape, children))
    return Markup(f"<{name}{said}>{inner}</{name}>")


class _Names(dict[str, str]):
    """Attribute names as they are written, by the keyword."""

    def __missing__(self, key: str) -> str:
        self[key] = name = key.rstrip("_").replace("_", "-")
        return name


_NAMES = _Names()


def _value(value: object) -> str:
    return coordinate(value) if isinstance(value, float) else escape(value)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
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


def left_axis(left: float, right: float, ticks: Iterable[tuple[float, str]]) -> list[Markup]:
    """A rule across the picture for each (y, word) of ``ticks``, with the word before it."""
    each = ((line(left, y, right, y, "grid"), text(left - 6, y + 4, word, "tick", "end")) for y, word in ticks)
    return [part for pair in each for part in pair]


def title(content: str) -> Markup:
    """What a pointer over the parent shows, and a screen reader reads."""
    return element("title", content)


def picture(ident: str, name: str, description: str, width: int, height: int, *children: object) -> Markup:
    """The outermost element, named and described for those who do not see it. ``ident`` is unique in the page."""
    return element(
        "svg",
        element("title", name, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"),
        *children,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        class_="chart",
    )
