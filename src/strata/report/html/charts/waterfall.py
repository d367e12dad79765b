"""Where a request's time goes: the lowest layer's mean, then what each layer above it adds, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from strata import units
from strata.model.estimate import Estimate
from strata.report import figures
from strata.report.html.charts import svg
from strata.report.html.charts.svg import Scale, linear, linear_ticks

WIDTH, RIGHT, TOP, ROW, BAR = 360, 282, 6, 26, 14
LONGEST_NAME, CHARACTER, LEAST_LEFT = 22, 6.1, 60
"""Names longer than this are cut; a character of 11 px text is about 6.1 px wide; the least room for names, px."""


@dataclass(frozen=True)
class Bar:
    """One layer: ``start`` is the mean of the layer below in ns (0 for a whole), ``time`` what is drawn from there."""

    layer: str
    index: int
    start: float
    time: Estimate
    whole: bool

    @property
    def end(self) -> float:
        """Where the bar ends, in ns."""
        return self.start + self.time.value


def waterfall(ident: str, label: str, bars: tuple[Bar, ...]) -> Markup | None:
    """The panel of one workload; None without bars."""
    if not bars:
        return None
    most = max(max(b.end, b.start, b.start + (b.time.high or b.time.value)) for b in bars)
    power, unit = next(u for u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")) if most >= u[0] or u[0] == 1.0)
    high = linear_ticks(most / power)[-1]
    if high * power < most * 0.999:
        high += linear_ticks(most / power)[1]
    left = room_for(max(len(b.layer) for b in bars))
    x = linear(0, high * power, left, RIGHT)
    bottom = TOP + ROW * len(bars)
    drawn: list[Markup] = []
    for tick in linear_ticks(high):
        drawn.append(svg.line(x(tick * power), TOP, x(tick * power), bottom, "grid"))
        drawn.append(svg.text(x(tick * power), bottom + 15, f"{tick:g}", "tick", "middle"))
    drawn.append(svg.text((left + RIGHT) / 2, bottom + 32, f"mean time of a request, {unit}", "axis", "middle"))
    for n, bar in enumerate(bars):
        drawn += _bar(bar, TOP + n * ROW, x, left, n + 1 < len(bars))
    said = "; ".join(f"{b.layer}: {_told(b)}" for b in bars)
    return svg.picture(ident, f"Where the time of {label} is spent", said, WIDTH, int(bottom) + 40, *drawn)


def room_for(characters: int) -> float:
    """Where the bars begin, px: right of the longest name."""
    return max(LEAST_LEFT, 10 + CHARACTER * min(characters, LONGEST_NAME))


def _told(bar: Bar) -> str:
    return units.duration(bar.time.value) if bar.whole else figures.signed_duration(bar.time.value)


def _ends(bar: Bar) -> str:
    """The two ends of its interval; what is added may as well be saved, so it may lie on both sides of nothing."""
    if bar.time.low is None or bar.time.high is None:
        return ""
    told = units.duration if bar.whole else figures.signed_duration
    return f" ({units.span(told(bar.time.low), told(bar.time.high))})"


def _bar(bar: Bar, top: float, x: Scale, left: float, more: bool) -> list[Markup]:
    """The bar, its interval as a whisker at its end, its figure, and a thin line down to the next bar's start."""
    middle = top + ROW / 2
    from_x, to_x = x(bar.start), x(bar.end)
    kind = "bar" if bar.whole else "bar added" if bar.time.value >= 0 else "bar saved"
    told = svg.title(f"{bar.layer}: {_told(bar)}{_ends(bar)}")
    name = bar.layer if len(bar.layer) <= LONGEST_NAME else bar.layer[: LONGEST_NAME - 1] + "…"
    drawn = [
        svg.text(left - 6, middle + 4, name, "name", "end"),
        svg.rect(from_x, middle - BAR / 2, to_x - from_x, BAR, f"{kind} {svg.layer_class(bar.index)}", told),
    ]
    if abs(to_x - from_x) < 1.5:
        drawn.append(
            svg.line(from_x, middle - BAR / 2, from_x, middle + BAR / 2, f"stroke {svg.layer_class(bar.index)}")
        )
    if more:
        drawn.append(svg.line(to_x, middle + BAR / 2, to_x, middle + ROW - BAR / 2, "link"))
    if bar.time.low is not None and bar.time.high is not None:
        # The sum is a time: it does not reach below nothing, nor its whisker over the names.
        low, high = (x(max(0.0, bar.start + end)) for end in (bar.time.low, bar.time.high))
        drawn.append(svg.line(low, middle, high, middle, "whisker"))
        drawn += [svg.line(at, middle - 4, at, middle + 4, "whisker") for at in (low, high)]
    drawn.append(svg.text(RIGHT + 8, middle + 4, _told(bar), "figure"))
    return drawn
