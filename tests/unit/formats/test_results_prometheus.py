"""Prometheus' answers and dumps: two ways out of one server, of the same samples."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread
from strata.model.series import SeriesKind

DUMP = (DATA / "promtool-dump.txt").read_text()


def test_an_answer_has_every_value_and_its_time() -> None:
    found = read_file("prometheus.json")
    said = json.loads((DATA / "prometheus.json").read_text())["data"]["result"]
    series = {(s.metric, s.labels.get("of")): s for s in found.counters}
    assert len(series) == len(said) == 4
    for one in said:
        mine = series[one["metric"]["__name__"], one["metric"]["device"]]
        assert list(mine.values) == [float(v) for _, v in one["values"]]
        assert list(mine.t_ns) == [t * 10**9 for t, _ in one["values"]]
        assert mine.kind is SeriesKind.COUNTER
        assert mine.unit == ("s" if "seconds" in mine.metric else "")
    assert found.host == "127.0.0.1"


def test_a_dump_is_of_the_same_samples_as_openmetrics_in_seconds() -> None:
    found = read_file("promtool-dump.txt")
    assert sum(len(s.values) for s in found.counters) == len(DUMP.splitlines())
    kinds = {s.metric: s.kind for s in found.counters}
    assert kinds["node_disk_io_now"] is SeriesKind.GAUGE
    lines = []
    for line in DUMP.splitlines():
        labels, value, ms = line.rsplit(" ", 2)
        name, rest = labels[len('{__name__="') :].split('", ', 1)
        lines.append(f"{name}{{{rest} {value} {int(ms) / 1000:.3f}")
    text = "# TYPE node_disk_io_now gauge\n" + "\n".join(lines) + "\n# EOF\n"
    assert read_bytes(text.encode()).counters == found.counters


def test_what_is_of_one_moment_or_no_number_is_said() -> None:
    vector = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    with pytest.raises(Misread, match="ask for a course"):
        read_bytes(vector)
    with pytest.raises(Misread, match="it is one scrape"):
        read_bytes(b"# TYPE a gauge\na 1\n")
    found = read_bytes(b"# TYPE a gauge\n# UNIT a seconds\na NaN 1\na 2 3\na 5\n")
    assert [(s.values, s.t_ns, s.unit) for s in found.counters] == [((2.0,), (3 * 10**9,), "s")]
    assert found.left_out == ("1 samples that are no number (NaN, Inf)", "1 samples without a time")
    with pytest.raises(Misread, match="is not a time in seconds"):
        read_bytes(b"# TYPE a gauge\na 1 -5\n")
    with pytest.raises(Misread, match="is not a number"):
        read_bytes(b"# TYPE a gauge\na 2 3\na 1_0 5\n")


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\u2028\u2029\x85"), max_size=40))
def test_labels_are_read_with_what_was_escaped(text: str) -> None:
    written = text.replace("\\", "\\\\").replace('"', '\\"')
    [series] = read_bytes(f'# TYPE a gauge\na{{device="{written}"}} 1 2\n'.encode()).counters
    assert series.labels.get("of", "") == text
