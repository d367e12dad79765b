"""What several clients did, on the terminal and as Markdown."""

from __future__ import annotations

from sample_report import build

from strata.model import histogram
from strata.model.clients import clients_of, pooled
from strata.model.progress import ClientNow
from strata.model.result import ClientResult, Direction, EngineResult, Instants, Interval, IntervalDirection, LostClient
from strata.report import clients_text
from strata.report.html.page import render
from strata.report.live import client_lines

S = 1_000_000_000


def client(number: int, ops: int, ns: int = 200_000) -> ClientResult:
    """Two seconds of equal I/Os."""
    times = histogram.from_bins({ns: ops})
    part = IntervalDirection(ops=ops, bytes=4096 * ops, errors=0, service_time=times, service_sum_ns=ops * ns)
    nothing = IntervalDirection(ops=0, bytes=0, errors=0)
    intervals = tuple(Interval(start_ns=k * S, end_ns=(k + 1) * S, read=part, write=nothing) for k in range(2))
    result = EngineResult(
        engine={}, effective={}, started_unix_ns=0, ramp_ns=0, measured_ns=2 * S, stop_reason="runtime",
        issued=2 * ops, completed=2 * ops, errored=0, stuck=0,
        instants=Instants(
            first_io_ns=number * 1000, last_first_io_ns=number * 1000, measured_from_ns=0, measured_to_ns=2 * S
        ),
        read=Direction(ops=2 * ops, bytes=8192 * ops, service_time=times, service_sum_ns=2 * ops * ns),
        write=Direction(ops=0, bytes=0), intervals=intervals,
    )  # fmt: skip
    return ClientResult(client=number, node=f"n{number}", bound_ns=50_000, result=result)


def lines(clients: list[ClientResult], lost: tuple[LostClient, ...] = ()) -> list[str]:
    whole = pooled(clients, lost)
    assert isinstance(whole, EngineResult)
    found = clients_of(whole)
    assert found is not None
    return [f"{label}: {text}".replace("\u202f", " ") for label, text in clients_text.client_lines(found)]


def test_sum_fairness_starts_and_each_client_have_a_line() -> None:
    told = lines([client(0, 1000), client(1, 1000), client(2, 1000), client(3, 100)])
    assert told[:6] == [
        "clients: 4 at once for 2 s, total 3 100 IOPS · 12.1 MiB/s",
        "fairness: Jain's index 0.798 · spread 116 % of the mean rate · slowest client 3 at 10.0 % of the median",
        "starved: below half of the median rate: client 3",
        "starts: the first I/Os of all threads within 3.00 µs; clock bound 100 µs",
        "first done: after 2 s: 6 200 I/Os · 24.2 MiB · 3 100 IOPS · 12.1 MiB/s",
        "last done: after 2 s: 6 200 I/Os · 24.2 MiB · 3 100 IOPS · 12.1 MiB/s",
    ]
    assert told[6].startswith("client 0: n0 · 1 000 IOPS · 3.91 MiB/s · mean 200 µs · p99 200 µs")
    assert "first I/O 3.00 µs after the first client's" in told[9]


def test_a_client_that_differs_and_one_that_is_lost_are_named() -> None:
    gone = LostClient(client=8, node="n8", why="it was ended by signal 9", measured_from_ns=0)
    told = lines([client(n, 1000 + n) for n in range(7)] + [client(7, 1000, ns=900_000)], (gone,))
    assert "differs: client 7 on n7: mean time 900 µs, the median of all is 200 µs" in told
    assert told[-1] == "lost: client 8 on n8, last heard 0 s into the measurement: it was ended by signal 9"


def test_of_many_clients_the_slowest_are_shown() -> None:
    told = lines([client(n, 2000 - n) for n in range(20)])
    shown = [line for line in told if line.startswith("client ")]
    assert len(shown) == clients_text.SHOWN and shown[0].startswith("client 4:")
    assert ": and 4 faster clients; --json shows all" in told


def test_the_page_has_every_client_and_a_watcher_a_line_for_each_node() -> None:
    several = [client(number, 1000 + number) for number in range(40)]
    whole = pooled(several)
    assert isinstance(whole, EngineResult)
    base = build()
    shown = base.results[0].model_copy(update={"result": whole})
    page = render(base.model_copy(update={"results": (shown, *base.results[1:])}))
    section = page[page.index('id="clients-title"') :]
    assert section.count('<tr><th scope="row">') >= 40
    assert "Jain" in section and "last done" in section and "faster client" not in section
    assert 'id="clients-title"' not in render(base)


def test_several_clients_of_several_nodes_are_one_line_a_node() -> None:
    now = [
        ClientNow(client=n, node=f"n{n % 2}", iops=100.0, bytes_per_second=4096.0, p99_ns=1000 * n) for n in range(6)
    ]
    told = [line.replace("\u202f", " ") for line in client_lines(now, 120)]
    assert [line.split()[0] for line in told] == ["n0", "n1"]
    assert "300 IOPS" in told[0] and "worst p99 4.00 µs" in told[0] and "3 clients" in told[0]
    known = [one.model_copy(update={"node_p99_ns": 2500}) for one in now]
    told = [line.replace("\u202f", " ") for line in client_lines(known, 120)]
    assert all("· p99 2.50 µs" in line and "worst" not in line for line in told), "of all its clients, where it is told"
    now[1] = now[1].model_copy(update={"late": 3})
    now[3] = now[3].model_copy(update={"lost": "it died"})
    told = client_lines(now, 120)
    assert "lost 1 of 3: it died" in told[1] and "LATE 1 of 3" in told[1]
    assert len(client_lines(now[:2], 120)) == 2 and "client 0" in client_lines(now[:2], 120)[0]
