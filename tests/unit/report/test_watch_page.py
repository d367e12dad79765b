"""What the page of a watching shows of its newest slice."""

from __future__ import annotations

from strata.model.finding import Cause, VerdictKind
from strata.model.watch import CALLS, LookBack, Slice, SliceIssuer, WatchedLayer
from strata.report.html.watch import parts

DISK = WatchedLayer(
    layer="disk", what="sda", kind="device", iops=1600.0, bytes_per_second=13.1e6, in_flight=16.0, request_ns=1e7,
    busy=1.0, demand_ns=625e3, p50_ns=9.7e6, p99_ns=31e6,
)  # fmt: skip
FILES = WatchedLayer(layer="file system", what="system calls", kind=CALLS, untold="nobody is seen who <b>uses</b> it")


def back(**more: object) -> LookBack:
    """Of one slice."""
    fields = {
        "at_unix_ns": 10**18, "seconds": 10.0, "kind": VerdictKind.MEDIUM, "layer": "disk", "cause": Cause.MEDIUM,
        "confidence": 0.6, "headline": "sda is full", "layers": (FILES, DISK), **more,
    }  # fmt: skip
    one = Slice.model_validate(fields)
    return LookBack(where="/mnt", from_unix_ns=one.at_unix_ns, to_unix_ns=one.at_unix_ns, slices=(one,))


def test_the_layers_have_demand_and_percentiles_where_they_are_known() -> None:
    shown = parts(back())["places"]
    for name, said in (("demand", "625 µs"), ("p50", "9.70 ms"), ("p99", "31.0 ms"), ("busy", "100 %")):
        assert f'<td data-name="{name}">{said}</td>' in shown
    without = parts(back(layers=(DISK.model_copy(update={"p50_ns": None, "p99_ns": None}),)))["places"]
    assert "p99" not in without and "demand" in without


def test_a_layer_whose_requests_are_not_counted_says_why() -> None:
    shown = parts(back())["places"]
    assert "system calls: not counted here" in shown
    assert "nobody is seen who &lt;b&gt;uses&lt;/b&gt; it" in shown


def test_who_issues_has_kind_and_group() -> None:
    who = (SliceIssuer(label="postgres/1", kind="container", group="/docker-<i>"), SliceIssuer(label="fio/7"))
    shown = parts(back(issuers=who))
    assert "Issued by postgres/1 (container /docker-&lt;i&gt;), fio/7<" in shown["now"]
    assert "issued by postgres/1 (container /docker-&lt;i&gt;), fio/7" in shown["events"]
