"""What a lab's disk promises, and that the stack files of labs say what stands on what."""

from __future__ import annotations

import string
from importlib import resources

import pytest

from strata.model.stack import Stack
from strata_lab import media
from strata_lab.specification import specification

HEALTHY = 'expect.iops = 1644\nexpect.latency = "2.47ms"\nexpect.bandwidth = "179MB/s"\n'


def test_the_figures_of_a_model_are_those_of_its_servers() -> None:
    assert specification("c=4 svc=2400 bw=250") == HEALTHY
    assert specification("c=4 svc=2400 bw=250 jitter=exponential wcache=16MiB svc_w=9") == HEALTHY


@pytest.mark.parametrize("model", [media.MODELS["none"], media.MODELS["hdd"], "c=4 svc=800 iops=300", "rcache=1MiB"])
def test_what_depends_on_more_than_the_block_is_not_promised(model: str) -> None:
    assert specification(model) == ""


def test_what_the_machine_would_limit_is_not_promised() -> None:
    assert specification(media.MODELS["fast"]) == 'expect.latency = "0.14ms"\n'


def filled(name: str, **values: object) -> Stack:
    """A lab's stack file with nodes n1 … n3 and host, and an NBD address wherever none is given."""
    text = (resources.files("strata_lab.stacks") / name / "stack.toml").read_text()
    nodes = "".join(f'[[node]]\nname = "{node}"\n' for node in ("n1", "n2", "n3", "host"))
    uris = {key: f"nbd://10.0.0.1/{key}" for key in ("share", "own", "redirected", "low", "top", "far")}
    known = {"lab": "x", "nodes": nodes, "file": "/m/strata.dat", "specification": HEALTHY, **uris, **values}
    return Stack.from_toml(string.Template(text).substitute(known))


def on(stack: Stack) -> dict[str, tuple[str, ...]]:
    return {layer.name: layer.on for layer in stack.layers}


def test_a_cluster_volume_stands_on_its_disk() -> None:
    stack = filled("cluster_volume", disk="/dev/a", other="/dev/b", landing="block-redirected, other node")
    assert on(stack)["block-redirected, other node"] == ("disk",)
    assert all(stack.stands_on(layer)[-1].name == "disk" for layer in stack.layers[1:])
    assert stack.layers[0].expect.iops == 1644
    beaten = {(a.name, b.name) for a, b in stack.pairs if stack.may_be_faster(a, b)}
    assert beaten == {
        ("direct, other node", "direct, coordinator"),
        ("share, client", "share, other node"),
        ("redirected, other node", "share, other node"),
        ("block-redirected, other node", "share, other node"),
        ("block-redirected, other node", "direct, coordinator"),
    }


def test_queues_and_a_cache_may_beat_what_is_below_them() -> None:
    ends = {"store": "nbd://h:1/x", "controller": "nbd://h:2/x", "cache": "nbd://h:3/x"}
    stack = filled("vm_disks", queues=4, queue=2, deep=8, members=2, **ends)
    bound = {(a.name, b.name) for a, b in stack.pairs if not stack.may_be_faster(a, b)}
    assert bound == {("store, served", "store"), ("one queue", "store, served")}
    assert on(stack)["read cache"] == ("store",)


@pytest.mark.parametrize(("way", "below"), [("on", ("owner",)), ("against", ())])
def test_a_mirror_says_which_clients_reach_the_copies_by_themselves(way: str, below: tuple[str, ...]) -> None:
    held = {
        "own_on": 'on = ["owner, mounted"]',
        "far_on": f'{way} = ["owner"]',
        "other": "n3",
        "library": "",
        "copies": "2",
    }
    stack = filled("mirrored", **held)
    assert on(stack)["other node"] == below
    assert [(a.name, b.name) for a, b in stack.pairs] == [("owner", "owner, mounted"), ("other node", "owner")]
