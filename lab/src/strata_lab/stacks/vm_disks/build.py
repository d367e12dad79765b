"""`vm-disks`: the disks of a virtual machine over storage-only nodes.

What stands for what: ``host`` stripes over the disks of the storage nodes ``s1``, ``s2`` … (btrfs over NBD) and keeps
each virtual disk as a file there, served unbuffered. A virtual controller is a relay that takes at most ``queue``
requests of a connection at once; a connection is one queue. The read cache is the page cache of a server of its own.
There is no virtual machine: the machine's side of a controller is the NBD client.
"""

from __future__ import annotations

from pathlib import Path

from strata import units
from strata.errors import UsageError
from strata_lab import data, disks, media
from strata_lab.lab import Lab
from strata_lab.ledger import Line
from strata_lab.servers import btrfs_pair, relay
from strata_lab.servers import storage_daemon as daemon
from strata_lab.stacks import Options, write_stack

TITLE = "virtual disks on storage-only nodes: queues, several disks, a read cache, nodes added while it runs"
OPTIONS = {
    "disks": ("4", "virtual disks, each with a controller of its own: 1 to 8"),
    "queue": ("2", "queue depth of a controller"),
    "nodes": ("2", "storage-only nodes to begin with: 1 to 6"),
    "medium": ("member", f"model of each node's disk: {', '.join(media.MODELS)}"),
    "cache": ("16m", "size of the read cache"),
    "data": ("32m", "size of each virtual disk"),
}
ROOM_BYTES = units.GIB
STORE_PORT, CACHE_PORT, FIRST_PORT = 10830, 10831, 10840
MOST_DISKS, MOST_NODES = 8, 6
QUEUES = 4


def build(lab: Lab, options: Options) -> None:
    """Storage nodes, the stripe over them, the virtual disks, a controller for each and the cache before the first."""
    many = _number(options, "disks", MOST_DISKS)
    count, queue = _number(options, "nodes", MOST_NODES), _number(options, "queue", 256)
    host = lab.add_node("host", owner=True)
    storage = [lab.add_node(f"s{i + 1}") for i in range(count)]
    size = units.parse_size(options["data"])
    members = [(node, media.medium(lab, node.name, ROOM_BYTES).device) for node in storage]
    volume = btrfs_pair.stripe(lab, host, members, name="store")
    paths = [data.file(volume.path / f"disk{i}.dat", size) for i in range(many)]
    # Each behind a cap of its own, which caps nothing until somebody injects one.
    exports = {f"disk{i}": daemon.throttled(daemon.disk(path), f"qos{i}") for i, path in enumerate(paths)}
    groups: dict[str, dict[str, int]] = {f"qos{i}": {} for i in range(many)}
    monitor = lab.dir("run") / "store.sock"
    store = daemon.serve(lab, host, exports, name="store", port=STORE_PORT, groups=groups, monitor=monitor)
    lab.fact("qos", monitor=str(monitor), group="qos0")
    controllers = []
    for i in range(many):
        uri, port = store.uris[f"disk{i}"], FIRST_PORT + i
        made = relay.start(lab, host, uri, name=f"controller{i}", port=port, export=f"disk{i}", threads=queue)
        controllers.append(made.uris[f"disk{i}"])
    cache = relay.cached(
        lab,
        host,
        paths[0],
        name="cache",
        port=CACHE_PORT,
        export="disk0",
        cache_bytes=units.parse_size(options["cache"]),
    )
    for node in storage:
        disks.control(lab, node.name).set(f"{media.model_of(options['medium'])} reset=1")
    lab.fact("store", devices=list(volume.devices), path=str(volume.path), model=media.model_of(options["medium"]))
    lab.fact("disks", uris=controllers)
    lab.fact("volume", node="host", path=str(volume.path), device=None, fs="btrfs", file=str(paths[0]))
    write_stack(
        lab,
        "vm-disks",
        file=paths[0],
        members=len(volume.devices),
        store=store.uris["disk0"],
        controller=controllers[0],
        queues=QUEUES,
        cache=cache.uris["disk0"],
    )


def shrink(lab: Lab) -> str:
    """The storage-only node that joined last leaves while the disks are in use; its name. Idle, it stays in the lab."""
    volume, fact = _volume(lab)
    if len(volume.devices) < 2:
        raise UsageError("cannot shrink the lab", lab.name, "it has one storage node, which is the minimum")
    left = volume.shrink()
    lab.fact("store", devices=list(left.devices), path=fact["path"], model=fact["model"])
    return f"s{len(volume.devices)}"


def spread(lab: Lab) -> dict[str, int]:
    """Bytes of data on each storage node."""
    volume, _ = _volume(lab)
    held = volume.spread()
    return {f"s{i + 1}": held.get(device, 0) for i, device in enumerate(volume.devices)}


def _volume(lab: Lab) -> tuple[btrfs_pair.Volume, Line]:
    fact = lab.last_fact("store")
    assert fact is not None
    devices = tuple(fact["devices"])
    profile = "raid0" if len(devices) > 1 else "single"
    return btrfs_pair.Volume(lab, lab.node("host"), devices, Path(fact["path"]), profile), fact


def grow(lab: Lab) -> str:
    """One storage-only node more, and the data spread over it, while the disks are in use; the node's name."""
    volume, fact = _volume(lab)
    devices = volume.devices
    if len(devices) >= MOST_NODES:
        raise UsageError("cannot grow the lab", lab.name, f"it has {len(devices)} storage nodes, which is the maximum")
    name = f"s{len(devices) + 1}"
    if any(node.name == name for node in lab.nodes):
        raise UsageError(
            "cannot grow the lab", lab.name, f"{name} left it before", "build another: strata lab up vm-disks"
        )
    node = lab.add_node(name)
    member = media.medium(lab, node.name, ROOM_BYTES)
    member.control.set(fact["model"])
    grown = volume.grow(node, member.device)
    lab.fact("store", devices=list(grown.devices), path=fact["path"], model=fact["model"])
    return node.name


def _number(options: Options, key: str, most: int) -> int:
    if not options[key].isdigit() or not 1 <= int(options[key]) <= most:
        raise UsageError("cannot build vm-disks with", f"{key}={options[key]}", f"it is not a number from 1 to {most}")
    return int(options[key])
