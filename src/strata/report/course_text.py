"""How one measurement went over its time, in words."""

from __future__ import annotations

from strata import units
from strata.model.course import Aim, Course, Ending, Regime
from strata.report import figures

_ENDED = {
    Ending.PRECISION: "the requested precision was reached",
    Ending.TIME: "the time limit was reached",
    Ending.BYTES: "the byte limit was reached",
    Ending.STARTS: "this run is as precise as requested; variation between identical runs prevents that for their mean",
}


def course_lines(course: Course) -> list[tuple[str, str]]:
    """(label, text) of each line: what ended it, the ramp, and the regimes where there is more than one."""
    seconds = course.regimes[-1].end_s
    found = [("ended by", f"{_ended(course)}, after {seconds:.3g} s")]
    steady = "steady" if course.steady else "alternates" if course.alternates else "not steady"
    ramp = f", first {course.ramp_s:.3g} s excluded as ramp" if course.ramp_s > 0 else ""
    worth = f"{units.significant(course.effective)} independent samples, correlated over {course.correlation_s:.2g} s"
    found.append(("course", f"{steady}{ramp}; equivalent to {worth}"))
    found.append(("starts", _starts(course)))
    found.append(("criterion", course.criterion))
    if len(course.regimes) > 1:
        found += [(f"regime {n}", _regime(r, last=r is course.regimes[-1])) for n, r in enumerate(course.regimes, 1)]
    return found


def _starts(course: Course) -> str:
    if course.between is None:
        return "the variation between identical runs is not known here yet; ± covers this run only"
    freedom = "" if course.between_df is None else f" ({course.between_df:.3g} degrees of freedom)"
    if course.between == 0:
        return f"earlier identical runs varied no more than samples within one run explain{freedom}"
    share = figures.percent(course.between)
    return f"earlier identical runs varied by {share}{freedom}; included in ± of IOPS and bandwidth"


def _ended(course: Course) -> str:
    if course.ended is None:
        return "an external stop"
    text = _ENDED[course.ended]
    if course.ended is Ending.PRECISION and course.reached is False:
        return "the requested precision was reached; samples that arrived while stopping widened the intervals again"
    if course.aim is None or course.reached or course.ended is Ending.STARTS:
        return text
    return f"{text} before {_asked(course.aim)} was reached"


def _asked(aim: Aim) -> str:
    tail = "" if aim.percentile is None else f" and p{aim.percentile} ±{figures.percent(aim.percentile_within)}"
    return f"±{figures.percent(aim.mean)}{tail}"


def _regime(one: Regime, *, last: bool) -> str:
    rate = f"{units.count(one.iops.value)} IOPS {figures.share_error(one.iops)}".rstrip()
    state = "steady" if one.steady else "not steady"
    where = units.span(f"{one.start_s:.3g} s", f"{one.end_s:.3g} s")
    return f"{where}: {rate}, {state}" + ("; used for the figures above" if last else "")
