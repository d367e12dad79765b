"""`cluster-volume`: one disk, one file system on its coordinator, and every way there is to a file on it.

What stands for what: the disk is a lab disk that two nodes attach, each by a loop device of its own; the file system
is mounted on the coordinator alone. A file-level path is SMB to the coordinator's smbd, which has the file unbuffered:
from the coordinator itself (two file-level stations on one node), from the other node, from the client. The
block-redirected path has a daemon on the other node, which takes each I/O and hands it on over NBD to the file's place
on the coordinator's disk. The scale-out share is a second smbd on the other node, on top of one of its paths; where
that is SMB too, a client of Strata's own stands for the kernel's, which not every kernel has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.errors import UsageError
from strata_lab import data, disks, media
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import direct, relay, smbd
from strata_lab.servers import storage_daemon as daemon
from strata_lab.specification import specification
from strata_lab.stacks import Options, write_stack

TITLE = "coordinator, another node and a client: direct, file-system-redirected, block-redirected, scale-out share"
OPTIONS = {
    "medium": ("flash", f"model of the disk: {', '.join(media.MODELS)}"),
    "data": ("64m", "size of the file that every layer accesses"),
    "rate": ("none", "bandwidth of a network card in each direction in bytes per second, e.g. 125m, or none"),
    "landing": ("block-redirected", "path below the scale-out share: direct, redirected or block-redirected"),
    "protocol": ("smb", "protocol of the file-level paths: smb (smbd) or nbd (servers of QEMU and nbdkit)"),
}
SPARE = 3
"""The disk is so many times larger than the file."""
LEAST_BYTES = 192 * units.MIB
"""On smaller ones ext4 cuts the file in two."""
PORTS = {"share": 10809, "block": 10810, "redirected": 10811, "block-redirected": 10812, "scale-out": 10813}


LANDINGS, PROTOCOLS = ("direct", "redirected", "block-redirected"), ("smb", "nbd")


@dataclass(frozen=True)
class VolumeDisk:
    """The file, and its place on the disk as the other node has it attached."""

    file: Path
    other: str
    at: int
    size: int


@dataclass(frozen=True)
class FileUris:
    """URIs of the file-level paths, by what the stack's file calls them."""

    share: str
    own: str
    redirected: str
    top: str


def build(lab: Lab, options: Options) -> None:
    """Everything, the file first: what follows serves it or its place on the disk."""
    landing, protocol = options["landing"], options["protocol"]
    if landing not in LANDINGS:
        raise UsageError("cannot build the scale-out share on", landing, "", f"choose one of: {', '.join(LANDINGS)}")
    if protocol not in PROTOCOLS:
        raise UsageError("there is no file-level path over", protocol, "", f"choose one of: {', '.join(PROTOCOLS)}")
    rate = None if options["rate"] == "none" else float(units.parse_size(options["rate"]))
    n1 = lab.add_node("n1", owner=True, bytes_per_s=rate)
    n2 = lab.add_node("n2", bytes_per_s=rate)
    lab.add_node("n3", bytes_per_s=rate)
    size = units.parse_size(options["data"])
    model = media.model_of(options["medium"])
    lun = media.medium(lab, "lun", max(SPARE * size, LEAST_BYTES))
    other = disks.attach(lab, lun.control.disk)
    path = data.volume(lab, lun.device, "volume", size)
    disk = VolumeDisk(path, other, data.place(path), size)
    place = daemon.disk(lun.device, offset=disk.at, size=size)
    block = daemon.serve(lab, n1, {"volume": place}, name="block", port=PORTS["block"]).uris["volume"]
    low = relay.start(lab, n2, block, name="block-redirected", port=PORTS["block-redirected"]).uris["volume"]
    ways = (_over_smb if protocol == "smb" else _over_nbd)(lab, n1, n2, disk, landing, low)
    lab.fact("volume", node="n1", device=lun.device, path=str(path.parent), fs=data.FS, file=str(path), offset=disk.at)
    write_stack(
        lab,
        "cluster-volume",
        disk=lun.device,
        specification=specification(model),
        other=other,
        file=path,
        share=ways.share,
        block=block,
        own=ways.own,
        redirected=ways.redirected,
        low=low,
        landing=f"{landing}, other node",
        top=ways.top,
    )
    lun.control.set(f"{model} reset=1")


def _over_smb(lab: Lab, n1: LabNode, n2: LabNode, disk: VolumeDisk, landing: str, low: str) -> FileUris:
    """smbd on the coordinator for everybody, and one on the other node."""
    name = disk.file.name
    shared = smbd.start(
        lab, n1, direct.files(lab, n1, "volume", lower=disk.file.parent), multichannel=False, sync=False
    )
    uri = f"{shared.uri}/{name}"
    if landing == "direct":
        view = direct.files(lab, n2, "scale-out", parts=[direct.DirectPart(name, disk.other, disk.at, disk.size)])
    else:
        view = direct.files(lab, n2, "scale-out", remotes={name: uri if landing == "redirected" else low})
    top = smbd.start(lab, n2, view, multichannel=False)
    lab.fact("served", name="scale-out", protocol="smb", node="n2", over=uri, file=name)
    return FileUris(share=uri, own=uri, redirected=uri, top=f"{top.uri}/{name}")


def _over_nbd(lab: Lab, n1: LabNode, n2: LabNode, disk: VolumeDisk, landing: str, low: str) -> FileUris:
    here = daemon.disk(disk.file)
    share = daemon.serve(lab, n1, {"volume": here}, name="share", port=PORTS["share"])
    own = daemon.serve(lab, n1, {"volume": here}, name="redirected-n1", port=PORTS["redirected"])
    over = share.uris["volume"]
    redirected = relay.start(lab, n2, over, name="redirected-n2", port=PORTS["redirected"]).uris["volume"]
    if landing == "direct":
        place = daemon.disk(disk.other, offset=disk.at, size=disk.size)
        top = daemon.serve(lab, n2, {"volume": place}, name="scale-out", port=PORTS["scale-out"])
    else:
        below = redirected if landing == "redirected" else low
        top = relay.start(lab, n2, below, name="scale-out", port=PORTS["scale-out"])
    lab.fact("served", name="scale-out", protocol="nbd", node="n2", port=PORTS["scale-out"], over=redirected)
    return FileUris(share=over, own=own.uris["volume"], redirected=redirected, top=top.uris["volume"])
