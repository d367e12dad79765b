"""The stack as a map: what stands where, which arrows there are, what is written on them, and nothing from outside
that is more than text."""

from __future__ import annotations

import re

import sample_report
from sample_machine import stack, survey

from strata.model.hardware import Interface
from strata.model.live import LiveHead, LiveLayer, LiveRate, LiveRun
from strata.model.progress import DeviceNow, Glance, NodeNow, Phase, Progress
from strata.report.html import live, page
from strata.report.html.charts.stack_map import MapLayer, MapNode, stack_map

NASTY = "<script>alert('x')</script>"
CARD = Interface(name="ens3f0", kind="ethernet", rate=25 * 10**9, card=True)
LAYERS = (
    MapLayer("osd 1", "block:/dev/a", "a", (), 0, ("1 000 IOPS", "4 MiB/s")),
    MapLayer("osd 2", "block:/dev/b", "b", (), 1, ("900 IOPS",)),
    MapLayer("pool", "rbd:p", "a", ("osd 1", "osd 2"), 2, ("1 700 IOPS",), True),
    MapLayer("vm", "file:/v", "c", ("pool",), 3),
)


def top_of(svg: str, name: str) -> float:
    """Where the name of a layer stands."""
    found = re.search(rf'<text x="[\d.]+" y="([\d.]+)"[^>]*>{re.escape(name)}</text>', svg)
    assert found is not None, name
    return float(found[1])


def test_requests_go_down_and_each_layer_stands_in_its_node() -> None:
    svg = str(stack_map("m", "the map", LAYERS, [MapNode("a", ("ens3f0",), ("sda",), "out 5 MiB/s")]))
    tops = [top_of(svg, name) for name in ("vm", "pool", "osd 1", "osd 2")]
    assert tops == sorted(tops)
    assert svg.count('class="node"') == 3 and svg.count('class="station') == 4
    # One arrow for each "stands on", and one from each ground to what it stands on.
    assert svg.count('class="head"') == 3 + 2 and svg.count('class="ground"') == 2
    assert svg.count('class="arrow busy"') == 2 and svg.count('class="station busy"') == 1
    for said in ("1 000 IOPS · 4 MiB/s", "1 700 IOPS", "ens3f0", "sda", "out 5 MiB/s", "its cards are not known"):
        assert said in svg, said
    assert "pool on a stands on osd 1, osd 2: 1 700 IOPS" in svg


def test_what_does_not_fit_is_cut_and_whole_in_its_title() -> None:
    wide = [MapLayer(f"{n} " + "x" * 300, NASTY * 9, "a", (), n, ("9" * 60, "8" * 60)) for n in range(5)]
    svg = str(stack_map("m", NASTY, wide, [MapNode("a", ("y" * 300,))]))
    assert "<script" not in svg
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    assert size is not None
    for x, shown in re.findall(r'<text x="([\d.]+)"[^>]*>(?:<title>[^<]*</title>)?([^<]*)</text>', svg):
        assert float(x) + 6.4 * len(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")) <= int(
            size[1]
        ), shown
    assert "<title>0 " + "x" * 300 + "</title>" in svg


def test_what_goes_along_arrows_beside_each_other_is_whole() -> None:
    """Two and three beside each other, with rates as long as they become."""
    said = ("1 234 567 IOPS", "12.5 GiB/s")
    for many in (1, 2, 3):
        osds = [MapLayer(f"osd {n}", "block:/dev/a", "a", (), n, said) for n in range(many)]
        pool = MapLayer("pool", "rbd:p", "a", tuple(o.name for o in osds), many, said)
        svg = str(stack_map("m", "the map", [*osds, pool], []))
        assert "…" not in re.sub(r"<title>.*?</title>", "", svg.replace("its cards are not known", ""))
        for word in said:
            assert len(re.findall(rf">[^<]*{re.escape(word)}[^<]*</text>", svg)) == many + 1


def test_there_is_no_map_of_nothing() -> None:
    assert stack_map("m", "x", [], []) is None


def test_while_it_is_measured_each_arrow_has_its_newest_rate_and_the_node_its_traffic() -> None:
    head = LiveHead(
        run="r-1", stack="s", began_unix_ns=10**18, pid=1, here="box", cards=(CARD,), devices=("sda",),
        layers=(LiveLayer(name="disk", endpoint="null:", node="box"),
                LiveLayer(name=NASTY, endpoint="null:", node="far", on=("disk",))),
    )  # fmt: skip
    rates = [LiveRate(second=n, layer="disk", cell=1, iops=100.0 * n, bytes_per_second=2.0**20 * n) for n in (1, 2)]
    glance = Glance(devices=(DeviceNow(name="sda", iops=7.0, bytes_per_second=2.0**20),),
                    nodes=(NodeNow(name="far", tx_bytes_per_second=3 * 2.0**20),))  # fmt: skip
    now = Progress(phase=Phase.MEASURE, layer=NASTY, label="read", now=glance)
    made = live.parts(LiveRun(head=head, now=now, rates=tuple(rates)))["stack"]
    for said in ("200 IOPS · 2 MiB/s", "sda: 7.00 IOPS · 1 MiB/s", "out 3 MiB/s", "ens3f0 ethernet, 25 Gbit/s"):
        assert said in made, said
    assert NASTY not in made and 'class="station busy"' in made and "100 IOPS · 1 MiB/s" not in made


def test_afterwards_it_has_the_rates_of_the_workload_that_most_layers_were_measured_with() -> None:
    made = sample_report.build()
    svg = re.search(r'<div class="map scroll".*?</div>', page.render(made), re.S)
    assert svg is not None
    assert svg[0].count('class="station"') == 3 and svg[0].count("IOPS") >= 3
    assert survey().devices[-1].path in svg[0]


def test_this_machine_is_the_node_of_its_name_or_else_the_owner() -> None:
    one = stack()
    assert one.here("node-1") == "node-1" and one.here("elsewhere") == "node-2"
    assert one.model_copy(update={"nodes": ()}).here("node-1") is None
