"""One measurement that goes on until it is precise: the stopping rule between an engine and whoever watches it."""

from __future__ import annotations

from collections.abc import Callable

from strata import units
from strata.app.driver import Hear
from strata.engine import Timing
from strata.errors import UsageError
from strata.model.analysis import CellSummary
from strata.model.course import Aim, Course, Ending
from strata.model.noise import PooledNoise
from strata.model.progress import Glance
from strata.model.result import EngineResult, Interval

BIN_S = 0.1
"""Intervals are this long unless said: long enough for thousands of I/Os on flash, thirty of them in three seconds."""


class Precise:
    """Hears the intervals of one measurement and says when it may end; then says how it went.

    ``earlier`` is what earlier runs showed of this host and device: it steadies the interval of a short measurement.
    The rule is asked once an interval, on the side of the caller: the engine's loop never waits for it.
    """

    def __init__(self, aim: Aim, earlier: PooledNoise | None = None) -> None:
        # Before the measuring: loading the numerical libraries costs as much processor time as a cell.
        from strata.analyse.pooled import prior_of
        from strata.analyse.series.until import StoppingRule

        self._aim, self.earlier = aim, earlier
        self._prior = prior_of(earlier)
        self._rule = StoppingRule(aim, self._prior)

    def timing(self, asked: Timing) -> Timing:
        """Runs to the aim's maximum at most, and ends with a whole interval."""
        return asked.model_copy(update={"runtime_s": self._aim.seconds_max, "stop_with_interval": True})

    def between(self, hear: Hear, stop_requested: Callable[[], bool]) -> tuple[Hear, Callable[[], bool]]:
        """What the runner is given in the place of both."""

        def heard(interval: Interval, now: Glance) -> None:
            self._rule.add(interval)
            hear(interval, now)

        return heard, lambda: self._rule.ended is not None or stop_requested()

    def half_width(self) -> float | None:
        """How well the mean is known, as a share of it; None before the first look."""
        return self._rule.half_width

    def ended_it(self, result: EngineResult, signal: int | None) -> bool:
        """Whether the rule, and no person or error, had it stopped before the engine's own time."""
        return signal is None and self._rule.ended is not None and result.stop_reason == "stopped"

    def course(self, result: EngineResult) -> Course | None:
        """How it went; None where there is too little to say."""
        from strata.analyse.series.course import course_of

        ended = self._rule.ended
        if ended is None and result.stop_reason == "runtime":
            # The engine's last interval may arrive with the result only.
            ended = Ending.TIME
        return course_of(result.intervals, aim=self._aim, ended=ended, prior=self._prior)


def settled(summary: CellSummary, course: Course) -> CellSummary:
    """The summary with the figures of the regime it ended in. In-flight follows from them by Little's law."""
    mean = course.mean_ns or summary.mean_ns
    return summary.model_copy(
        update={
            "iops": course.iops,
            "bytes_per_second": course.bytes_per_second,
            "mean_ns": mean,
            "latency_ns": course.latency_ns,
            "outstanding": course.iops.value * mean.value / units.NS_PER_S,
        }
    )


def aim_of(
    until: str | None,
    percentile: str | None,
    shortest: str | None,
    longest: str | float | None,
    bytes_max: str | None,
) -> Aim | None:
    """From the user's words: ``2%``, ``99:5%`` or ``none``, times and a size; None where none is asked.

    Raises `UsageError`.
    """
    if until is None:
        if percentile or shortest or bytes_max:
            raise UsageError("cannot use --until-…", "", "--until is missing", "for example --until 2%")
        return None
    named, _, within = (percentile or "99").partition(":")
    given: dict[str, object] = {
        "mean": half_width(until),
        "percentile": None if named == "none" else _percentile(named),
    }
    if within:
        given["percentile_within"] = half_width(within)
    for name, text in (("seconds_min", shortest), ("seconds_max", longest)):
        if text is not None:
            given[name] = _some(units.parse_duration_ns(text) / units.NS_PER_S, str(text))
    if bytes_max is not None:
        given["bytes_max"] = _some(units.parse_size(bytes_max), bytes_max)
    aim = Aim.model_validate(given)
    if aim.seconds_min > aim.seconds_max:
        why = f"--until-min is {aim.seconds_min:g} s, but the maximum is {aim.seconds_max:g} s"
        raise UsageError("cannot measure until", until, why, "give a longer --runtime or a shorter --until-min")
    return aim


def _some(value: float, text: str) -> float:
    if value <= 0:
        raise UsageError("cannot measure until", text, "it must be greater than 0", "leave it out for the default")
    return value


def half_width(text: str) -> float:
    """0.02 from ``2%`` or ``2``: of one endpoint and of a matrix alike in percent, with or without the sign.

    Raises `UsageError`.
    """
    share = _number(text.strip().removesuffix("%")) / 100
    if not 0.0005 <= share < 1:
        raise UsageError(
            "cannot measure until", text, "it is not a half-width from 0.05 to 99 percent", "for example 2%"
        )
    return share


def _number(text: str) -> float:
    """0 where it is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _percentile(text: str) -> str:
    share = _number(text.strip().removeprefix("p"))
    if not 0 < share <= 99.9999:
        raise UsageError(
            "cannot measure until percentile", text, "it is not between 0 and 99.9999", "for example 99 or 99.9:5%"
        )
    return f"{share:g}"
