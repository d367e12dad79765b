"""What of a stack is watched beside a measurement."""

from __future__ import annotations

import platform

import pytest

from strata.app import sampling_scope
from strata.app.circumstances import told_by
from strata.app.sampling_scope import devices_reached, sampling_scope_of, sampling_scope_of_endpoints
from strata.discover.chain import NOTHING, Under
from strata.errors import UsageError
from strata.host.proc import Sys
from strata.model.endpoint import Endpoint
from strata.model.stack import Layer, Stack

TEXT = """
[stack]
name = "two nodes"

[[node]]
name = "server"
owner = true
netns = "/run/netns/server"
smb_conf = "/etc/samba/smb.conf"

[[node]]
name = "far"
counters = "http://far:9100/metrics"

[[node]]
name = "client"

[[layer]]
name = "share"
node = "client"
endpoint = "smb://server/volume/file.dat"
"""


def test_nodes_that_tell_something_are_watched() -> None:
    stack = Stack.from_toml(TEXT)
    here, server, far = sampling_scope_of(stack, {"share": stack.layers[0].target}, "share").nodes
    assert (here.name, here.ports) == (None, (445,))
    assert (server.netns, server.smb_conf, server.ports) == ("/run/netns/server", "/etc/samba/smb.conf", (445,))
    assert (far.name, far.url, far.netns) == ("far", "http://far:9100/metrics", None)


STATED = TEXT.replace("smb://server/volume/file.dat", "nbd://server/volume")


def test_the_statistics_of_a_server_are_read_where_this_machine_reaches_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "client")
    for server, at in (("server", "server"), ("client", None), ("", None), ("far", "")):
        named = f'server = "{server}"\n' if server else ""
        stack = Stack.from_toml(f'{STATED}stats = "/run/volume.stats"\n{named}')
        found = sampling_scope_of(stack, {"share": stack.layers[0].target}, "share")
        assert [n.name for n in found.nodes if n.stats] == ([] if at == "" else [at])
        assert found.stats == (None if at == "" else "/run/volume.stats")
        assert bool(told_by(stack)) == (at == "")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ('stats = "volume.stats"', "begins with /"),
        ('stats = "@volume"', "begins with /"),
        ('stats = "/run/a\\u001bb"', "printable characters alone"),
        (f'stats = "/{"x" * 107}"', "at most 107 bytes"),
        ('stats = "/s"\nserver = "nobody"', "is on 'nobody', which is not declared"),
        ('server = "server"', "and no stats"),
    ],
)
def test_sockets_of_statistics_are_named_by_paths(words: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        Stack.from_toml(f"{STATED}{words}\n")
    assert why in " ".join(refused.value.problems)


def test_only_targets_of_strata_that_it_does_not_start_have_statistics_to_name() -> None:
    for endpoint, why in (("smb://server/volume/file.dat", "line 22: stats /s: only a target of Strata's own"),
                          ("nbd://127.0.0.1:0/own", "Strata starts this server itself")):  # fmt: skip
        text = STATED.replace("nbd://server/volume", endpoint)
        with pytest.raises(UsageError) as refused:
            Stack.from_toml(f'{text}stats = "/s"\n')
        assert why in " ".join(refused.value.problems)


def test_a_samba_server_is_asked_only_where_requests_pass_one() -> None:
    stack = Stack.from_toml(TEXT)
    above = (layer("disk", "block:/dev/sda"), *stack.layers, layer("on the share", "nbd://server/x", "share"))
    stack = stack.model_copy(update={"layers": above})
    endpoints = {x.name: x.target for x in above}
    told = {
        x.name: [n.smb_conf for n in sampling_scope_of(stack, endpoints, x.name).nodes if n.smb_conf] for x in above
    }
    assert [bool(told[name]) for name in ("disk", "share", "on the share")] == [False, True, True]


def test_a_node_without_such_words_is_saved_as_before() -> None:
    saved = Stack.from_toml(TEXT).nodes[2].model_dump(mode="json")
    assert saved == {"name": "client", "owner": False, "netns": None}


UNDER = {
    "block:/dev/sda": Under(("sda",), ("sda",)),
    "file:/data/x": Under(("md0", "sda", "sdb"), ("md0",)),
    "file:/pool/x": Under(("loop1", "sdc", "loop2"), ("loop1", "loop2")),
}


def layer(name: str, endpoint: str, *on: str) -> Layer:
    return Layer(name=name, endpoint=endpoint, on=on)


def test_every_layers_devices_are_sampled_and_each_layer_knows_which_are_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def under(endpoint: Endpoint, sys: Sys) -> Under:
        return UNDER.get(endpoint.uri, NOTHING)

    monkeypatch.setattr(sampling_scope, "devices_of", under)
    layers = (
        layer("disk", "block:/dev/sda"),
        layer("file system", "file:/data/x", "disk"),
        layer("pool", "file:/pool/x"),
        layer("share", "nbd://h/e", "file system"),
        layer("share of the share", "nbd://i/e", "share"),
        layer("both", "nbd://j/e", "pool", "file system"),
        layer("in memory", "file:/tmpfs/x", "disk"),
        layer("elsewhere", "nbd://k/e"),
    )
    stack = Stack(name="s", layers=layers)
    found = devices_reached(stack, {x.name: x.target for x in layers})
    assert {w.devices for w in found.values()} == {("sda", "md0", "sdb", "loop1", "sdc", "loop2")}
    assert found["disk"].under == UNDER["block:/dev/sda"]
    assert found["file system"].under == found["share"].under == found["share of the share"].under
    assert found["file system"].under.carriers == ("md0",)
    assert found["both"].under.carriers == ("loop1", "loop2", "md0")
    assert found["in memory"].under == found["disk"].under, "what is on no device stands on what the stack says"
    assert found["elsewhere"].under == NOTHING


def test_a_layer_that_is_not_measured_has_no_devices_of_its_own() -> None:
    stack = Stack(name="s", layers=(layer("a", "block:/dev/null-and-void"), layer("b", "nbd://h/e", "a")))
    assert sampling_scope_of(stack, {"b": stack.layers[1].target}, "b").under == NOTHING


def test_endpoints_without_a_stack_are_watched_together() -> None:
    found = sampling_scope_of_endpoints([Endpoint.parse("nbd://h:10810/e"), Endpoint.parse("block:/dev/is-not-there")])
    assert (found.devices, found.under, found.nodes[0].ports) == ((), NOTHING, (10810,))
