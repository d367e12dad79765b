"""`mirrored`: every byte on the disks of two or three nodes, used on the owner and on a node without a copy.

Three engines, which make their copies at different places:

* ``btrfs``: the owner's kernel writes its own disk and the others' (over NBD). A client elsewhere sends to the owner,
  as a non-owner does in Storage Spaces Direct.
* ``gluster``: the client writes every copy itself. The owner is a node with a brick, whose reads stay on it.
* ``ceph``: the client sends to the primary, which sends on to the others; the owner is the node of the primary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.errors import UsageError
from strata_lab import data, disks, media
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import btrfs_pair, ceph, gluster
from strata_lab.servers import storage_daemon as daemon
from strata_lab.stacks import Options, write_stack

TITLE = "two or three copies on as many nodes; the client on the owner and on a node without a copy"
OPTIONS = {
    "engine": ("gluster", "gluster, btrfs or ceph"),
    "copies": ("2", "2 or 3"),
    "medium": ("flash", f"model of each disk: {', '.join(media.MODELS)}; ceph uses files on this machine"),
    "data": ("64m", "size of the file that every layer accesses"),
    "client": ("mount", "mount, or library: adds two layers through the client library of the engine (gluster, ceph)"),
    "rate": ("none", "bandwidth of a network card in each direction in bytes per second, e.g. 125m, or none"),
}
VARIANTS: tuple[Mapping[str, str], ...] = (
    {"engine": "btrfs"},
    {"engine": "btrfs", "copies": "3"},
    {},
    {"engine": "ceph"},
)
ROOM = 2
"""A disk is so many times larger than the data, and has half a GiB for what the engine keeps beside it."""
BESIDE = units.GIB // 2
PORT = 10820


def build(lab: Lab, options: Options) -> None:
    """Nodes with copies, one without, and a daemon on the owner and on that one which serves the volume to its node."""
    copies, engine = options["copies"], options["engine"]
    if copies not in ("2", "3") or engine not in _ENGINES:
        why = f"engine={engine} copies={copies}"
        raise UsageError("cannot build the mirror", why, "", f"copies=2 or 3; engine={', '.join(_ENGINES)}")
    if options["client"] not in ("mount", "library") or (options["client"] == "library" and engine == "btrfs"):
        why = f"engine={engine} client={options['client']}"
        raise UsageError("cannot build the mirror", why, "", "client=mount, or client=library with gluster or ceph")
    rate = None if options["rate"] == "none" else float(units.parse_size(options["rate"]))
    holders = [lab.add_node(f"n{i + 1}", owner=i == 0, bytes_per_s=rate) for i in range(int(copies))]
    other = lab.add_node(f"n{int(copies) + 1}", bytes_per_s=rate)
    size = units.parse_size(options["data"])
    made = _ENGINES[engine](lab, holders, other, size)
    own = daemon.serve(lab, holders[0], {"volume": made.own}, name="volume-owner", port=PORT, accept=made.accept)
    far = own
    if made.other is not None:
        far = daemon.serve(lab, other, {"volume": made.other}, name="volume-other", port=PORT)
    for fact in lab.facts("disk"):
        disks.control(lab, fact["name"]).set(f"{media.model_of(options['medium'])} reset=1")
    lab.fact(
        "volume", node="n1", path=str(made.path.parent), device=None, fs=engine, file=str(made.path), copies=int(copies)
    )
    library = _library(made.library, other) if options["client"] == "library" else ""
    write_stack(
        lab,
        "mirrored",
        file=made.path,
        copies=copies,
        own=own.uris["volume"],
        far=far.uris["volume"],
        own_on=_held("owner, mounted", made.through_mount),
        far_on=_held("owner", made.other is None),
        other=other.name,
        library=library,
    )


@dataclass(frozen=True)
class MirrorMade:
    """A volume: the file on the owner, what the owner's daemon serves, and what the other node's does.

    ``other`` None: that node is a client of the owner's daemon. ``accept``: which process id the owner's shall have.
    ``library``: the address for the engine's own client library; empty where it has none. ``through_mount``: whether
    what the owner serves is the file that it has mounted.
    """

    path: Path
    own: daemon.Blockdev
    other: daemon.Blockdev | None = None
    accept: Callable[[int], bool] = lambda _: True
    library: str = ""
    through_mount: bool = True


def _gluster(lab: Lab, holders: Sequence[LabNode], other: LabNode, size: int) -> MirrorMade:
    bricks = [(node, _formatted(lab, node, size) / "brick") for node in holders]
    running = gluster.start(lab, bricks)
    path = data.file(running.mount(holders[0], "owner") / "strata.dat", size)
    there = running.mount(other, "other") / path.name
    uri = f"gluster://{holders[0].address}/{gluster.VOLUME}/{path.name}"
    return MirrorMade(path, daemon.disk(path), daemon.disk(there), library=uri)


def _btrfs(lab: Lab, holders: Sequence[LabNode], other: LabNode, size: int) -> MirrorMade:
    own, *others = (media.medium(lab, node.name, ROOM * size + BESIDE).device for node in holders)
    volume = btrfs_pair.mirror(lab, holders[0], own, list(zip(holders[1:], others, strict=True)))
    path = data.file(volume.path / "strata.dat", size)
    room, profile = ROOM * size + BESIDE, volume.profile
    lab.fact("mirror", devices=list(volume.devices), path=str(volume.path), profile=profile, size=room)
    return MirrorMade(path, daemon.disk(path), accept=volume.own_reader(path))


def _ceph(lab: Lab, holders: Sequence[LabNode], other: LabNode, size: int) -> MirrorMade:
    running = ceph.start(lab, holders)
    running.image("volume", size)
    image = daemon.rbd(running.conf, ceph.POOL, "volume")
    path = daemon.as_file(lab, holders[0], image, name="strata.dat")
    data.fill(path, size)
    return MirrorMade(path, image, image, through_mount=False, library=f"rbd:{ceph.POOL}/volume?conf={running.conf}")


def _library(uri: str, other: LabNode) -> str:
    ends = (("owner by library", "n1", "owner, mounted"), ("other node by library", other.name, "owner by library"))
    return "".join(
        f'\n[[layer]]\nname = "{name}"\nnode = "{node}"\nagainst = ["{below}"]\nendpoint = "{uri}"\n'
        for name, node, below in ends
    )


def _held(against: str, through: bool) -> str:
    """The line that says what a layer is compared with, and whether its requests go through it."""
    return f'{"on" if through else "against"} = ["{against}"]'


def _formatted(lab: Lab, node: LabNode, size: int) -> Path:
    device = media.medium(lab, node.name, ROOM * size + BESIDE).device
    disks.make_fs(device, "ext4")
    return disks.mount(lab, device, node.name, "noatime")


_ENGINES: Mapping[str, Callable[[Lab, Sequence[LabNode], LabNode, int], MirrorMade]] = {
    "gluster": _gluster,
    "btrfs": _btrfs,
    "ceph": _ceph,
}
