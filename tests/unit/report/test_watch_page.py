"""What the page of a watching shows of its newest slice."""

from __future__ import annotations

import re

from strata.model.finding import Cause, VerdictKind
from strata.model.live import LiveLayer
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


STACK = (
    LiveLayer(name="disk", endpoint="block:/dev/sda", node="n1"),
    LiveLayer(name="share", endpoint="nbd://10.0.0.1/x", node="n2", on=("disk",)),
    LiveLayer(name="files", endpoint="file:/mnt/<x>", node="n2", on=("share",)),
)
ROWS = (
    WatchedLayer(layer="files", what="system calls", kind=CALLS, iops=1800.0, bytes_per_second=7.0 * 2**20, node="n2"),
    WatchedLayer(layer="share", what="eth9", kind="card", bytes_per_second=1e6),
    WatchedLayer(layer="share", what="eth0 of n2", kind="card", bytes_per_second=9.0 * 2**20, busy=0.08, node="n2"),
    WatchedLayer(layer="share", what="wire to 10.0.0.1", kind="wire", request_ns=2e5, node="n2"),
    WatchedLayer(layer="disk", what="sda of n1", kind="device", iops=400.0, bytes_per_second=2.0**23, node="n1"),
    WatchedLayer(layer="disk", what="sda1 of n1", kind="device", iops=7.0, bytes_per_second=2.0**20, node="n1"),
)


def test_the_map_has_on_each_arrow_what_passes_now_and_marks_the_layer_that_limits() -> None:
    shown = parts(back(stack=STACK, layers=ROWS, layer="share"))["stack"]
    for said in ("1 800 IOPS", "7 MiB/s", "9 MiB/s", "400 IOPS · 8 MiB/s"):
        assert f">{said}</text>" in shown.replace("\u202f", " "), said
    for said in ("eth0: 9 MiB/s · 8.0 % of its link", "sda: 400 IOPS · 8 MiB/s", "sda1: 7.00 IOPS · 1 MiB/s"):
        assert said in shown.replace("\u202f", " "), said
    assert shown.count('class="station busy"') == 1 and "Bold: the layer that limits" in shown
    assert "file:/mnt/&lt;x&gt;" in shown


def test_a_layer_has_one_colour_and_sign_in_the_table_and_on_the_map() -> None:
    told = parts(back(stack=STACK, layers=ROWS, layer="share"))
    for name in ("disk", "share", "files"):
        (swatch,) = set(re.findall(rf'swatch (layer-[^"]*)"></span>{name}<', told["places"]))
        assert re.search(rf'<g class="{swatch}">(?:(?!</g>).)*>{name}</text>', told["stack"])


def test_what_is_not_counted_is_on_no_arrow_and_a_slice_of_before_has_no_map() -> None:
    rows = (FILES.model_copy(update={"layer": "files"}), *ROWS[1:])
    shown = parts(back(stack=STACK, layers=rows, layer=None))["stack"]
    assert "files on n2 stands on share;" in shown and "Bold" not in shown and 'class="station busy"' not in shown
    assert parts(back())["stack"].strip() == ""


def test_a_device_of_this_machine_is_in_the_box_of_its_node() -> None:
    own = tuple(r.model_copy(update={"node": None, "what": r.what.removesuffix(" of n1")}) for r in ROWS[4:])
    shown = parts(back(stack=STACK, layers=own, here="n1"))["stack"]
    assert "n1: sda: 400 IOPS · 8 MiB/s" in shown and "this machine" not in shown


def test_the_verdict_has_its_evidence_what_was_ruled_out_and_what_would_prove_it() -> None:
    told = back(
        explanation="why <1>", evidence=("seen <2>",), missing=("more <3>",), next_step="do <4>",
        ruled_out=({"cause": "stalls", "because": "none <5>"},), proof="strata diagnose '/mnt/<6>'",
    )  # fmt: skip
    shown = parts(told)["now"]
    for said in ("why", "seen", "more", "do", "none"):
        assert f"{said} &lt;" in shown
    assert "stalls (none" in shown and "<code>strata diagnose &#39;/mnt/&lt;6&gt;&#39;</code>" in shown
    for word in ("Do first", "Ruled out", "Would tell", "To prove it"):
        assert word in shown and word not in parts(back())["now"]
