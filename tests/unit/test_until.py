"""``--until`` in words, and what the summary becomes."""

from __future__ import annotations

import pytest

from strata.app.matrix_plan import words_of
from strata.app.until import aim_of
from strata.errors import UsageError
from strata.model.course import Aim, Course, Ending, Regime
from strata.model.estimate import Estimate
from strata.report.measure_text import course_lines


def test_words_become_an_aim() -> None:
    assert aim_of("2%", None, None, None, None) == Aim()
    assert aim_of("0.5", "p99.9:10%", "1s", "5s", "1m") == Aim(
        mean=0.005, percentile="99.9", percentile_within=0.1, seconds_min=1, seconds_max=5, bytes_max=1 << 20
    )
    assert aim_of("2%", "none", None, None, None).percentile is None


@pytest.mark.parametrize(("text", "share"), [("0.1", 0.001), ("0.1%", 0.001), ("2", 0.02), ("2 %", 0.02)])
def test_one_half_width_for_an_endpoint_and_a_matrix(text: str, share: float) -> None:
    aim = aim_of(text, f"99:{text}", None, None, None)
    matrix = words_of("small", None, text, None, buffered=False, sync=None)
    assert aim is not None and (aim.mean, aim.percentile_within, matrix.until) == (share, share, share)


@pytest.mark.parametrize("text", ["0", "0.01", "100", "two", "-1", "nan", "2%%"])
def test_what_is_no_half_width_is_refused_alike(text: str) -> None:
    for read in (
        lambda: aim_of(text, None, None, None, None),
        lambda: words_of("small", None, text, None, buffered=False, sync=None),
    ):
        with pytest.raises(UsageError) as caught:
            read()
        assert caught.value.where == text and caught.value.hint


@pytest.mark.parametrize(
    "words",
    [
        ("0%", None, None, None, None),
        ("two", None, None, None, None),
        ("100%", None, None, None, None),
        ("2%", "100", None, None, None),
        ("2%", "99.99999", None, None, None),
        ("2%", "tail", None, None, None),
        ("2%", "99:0%", None, None, None),
        ("2%", None, "0s", None, None),
        ("2%", None, "10s", "5s", None),
        ("2%", None, None, None, "0"),
    ],
)
def test_what_is_no_aim_is_refused_with_a_next_step(
    words: tuple[str, str | None, str | None, str | None, str | None],
) -> None:
    with pytest.raises(UsageError) as caught:
        aim_of(*words)
    assert caught.value.hint


def course(**more: object) -> Course:
    iops = Estimate(value=3e4, low=2.9e4, high=3.1e4, n=40, unit="IOPS")
    fast = Estimate(value=1e5, low=0.99e5, high=1.01e5, n=50, unit="IOPS")
    fields: dict[str, object] = {
        "criterion": "named",
        "ramp_s": 0.5,
        "bin_s": 0.1,
        "regimes": (
            Regime(start_s=0.5, end_s=6, iops=fast, steady=True),
            Regime(start_s=6, end_s=12, iops=iops, steady=True),
        ),
        "alternates": False,
        "steady": True,
        "iops": iops,
        "bytes_per_second": iops,
        "mean_ns": None,
        "latency_ns": {},
        "effective": 40.0,
        "correlation_s": 0.15,
    }
    return Course.model_validate(fields | more)


def test_both_regimes_are_told_apart_and_the_one_the_figures_are_of_is_named() -> None:
    lines = dict(course_lines(course(aim=Aim(), ended=Ending.TIME, reached=False)))
    assert lines["regime 1"].startswith("0.5–6 s: 100\u202f000 IOPS")
    assert "figures above" not in lines["regime 1"] and "figures above" in lines["regime 2"]
    assert "before ±2.0 % and p99 ±5.0 % was reached, after 12 s" in lines["ended by"]
    assert "0.5 s excluded as ramp" in lines["course"] and lines["criterion"] == "named"


def test_what_equal_starts_differ_by_is_said_or_that_it_is_not_known() -> None:
    assert "not known here yet" in dict(course_lines(course()))["starts"]
    lines = dict(course_lines(course(aim=Aim(), ended=Ending.STARTS, reached=False, between=0.031, between_df=4.0)))
    assert "earlier identical runs varied by 3.1 %; included in ±" in lines["starts"]
    assert "prevents that" in lines["ended by"] and "before" not in lines["ended by"]


def test_what_ended_it_is_said() -> None:
    assert (
        "precision was reached"
        in dict(course_lines(course(aim=Aim(), ended=Ending.PRECISION, reached=True)))["ended by"]
    )
    widened = dict(course_lines(course(aim=Aim(), ended=Ending.PRECISION, reached=False)))["ended by"]
    assert "precision was reached" in widened and "widened the intervals again" in widened
    assert "an external stop" in dict(course_lines(course()))["ended by"]
