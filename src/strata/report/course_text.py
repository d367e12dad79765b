"""How one measurement went over its time, in words."""

from __future__ import annotations

from strata import units
from strata.model.course import Aim, Course, Ending, Regime
from strata.report import figures

_ENDED = {
    Ending.PRECISION: "the intervals are as narrow as asked",
    Ending.TIME: "the time was used up",
    Ending.BYTES: "the byte budget was used up",
    Ending.STARTS: "this start is as precise as asked; what equal starts differ by forbids it of their mean",
}


def course_lines(course: Course) -> list[tuple[str, str]]:
    """(label, text) of each line: what ended it, the ramp, and the regimes where there is more than one."""
    seconds = course.regimes[-1].end_s
    found = [("ended by", f"{_ended(course)}, after {seconds:.3g} s")]
    steady = "steady" if course.steady else "keeps changing" if course.alternates else "not steady"
    ramp = f", the first {course.ramp_s:.3g} s left out as ramp" if course.ramp_s > 0 else ""
    worth = f"{units.significant(course.effective)} independent bins, correlated over {course.correlation_s:.2g} s"
    found.append(("course", f"{steady}{ramp}; worth {worth}"))
    found.append(("starts", _starts(course)))
    found.append(("judged by", course.criterion))
    if len(course.regimes) > 1:
        found += [(f"regime {n}", _regime(r, last=r is course.regimes[-1])) for n, r in enumerate(course.regimes, 1)]
    return found


def _starts(course: Course) -> str:
    if course.between is None:
        return "what equal ones differ by is not known here yet: the intervals are of this one alone"
    freedom = "" if course.between_df is None else f" ({course.between_df:.3g} degrees of freedom)"
    if course.between == 0:
        return f"equal ones differed by no more than their bins explain in earlier runs{freedom}"
    share = figures.percent(course.between)
    return f"equal ones differed by {share} in earlier runs{freedom}: that is in the intervals of IOPS and bandwidth"


def _ended(course: Course) -> str:
    if course.ended is None:
        return "somebody or something else"
    text = _ENDED[course.ended]
    if course.ended is Ending.PRECISION and course.reached is False:
        return "the intervals were as narrow as asked; what came while it stopped widened them again"
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
    return f"{where}: {rate}, {state}" + ("; the figures above are its" if last else "")
