"""What of a stack is watched beside a measurement."""

from __future__ import annotations

from strata.app.watching import watch_of
from strata.model.endpoint import Endpoint
from strata.model.stack import Stack

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
    here, server, far = watch_of((), (), [Endpoint.parse(stack.layers[0].endpoint)], stack).nodes
    assert (here.name, here.ports) == (None, (445,))
    assert (server.netns, server.smb_conf, server.ports) == ("/run/netns/server", "/etc/samba/smb.conf", (445,))
    assert (far.name, far.url, far.netns) == ("far", "http://far:9100/metrics", None)


def test_a_node_without_such_words_is_saved_as_before() -> None:
    saved = Stack.from_toml(TEXT).nodes[2].model_dump(mode="json")
    assert saved == {"name": "client", "owner": False, "netns": None}
