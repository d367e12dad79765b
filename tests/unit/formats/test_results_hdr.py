"""HdrHistogram's logs against its own library."""

from __future__ import annotations

import io

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
from hypothesis import given, settings
from hypothesis import strategies as st
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread, _hdr
from strata.model import histogram

TEXT = (DATA / "hdr.hlog").read_text()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=50), st.integers(1, 5), st.sampled_from([1, 1000]))
def test_buckets_are_those_of_the_library(values: list[int], digits: int, least: int) -> None:
    whole = HdrHistogram(least, 10**12, digits)
    for value in values:
        whole.record_value(value)
    read, found = _hdr.buckets(whole.encode().decode())
    assert read == digits
    assert sum(count for *_, count in found) == len(values)
    for low, high, count in found:
        assert count == sum(low <= value <= high for value in values)
        assert whole.get_highest_equivalent_value(low) == high


def test_figures_are_those_of_the_library() -> None:
    [cell] = read_file("hdr.hlog").cells
    whole = HdrHistogram(1, 3_600_000_000_000, 3)
    for line in TEXT.splitlines()[3:]:
        whole.decode_and_add(line.split(",")[3])
    assert cell.total is not None and cell.total.histogram is not None
    assert cell.total.base("ios") == whole.get_total_count() == histogram.total(cell.total.histogram) == 1200
    assert cell.total.base("iops") == 300
    for key in ("50", "90", "99", "99.9"):
        low, high = cell.total.figures[f"time.p{key}"].bounds()
        assert low <= whole.get_value_at_percentile(float(key)) <= high
    low, high = cell.total.figures["time.mean"].bounds()
    assert low <= whole.get_mean_value() <= high
    assert len(cell.points) == 4
    assert cell.started_unix_ns == 1795480000 * 10**9


def log(scale: float, *values: int) -> bytes:
    """One interval whose maximum is printed ÷ ``scale``."""
    made, one = io.StringIO(), HdrHistogram(1, 10**12, 3)
    for value in values:
        one.record_value(value)
    HistogramLogWriter(made).output_interval_histogram(one, 1.0, 2.0, scale)
    return made.getvalue().encode()


def test_the_unit_is_read_off_the_maxima_and_never_guessed() -> None:
    for scale, ns in ((1e6, 1), (1e3, 1000)):
        [cell] = read_bytes(log(scale, 25_000_000)).cells
        assert cell.total is not None
        assert cell.total.base("time.max") == pytest.approx(25e6 * ns, rel=1e-3)
    with pytest.raises(Misread, match="nothing says the unit"):
        read_bytes(log(1.0, 25_000_000))


def test_tags_are_cells_and_damage_is_named() -> None:
    tagged = TEXT.replace("1795480001", "Tag=reads,1795480001")
    assert [c.name for c in read_bytes(tagged.encode()).cells] == ["untagged", "reads"]
    with pytest.raises(Misread, match="it is no interval") as e:
        read_bytes(f"{TEXT}1,2,3\n".encode())
    assert e.value.line == 8
    with pytest.raises(Misread, match="damaged"):
        read_bytes(TEXT.replace("4nC2QvUoDQ", "4nC2QvUoDR").encode())
