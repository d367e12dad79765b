"""`vm-disks`: the disks of a virtual machine over storage-only nodes.

What stands for what: ``host`` stripes over the disks of the storage nodes ``s1``, ``s2`` … (btrfs over NBD) and keeps
each virtual disk as a file there, served unbuffered. A virtual controller is a relay that takes at most ``queue``
requests of a connection at once; a connection is one queue. The read cache is the page cache of a server of its own.
There is no virtual machine: the machine's side of a controller is the NBD client.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strata import units
from strata.errors import UsageError
from strata_lab import data, disks, media
from strata_lab.lab import Lab
from strata_lab.ledger import Line
from strata_lab.servers import btrfs_pair, relay
from strata_lab.servers import storage_daemon as daemon
from strata_lab.sizes import Sized
from strata_lab.stacks import Options, write_stack

TITLE = "virtual disks on storage-only nodes: queues, several disks, a read cache, nodes added while it runs"
OPTIONS = {
    "disks": ("4", "virtual disks, each with its own controller: 1 to 8"),
    "queue": ("2", "queue depth of a controller"),
    "nodes": ("2", "storage-only nodes to begin with: 1 to 6"),
    "medium": ("member", f"model of each node's disk: {', '.join(media.MODELS)}"),
    "cache": ("16m", "size of the read cache"),
    "data": ("32m", "size of each virtual disk"),
    "cap": ("0", "IOPS that one controller lets through, over all of its disks; 0: all"),
}
ROOM_BYTES = units.GIB
STORE_PORT, CACHE_PORT, FIRST_PORT = 10830, 10831, 10840
MOST_DISKS, MOST_NODES = 8, 6
QUEUES, MOST_QUEUES = 4, 16
FAST = "c=16 svc=50"
"""Of every node's disk while data is moved."""


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
    # Each behind a cap of its own, which caps nothing until somebody injects one, and behind that of its controller.
    capped = (daemon.throttled(daemon.disk(path), f"qos{i}", named=f"q{i}") for i, path in enumerate(paths))
    exports = {f"disk{i}": _of_controller(one, i) for i, one in enumerate(capped)}
    cap = _number(options, "cap", 1_000_000, least=0)
    groups: dict[str, dict[str, int]] = {f"qos{i}": {} for i in range(many)}
    groups |= {f"controller{i}": {"iops-total": cap} if cap else {} for i in range(many)}
    monitor = lab.dir("run") / "store.sock"
    store = daemon.serve(lab, host, exports, name="store", port=STORE_PORT, groups=groups, monitor=monitor)
    lab.fact("qos", monitor=str(monitor), group="qos0")
    lab.fact("controllers", many=many)
    controllers = []
    for i in range(many):
        lab.fact("controller", disk=i, uri=store.uris[f"disk{i}"], queue=queue, queues=1)
        controllers.append(_start_controller(lab, i, queue))
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
    model = media.model_of(options["medium"])
    lab.fact("store", devices=list(volume.devices), path=str(volume.path), model=model, ever=list(volume.devices))
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
        queue=queue,
        deep=QUEUES * queue,
        cache=cache.uris["disk0"],
    )


def _of_controller(what: daemon.Blockdev, disk: int) -> daemon.Blockdev:
    return {"driver": "throttle", "throttle-group": f"controller{disk}", "file": {**what}}


def _start_controller(lab: Lab, disk: int, threads: int) -> str:
    """The machine's side of a disk's controller, with so many I/Os at once; where it is reached."""
    fact = lab.last_fact("controller", disk=disk)
    assert fact is not None
    made = relay.start(
        lab, lab.node("host"), fact["uri"], name=f"controller{disk}", port=FIRST_PORT + disk, export=f"disk{disk}",
        threads=threads,
    )  # fmt: skip
    return made.uris[f"disk{disk}"]


def _queues(lab: Lab) -> int:
    fact = lab.last_fact("controller")
    assert fact is not None
    return int(fact["queues"])


def _make_queues(lab: Lab, many: int) -> None:
    """Every controller with so many queues, each as deep as before."""
    for disk in range(_disks(lab)):
        fact = lab.last_fact("controller", disk=disk)
        assert fact is not None
        lab.stop(lab.process(f"controller{disk}"))
        lab.fact("controller", disk=disk, uri=fact["uri"], queue=fact["queue"], queues=many)
        _start_controller(lab, disk, many * fact["queue"])


def _disks(lab: Lab) -> int:
    fact = lab.last_fact("disks")
    assert fact is not None
    return len(fact["uris"])


