"""`cluster-volume`: one disk, one file system on its coordinator, and every way there is to a file on it.

What stands for what: the disk is a lab disk that two nodes attach, each by a loop device of its own; the file system
is mounted on the coordinator alone. A redirected path has a daemon on the application's node, which takes each I/O and
hands it on over the wire, to the coordinator's file (file-system-redirected) or to the file's place on its disk
(block-redirected). On the coordinator the daemon hands it to the file below: two file-level stations on one node.
"""

from __future__ import annotations

from strata import units
from strata.errors import UsageError
from strata.lab import data, disks, media
from strata.lab.lab import Lab
from strata.lab.servers import relay
from strata.lab.servers import storage_daemon as daemon
from strata.lab.stacks import Options, write_stack

TITLE = "coordinator, another node and a client: direct, file-system-redirected, block-redirected, scale-out share"
OPTIONS = {
    "medium": ("flash", f"model of the disk: {', '.join(media.MODELS)}"),
    "data": ("64m", "size of the file that every layer reaches"),
    "rate": ("none", "what a card carries in each direction, as 125m (bytes a second), or none"),
    "landing": ("block-redirected", "what the scale-out share stands on: direct, redirected or block-redirected"),
}
SPARE = 3
"""The disk is so many times larger than the file."""
LEAST_BYTES = 192 * units.MIB
"""On smaller ones ext4 cuts the file in two."""
PORTS = {"share": 10809, "block": 10810, "redirected": 10811, "block-redirected": 10812, "scale-out": 10813}


LANDINGS = ("direct", "redirected", "block-redirected")


def build(lab: Lab, options: Options) -> None:
    """Everything, the file first: what follows serves it or its place on the disk."""
    landing = options["landing"]
    if landing not in LANDINGS:
        raise UsageError("cannot build the scale-out share on", landing, "", f"choose one of: {', '.join(LANDINGS)}")
    rate = None if options["rate"] == "none" else float(units.parse_size(options["rate"]))
    n1 = lab.add_node("n1", owner=True, bytes_per_s=rate)
    n2 = lab.add_node("n2", bytes_per_s=rate)
    lab.add_node("n3", bytes_per_s=rate)
    size = units.parse_size(options["data"])
    model = media.model_of(options["medium"])
    lun = media.medium(lab, "lun", max(SPARE * size, LEAST_BYTES))
    other = disks.attach(lab, lun.control.disk)
    path = data.volume(lab, lun.device, "volume", size)
    at = data.place(path)
    here = daemon.disk(path)
    place = daemon.disk(lun.device, offset=at, size=size)
    share = daemon.serve(lab, n1, {"volume": here}, name="share", port=PORTS["share"])
    block = daemon.serve(lab, n1, {"volume": place}, name="block", port=PORTS["block"])
    own = daemon.serve(lab, n1, {"volume": here}, name="redirected-n1", port=PORTS["redirected"])
    over_file, over_block = share.uris["volume"], block.uris["volume"]
    redirected = relay.start(lab, n2, over_file, name="redirected-n2", port=PORTS["redirected"])
    low = relay.start(lab, n2, over_block, name="block-redirected", port=PORTS["block-redirected"])
    if landing == "direct":
        place = daemon.disk(other, offset=at, size=size)
        top = daemon.serve(lab, n2, {"volume": place}, name="scale-out", port=PORTS["scale-out"])
    else:
        below = redirected if landing == "redirected" else low
        top = relay.start(lab, n2, below.uris["volume"], name="scale-out", port=PORTS["scale-out"])
    lab.fact("served", name="share", node="n1", port=PORTS["share"], file=str(path))
    lab.fact("served", name="scale-out", node="n2", port=PORTS["scale-out"], over=redirected.uris["volume"])
    lab.fact("volume", node="n1", device=lun.device, path=str(path.parent), fs=data.FS, file=str(path), offset=at)
    write_stack(
        lab,
        "cluster-volume",
        disk=lun.device,
        other=other,
        file=path,
        share=share.uris["volume"],
        block=block.uris["volume"],
        own=own.uris["volume"],
        redirected=redirected.uris["volume"],
        low=low.uris["volume"],
        landing=f"{landing}, other node",
        top=top.uris["volume"],
    )
    lun.control.set(f"{model} reset=1")
