"""The experiment at a glance: the range that was predicted before it, and what was measured."""

from __future__ import annotations

from markupsafe import Markup

from strata.model.experiment import Outcome
from strata.report import answer, figures, words
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, linear_ticks
from strata.report.html.charts.timeline import short_count

AXES = {"iops": "IOPS", "mean_ns": "mean time of a request, ns"}
WIDTH, HEIGHT, LEFT, RIGHT, MIDDLE = 300, 98, 10, 290, 44
NAME = 58
"""Width of the band's name, px; it stands above the band, where no whisker comes."""


def prediction(ident: str, outcome: Outcome) -> Markup:
    """A band for the prediction, a point with its whisker for the measurement."""
    predicted, measured = outcome.experiment.prediction, outcome.measured
    low = max(0.0, measured.value if measured.low is None else measured.low)
    high = measured.value if measured.high is None else measured.high
    # Where the prediction has no upper end, its band runs out of the picture.
    most = max(min(predicted.high, 3 * max(predicted.low, high)), high) * 1.15 or 1.0
    x = linear(0, most, LEFT, RIGHT)
    drawn = [svg.line(LEFT, MIDDLE + 16, RIGHT, MIDDLE + 16, "grid")]
    drawn += [svg.text(x(t), MIDDLE + 32, short_count(t), "tick", "middle") for t in linear_ticks(most)]
    axis = AXES.get(predicted.metric, f"{predicted.metric}, {predicted.unit}")
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 4, axis, "axis", "middle"))
    left, right = x(max(0.0, predicted.low)), x(min(most, max(0.0, predicted.high)))
    drawn.append(svg.rect(left, MIDDLE - 14, right - left, 28, "predicted"))
    at = min(max((left + right) / 2, LEFT + NAME / 2), RIGHT - NAME / 2)
    drawn.append(svg.text(at, MIDDLE - 20, "predicted", "name", "middle"))
    drawn.append(svg.line(x(low), MIDDLE, x(high), MIDDLE, "whisker"))
    drawn.append(svg.element("circle", cx=x(measured.value), cy=float(MIDDLE), r=4.5, class_="measured"))
    said = f"predicted {answer.predicted(outcome.experiment)}, measured {figures.interval(measured)}"
    return svg.picture(ident, f"{words.outcome(outcome)} by experiment", said, WIDTH, HEIGHT, *drawn)