def _controllers(lab: Lab) -> int:
    fact = lab.last_fact("controllers")
    assert fact is not None
    return int(fact["many"])


def _make_controllers(lab: Lab, many: int) -> None:
    """The disks dealt in turn over so many controllers, each with its own cap."""
    qos = lab.last_fact("qos")
    assert qos is not None
    for disk in range(_disks(lab)):
        daemon.regrouped(Path(qos["monitor"]), disk, f"controller{disk % many}", f"q{disk}")
    lab.fact("controllers", many=many)


def _storage_nodes(lab: Lab) -> int:
    return len(_volume(lab)[0].devices)


def _make_storage_nodes(lab: Lab, many: int) -> None:
    """Nodes join or leave one after the other. The disks are fast meanwhile: what is moved is not what is measured."""
    model = _volume(lab)[1]["model"]
    _model(lab, FAST)
    try:
        _join_or_leave(lab, many, lambda: _model(lab, FAST))
    finally:
        _model(lab, model)


def _join_or_leave(lab: Lab, many: int, each: Callable[[], None] = lambda: None) -> None:
    """``each``: what follows every one of them."""
    while _storage_nodes(lab) != many:
        (grow if _storage_nodes(lab) < many else shrink)(lab)
        each()


def _spare(lab: Lab) -> str | None:
    """The second disk: the first one is that of the stack file."""
    fact = lab.last_fact("disks")
    return fact["uris"][1] if fact is not None and len(fact["uris"]) > 1 else None


def _model(lab: Lab, words: str) -> None:
    for fact in lab.facts("disk"):
        disks.control(lab, fact["name"]).set(words)


def shrink(lab: Lab) -> str:
    """The storage-only node that joined last leaves while the disks are in use; its name. Idle, it stays in the lab."""
    volume, fact = _volume(lab)
    if len(volume.devices) < 2:
        raise UsageError("cannot shrink the lab", lab.name, "it has one storage node, which is the minimum")
    _keep(lab, volume.shrink(), fact)
    return f"s{len(volume.devices)}"


def _keep(lab: Lab, volume: btrfs_pair.BtrfsVolume, fact: Line) -> None:
    """``ever``: every device that was once in it, by the number of its node."""
    ever = [*volume.devices, *fact["ever"][len(volume.devices) :]]
    lab.fact("store", devices=list(volume.devices), path=fact["path"], model=fact["model"], ever=ever)


def spread(lab: Lab) -> dict[str, int]:
    """Bytes of data on each storage node."""
    volume, _ = _volume(lab)
    held = volume.spread()
    return {f"s{i + 1}": held.get(device, 0) for i, device in enumerate(volume.devices)}


SIZES = {
    "queues": Sized(_queues, lambda _: MOST_QUEUES, _make_queues),
    "controllers": Sized(_controllers, _disks, _make_controllers),
    "storage-nodes": Sized(
        _storage_nodes, lambda _: MOST_NODES, _make_storage_nodes, as_is=_join_or_leave, spread=spread, spare=_spare
    ),
}


def _volume(lab: Lab) -> tuple[btrfs_pair.BtrfsVolume, Line]:
    fact = lab.last_fact("store")
    assert fact is not None
    devices = tuple(fact["devices"])
    profile = "raid0" if len(devices) > 1 else "single"
    return btrfs_pair.BtrfsVolume(lab, lab.node("host"), devices, Path(fact["path"]), profile), fact


def grow(lab: Lab) -> str:
    """One storage-only node more, and the data spread over it, while the disks are in use; the node's name."""
    volume, fact = _volume(lab)
    devices = volume.devices
    if len(devices) >= MOST_NODES:
        raise UsageError("cannot grow the lab", lab.name, f"it has {len(devices)} storage nodes, which is the maximum")
    name = f"s{len(devices) + 1}"
    back = fact["ever"][len(devices) : len(devices) + 1]
    if back:
        # It left before, and stood idle since.
        _keep(lab, volume.joined(*back), fact)
        return name
    node = lab.add_node(name)
    member = media.medium(lab, node.name, ROOM_BYTES)
    member.control.set(fact["model"])
    _keep(lab, volume.grow(node, member.device), fact)
    return node.name


def _number(options: Options, key: str, most: int, *, least: int = 1) -> int:
    if not options[key].isdigit() or not least <= int(options[key]) <= most:
        why = f"it is not a number from {least} to {most}"
        raise UsageError("cannot build vm-disks with", f"{key}={options[key]}", why)
    return int(options[key])
