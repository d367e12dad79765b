"""Whatever is consistent is never flagged, however it was rounded and in whatever unit it was printed."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from strata.analyse.laws import check_table
from strata.formats.table import read_table
from strata.model.figures import Flag

SCALES = {"MB": 1e6, "MiB": 2.0**20}
SIZES = st.sampled_from([512 * 2**i for i in range(14)])
IOPS = st.floats(1, 3e6)
ROWS = st.lists(st.tuples(IOPS, SIZES), min_size=1, max_size=30)


def printed(value: float, places: int, down: bool) -> str:
    factor = 10**places
    cut = math.floor(value * factor) / factor if down else round(value, places)
    return f"{cut:.{places}f}"


def flags(text: str, *laws: str) -> list[Flag]:
    return [f for f in check_table(read_table(text, "t")) if f.law in laws]


@settings(max_examples=100, deadline=None)
@given(ROWS, st.sampled_from(list(SCALES)), st.integers(0, 2), st.booleans(), st.integers(0, 2), st.booleans())
def test_consistent_rates_are_never_flagged(
    rows: list[tuple[float, int]], unit: str, places: int, down: bool, iops_places: int, iops_down: bool
) -> None:
    lines = [
        f"{printed(x, iops_places, iops_down)},{size},{printed(x * size / SCALES[unit], places, down)}"
        for x, size in rows
    ]
    for label in ("MB/s", ""):
        heading = f"rate [{label}]" if label else "rate"
        assert flags("\n".join([f"iops,size,{heading}", *lines]), "rate") == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(5e3, 3e6), st.sampled_from([8192, 65536])), min_size=4, max_size=20),
    st.sampled_from(list(SCALES)),
    st.booleans(),
    st.sampled_from([0.1, 10.0, 1.1, 0.9]),
    st.data(),
)
def test_the_one_row_that_slipped_is_the_one_that_is_flagged(
    rows: list[tuple[float, int]], unit: str, down: bool, slip: float, data: st.DataObject
) -> None:
    odd = data.draw(st.integers(0, len(rows) - 1))
    lines = []
    for i, (x, size) in enumerate(rows):
        rate = printed(x * size / SCALES[unit], 1, down)
        lines.append(f"{x * (slip if i == odd else 1):.2f},{size},{rate}")
    found = flags("\n".join(["iops,size,rate [MB/s]", *lines]), "rate")
    assert [f.row for f in found] == [f"line {odd + 2}"]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 256), st.integers(1, 16), IOPS, st.integers(1, 4), st.booleans())
def test_a_closed_loop_that_keeps_its_depth_obeys_little(
    depth: int, threads: int, iops: float, places: int, down: bool
) -> None:
    mean_us = depth * threads / iops * 1e6
    row = f"{printed(iops, 0, down)},{depth},{threads},{printed(mean_us, places, down)}"
    assert flags(f"iops,depth,threads,time.mean [us]\n{row}\n", "little") == []


@settings(max_examples=100, deadline=None)
@given(st.floats(1, 1e6), st.floats(1, 1e6), st.integers(0, 2))
def test_a_change_that_was_worked_out_and_rounded_is_never_flagged(before: float, after: float, places: int) -> None:
    change = (after / before - 1) * 100
    assert flags(f"before,after,change [%]\n{before:.2f},{after:.2f},{change:.{places}f}\n", "change") == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20), st.integers(0, 3), st.booleans())
def test_a_sum_of_rounded_parts_is_never_flagged(parts: list[float], places: int, down: bool) -> None:
    lines = [f"{i},{printed(x, places, down)}" for i, x in enumerate(parts)]
    text = "\n".join(["thread,iops", *lines, f"total,{printed(sum(parts), places, down)}"])
    assert flags(text, "parts") == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1, 1e9), min_size=100, max_size=150))
def test_a_mean_and_percentiles_of_one_set_are_in_order_and_the_share_of_the_tail_is_a_lower_bound(
    times: list[float],
) -> None:
    ordered = sorted(times)
    n = len(ordered)
    points = {p: ordered[min(n - 1, math.ceil(n * p / 100) - 1)] for p in (50, 90, 95, 99)}
    heads = ",".join(f"time.p{p} [ns]" for p in points)
    row = ",".join(repr(v) for v in points.values())
    found = flags(f"time.mean [ns],{heads}\n{sum(ordered) / n!r},{row}\n", "samples", "tail")
    assert [f for f in found if f.law == "samples"] == []
    for tail in found:
        beyond = sum(ordered[math.ceil(n * tail.numbers["percentile"] / 100) - 1 :]) / sum(ordered)
        assert tail.numbers["share"] <= beyond + 1e-6
