"""Counters of another machine: the text, the names, and a real server that is good, slow, broken and gone."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from strata.analyse.counters import readings
from strata.errors import UsageError
from strata.model.resources import processors_of
from strata.model.result import CellResult
from strata.parsing import exposition
from strata.parsing.exposition import MalformedMetrics, Parser
from strata.probes import ProbedNode, Sampler, openmetrics
from strata.probes.openmetrics import OpenMetricsProbe
from strata.probes.openmetrics.names import of_node_exporter

TEXT = """\
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 100.5
node_cpu_seconds_total{cpu="0",mode="nice"} 1.5
node_cpu_seconds_total{cpu="0",mode="user"} 10
node_cpu_seconds_total{cpu="0",mode="system"} 7
node_disk_io_now{device="sda"} 3
node_disk_read_bytes_total{device="sda"} 4.096e+06
node_network_receive_bytes_total{device="eth0"} 1.000001e6
node_network_transmit_drop_total{device="eth0"} 2
node_memory_Dirty_bytes 8192
node_pressure_io_waiting_seconds_total 0.25
node_cpu_scaling_frequency_hertz{cpu="0"} 2.1e+09
node_netstat_Tcp_RetransSegs 17
node_disk_write_time_seconds_total{device="sda"} NaN
something_else_total{path="a \\"b\\" \\\\ \\n"} 1 # {trace_id="x"} 0.5 1.5
# EOF
"""


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float


def parse(text: str) -> Iterator[Sample]:
    parser = Parser()
    for head, value in parser.values(text):
        yield Sample(*parser.heads[head], value)


def test_a_line_that_is_read_again_says_its_time_and_is_held_as_strictly() -> None:
    parser = Parser()
    assert parser.sample('a{x="1"} 2 1700000000.5') == ('a{x="1"}', 2.0, 1700000000.5)
    assert parser.sample('a{x="1"} 3') == ('a{x="1"}', 3.0, None)
    assert parser.sample('a{x="1"} 4 -1') == ('a{x="1"}', 4.0, -1.0)
    # As promtool tsdb dump writes it.
    head, value, at = parser.sample('{__name__="b", x="1"} 5 1700000000500')
    assert parser.heads[head] == ("b", {"x": "1"}) and (value, at) == (5.0, 1700000000500.0)
    assert parser.sample(f"{head} 6 7")[1:] == (6.0, 7.0)
    for line in ('a{x="1"} 2 3 4', 'a{x="1"} 2 x', 'a{x="1"} 1_0 3', 'a{x="1"} 2  3 4', '{x="1"} 2 3', '{"a"} 2'):
        with pytest.raises(ValueError):
            parser.sample(line)


@pytest.mark.ci
def test_long_heads_are_forgotten_before_they_are_many() -> None:
    parser = Parser()
    for i in range(17):
        assert not parser.full
        parser.sample(f'a{i}{{x="{"y" * 1_000_000}"}} 1')
    assert parser.full
    parser.forget()
    assert not parser.full and not parser.heads


def test_every_line_of_the_format() -> None:
    found = list(parse(TEXT))
    assert found[-1] == Sample("something_else_total", {"path": 'a "b" \\ \n'}, 1.0)
    assert found[4].labels == {"device": "sda"}
    assert math.isnan(found[-2].value)
    special = list(parse('a 1 1700000000.5\nb{} +Inf\nc{x="1",} -Inf\nd -1.5e-3'))
    assert [s.value for s in special] == [1.0, math.inf, -math.inf, -0.0015]


@pytest.mark.parametrize(
    "line",
    [
        "a",
        "a b",
        'a{x="1" 1',
        'a{x="1",x="2"} 1',
        "a{x=1} 1",
        "1a 1",
        "a 1 2 3",
        "a 1 x",
        "a 1_000",
        "<html><body>not found</body></html>",
        "a infinity",
    ],
)
def test_what_is_not_of_the_format_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(MalformedMetrics, match="line 2"):
        list(parse(f"good 1\n{line}\n"))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        for sample in parse(text):
            of_node_exporter(sample.name, sample.labels)
    except MalformedMetrics as e:
        assert "line" in str(e)


# prometheus_client refuses names that begin with two underscores: they are Prometheus' own.
LABEL = st.tuples(st.from_regex(r"(?!__)[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(st.characters(codec="utf-8")))
LINE = st.tuples(
    st.from_regex(r"[a-z_:][a-z0-9_:]{0,9}", fullmatch=True),
    st.lists(LABEL, max_size=4, unique_by=lambda label: label[0]),
    st.one_of(st.floats().map(repr), st.sampled_from(["1", "-.5", "+1.", "1e5", "NaN", "+Inf", "-Inf"])),
    st.sampled_from(["", " 1700000000000", " 1", " -1"]),
)


def written(name: str, labels: list[tuple[str, str]], value: str, timestamp: str) -> str:
    escaped = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
    inside = ",".join(f'{key}="{"".join(escaped.get(c, c) for c in of)}"' for key, of in labels)
    return f"{name}{{{inside}}} {value.replace('inf', 'Inf').replace('nan', 'NaN')}{timestamp}"


@pytest.mark.ci
@given(st.lists(LINE, max_size=5))
def test_another_implementation_reads_the_same(lines: list[tuple[str, list[tuple[str, str]], str, str]]) -> None:
    text = "\n".join(written(*line) for line in lines)
    theirs = [s for family in text_string_to_metric_families(text) for s in family.samples]
    ours = list(parse(text))
    assert [(s.name, s.labels, repr(float(s.value))) for s in theirs] == [
        (s.name, s.labels, repr(s.value)) for s in ours
    ]


@pytest.mark.parametrize("line", ["a 1 2 3", "a infinity", "a{ = } 1", "a{x= } 1", "a \uff14\uff12", '{" "} 1'])
def test_the_library_takes_what_is_not_of_the_format(line: str) -> None:
    """Which is one reason why it is not used."""
    assert list(text_string_to_metric_families(line))
    with pytest.raises(MalformedMetrics):
        list(parse(line))


def test_the_library_renames_and_fails_in_ways_of_its_own() -> None:
    (family,) = text_string_to_metric_families("# TYPE a counter\na 5")
    assert family.samples[0].name == "a_total"
    assert next(parse("# TYPE a counter\na 5")).name == "a"
    with pytest.raises(IndexError):
        list(text_string_to_metric_families('a{x="1", ="2"} 1'))
    with pytest.raises(MalformedMetrics, match="line 1: the labels do not end"):
        list(parse('a{x="1", ="2"} 1'))


@pytest.mark.parametrize(
    "line", ['a{x="' + '\\"' * (1 << 20) + '"} 1', "a{" + ",".join(f'l{i}="v"' for i in range(200_000)) + "} 1"],
    ids=["one long value", "many labels"],
)  # fmt: skip
def test_a_long_line_takes_time_in_proportion(line: str) -> None:
    """0.3 s each; the library needs 21 and 13 s."""
    begun = time.thread_time()
    assert next(parse(line)).value == 1
    assert time.thread_time() - begun < 4


class Exporter:
    """What the next answer is, and how it comes."""

    def __init__(self) -> None:
        self.text, self.status, self.wait_s, self.asked = TEXT, 200, 0.0, 0
        self.url = ""


@contextmanager
def exporter() -> Iterator[Exporter]:
    state = Exporter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked += 1
            body = state.text.encode()
            self.send_response(state.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            time.sleep(state.wait_s)
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/metrics"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_machine_elsewhere_is_read_under_our_own_names() -> None:
    with exporter() as there:
        sampler = Sampler([], 60, nodes=[ProbedNode(), ProbedNode(name="storage-1", url=there.url)]).start()
        there.text = TEXT.replace('mode="idle"} 100.5', 'mode="idle"} 101.5').replace(
            'mode="nice"} 1.5', 'mode="nice"} 4.5'
        )
        found = sampler.stop()
    away = {(s.metric, *sorted(s.labels.items())): s for s in found if s.labels.get("node") == "storage-1"}
    user = away["cpu_seconds", ("cpu", "0"), ("mode", "user"), ("node", "storage-1")]
    assert user.values == (11.5, 14.5), "nice is part of user"
    assert away["blockdev_in_flight", ("device", "sda"), ("node", "storage-1")].values == (3, 3)
    assert away["net_bytes", ("direction", "rx"), ("interface", "eth0"), ("node", "storage-1")].values[0] == 1000001
    assert not any(m == "blockdev_write_seconds" for m, *_ in away), "not a number is absent, not 0"
    assert not any(m == "something_else_total" for m, *_ in away)
    assert any(s.metric == "cpu_seconds" and "node" not in s.labels for s in found), "this machine is read too"
    cell = CellResult(
        order=0, round=1, cell="c", kind="measure", layer="l", workload_key="w", result=None, counters=found
    )
    busy = processors_of(readings(cell), node="storage-1")
    assert busy is not None
    assert busy.busy == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("text", "status"),
    [("<html>busy</html>", 200), (TEXT, 503), (TEXT[:700] + " x y z", 200)],
    ids=["html", "503", "cut"],
)
def test_an_answer_that_is_none_is_a_gap_not_zeroes(text: str, status: int) -> None:
    with exporter() as there:
        sampler = Sampler([], 60, nodes=[ProbedNode(name="a", url=there.url)]).start()
        there.text, there.status = text, status
        found = sampler.stop()
    away = [s for s in found if s.labels.get("node") == "a"]
    assert away
    assert all(len(s.values) == 1 for s in away)
    assert all(s.delta is None for s in away)


def test_an_exporter_that_is_away_at_the_start_is_said_and_read_when_it_comes() -> None:
    with exporter() as there:
        there.status = 500
        sampler = Sampler([], 60, nodes=[ProbedNode(name="a", url=there.url)]).start()
        assert any("500" in why for why in sampler.absent)
        there.status = 200
        found = sampler.stop()
    assert any(s.metric == "memory_bytes" and s.labels.get("node") == "a" for s in found)


def test_an_exporter_that_never_says_the_same_twice_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmetrics, "MOST_COLUMNS", 5)
    monkeypatch.setattr(exposition, "HEADS_MOST", 4)
    with exporter() as there:
        there.text = "".join(f'node_disk_io_now{{device="a{i}"}} {i}\n' for i in range(4))
        probe = OpenMetricsProbe(there.url)
        for turn in range(3):
            there.text = f'node_disk_io_now{{device="a3"}} 7\nnode_disk_io_now{{device="b{turn}"}} 8\n'
            assert probe.read() == [None, None, None, 7.0, 8.0 if turn == 0 else None]
            assert len(probe._parser.heads) <= 4 + 2
            assert len(probe._ours) <= 4 + 2
        assert [column.labels["device"] for column in probe.columns] == ["a0", "a1", "a2", "a3", "b0"]
        probe.close()


@pytest.mark.ci
def test_a_flood_of_new_names_is_learnt_in_one_go() -> None:
    """One by one, 40,000 took 1.7 s, and twice as many four times as long."""
    with exporter() as there:
        there.text = "".join(f'node_disk_io_now{{device="d{i}"}} 1\n' for i in range(60_000))
        begun = time.process_time()
        probe = OpenMetricsProbe(there.url)
        assert len(probe.columns) == openmetrics.MOST_COLUMNS
        assert "too many" in probe.absent[0]
        assert time.process_time() - begun < 8
        probe.close()


def test_only_addresses_that_are_understood() -> None:
    sampler = Sampler([], 60, nodes=[ProbedNode(name="a", url="file:///etc/passwd")]).start()
    found = sampler.stop()
    assert any("only http" in why for why in sampler.absent)
    assert not any(s.labels.get("node") == "a" for s in found)
    with pytest.raises(UsageError, match="only http"):
        OpenMetricsProbe("https://x/metrics")
