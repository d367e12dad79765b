"""What is sampled where while one node of a stack drives a layer, and on whose clock it is told."""

from __future__ import annotations

from strata.app.driven.group import HERE
from strata.app.driven.scopes import Scopes, shifted
from strata.app.driven.words import LayersThere
from strata.discover.chain import Under
from strata.model.endpoint import Endpoint
from strata.model.nodes import NodeInfo
from strata.model.place import identity
from strata.model.series import Series, SeriesKind
from strata.model.stack import Stack

TEXT = """
[stack]
name = "s"
scheduler = "tls://scheduler:8786"

[[node]]
name = "owner"
smb_conf = "/etc/samba/smb.conf"

[[node]]
name = "client"

[[node]]
name = "switch"
counters = "http://switch:9100/metrics"

[[layer]]
name = "disk"
node = "owner"
endpoint = "block:/dev/sda"

[[layer]]
name = "file system"
node = "owner"
on = ["disk"]
endpoint = "file:/mnt/strata.dat"

[[layer]]
name = "share"
node = "client"
on = ["file system"]
endpoint = "nbd://owner:10809/volume"
"""
STACK = Stack.from_toml(TEXT)
DISK, FILE = Under(("sda",), ("sda",)), Under(("sda1", "sda"), ("sda1",))
LOCAL = Under(("vda",), ("vda",))


def there(boot: str, **under: Under) -> LayersThere:
    return LayersThere(boot, (0, 1), {}, {}, {}, {}, (), {}, under)


def scopes(owner: str, client: str, stack: Stack = STACK) -> Scopes:
    info = {
        name: NodeInfo(
            name=name, address="tls://x:1", version="0", host=name, pid=1, cores=2, root=True, joined_unix_ns=0
        )
        for name in ("owner", "client")
    }
    made = Scopes(stack, info, "/mnt/strata.dat")
    placed = {
        "owner": there(owner, **{"disk": DISK, "file system": FILE}),
        "client": there(client, share=Under()),
        HERE: there("ours", ignored=LOCAL),
    }
    endpoints = {layer.name: Endpoint.parse(layer.endpoint) for layer in stack.layers}
    made.placed(placed, endpoints, {"disk": "owner", "file system": "owner", "share": "client"})
    return made


def test_nodes_of_one_machine_share_its_devices_and_are_read_once() -> None:
    found = scopes("boot", "boot")
    own = found.own("client", "share")
    # The share has no device of its own: its requests end on those below, which this machine has as well.
    assert own.devices == ("sda", "sda1") and own.under == FILE and own.paths == ("/mnt/strata.dat",)
    assert [(n.name, n.ports) for n in own.nodes] == [("client", (10809,))]
    besides = {name: (scope, whole) for name, scope, whole in found.besides("client", "share")}
    assert set(besides) == {"owner", HERE}
    assert besides["owner"][0].devices == () and besides["owner"][1] is False


def test_another_machine_is_sampled_whole_and_what_is_under_it_is_not_ours() -> None:
    found = scopes("one", "two")
    assert found.own("client", "share").devices == () and found.own("client", "share").under == Under()
    other, scope, whole = next(iter(found.besides("client", "share")))
    assert (other, whole) == ("owner", True)
    assert scope.devices == ("sda", "sda1") and scope.paths == ("/mnt/strata.dat",)
    # While the owner drives, its devices are this machine's, and no Samba server is asked: nothing passes one.
    own = found.own("owner", "file system")
    assert own.under == FILE and own.nodes[0].name == "owner" and own.nodes[0].smb_conf is None
    assert found.devices("owner") == ("sda", "sda1")


def test_nodes_that_have_not_joined_are_read_from_here() -> None:
    found = scopes("one", "two")
    assert found.read_here == (HERE,)
    (scope,) = [scope for name, scope, _ in found.besides("owner", "disk") if name == HERE]
    assert [(n.name, n.url) for n in scope.nodes] == [("switch", "http://switch:9100/metrics")]


def test_series_of_another_machine_are_told_on_the_clock_of_the_one_that_drives() -> None:
    def of(**labels: str) -> Series:
        return Series(metric="m", unit="s", kind=SeriesKind.GAUGE, labels=labels, t_ns=(10, 20), values=(1.0, 2.0))

    cpu, wire = shifted([of(cpu="0"), of(interface="eth0", node="owner")], -5, "owner")
    assert cpu.labels == {"cpu": "0", "node": "owner"} and cpu.t_ns == (5, 15) and cpu.values == (1.0, 2.0)
    assert wire.labels == {"interface": "eth0", "node": "owner"}
    assert shifted([of(cpu="0")], 0, HERE)[0].labels == {"cpu": "0"}


def test_figures_of_a_node_are_a_series_of_their_own() -> None:
    assert identity("host", STACK, "share", "native").endswith("nbd://owner:10809/volume · driven by client")
    alone = STACK.model_copy(update={"scheduler": None})
    assert "driven" not in identity("host", alone, "share", "native")


def test_a_stack_without_a_scheduler_is_saved_as_before() -> None:
    alone = STACK.model_copy(update={"scheduler": None})
    assert not {"scheduler", "scheduler_netns"} & set(alone.model_dump(mode="json"))


def test_the_statistics_of_a_server_are_read_where_it_is() -> None:
    stated = TEXT + 'stats = "/run/volume.stats"\n'
    for server, reader in (('server = "owner"\n', "owner"), ("", "client"), ('server = "switch"\n', None)):
        found = scopes("boot-1", "boot-2", Stack.from_toml(stated + server))
        own = found.own("client", "share")
        beside = {node: scope for node, scope, _ in found.besides("client", "share")}
        read = {"client": own, **beside}
        assert {n for n, scope in read.items() if scope.stats == "/run/volume.stats"} == {reader} - {None}
        for scope in read.values():
            assert [p.stats for p in scope.nodes if p.stats] == ([scope.stats] if scope.stats else [])
        assert bool(found.unread("share")) == (reader is None)
        assert found.own("owner", "disk").stats is None, "no request of it goes there"
