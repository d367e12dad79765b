"""`block-share`: a second node reaches the file as a block device, over NBD or iSCSI."""

from __future__ import annotations

from strata.errors import UsageError
from strata_lab.lab import Lab
from strata_lab.servers import nbd, tgtd
from strata_lab.stacks import Options, add_cards, remote_layer, write_stack
from strata_lab.stacks.volume import OPTIONS as VOLUME
from strata_lab.stacks.volume import volume

TITLE = "two nodes: a file, and its blocks over NBD and iSCSI"
OPTIONS = {
    **VOLUME,
    "protocol": ("nbd", "nbd, iscsi or both"),
    "server": ("qemu-nbd", f"of NBD: {', '.join(nbd.KINDS)} (a reduced lab: strata)"),
    "nics": ("1", "network cards of each node, 1 or 2"),
    "rate": ("125m", "bandwidth of each network card in bytes per second; 0: not limited"),
}
VARIANTS = (
    {"protocol": "both"},
    {"protocol": "nbd", "server": "strata", "nics": "2"},
    {"protocol": "nbd", "server": "nbdkit"},
)


def build(lab: Lab, options: Options) -> None:
    """n1 has the file and serves it, n2 is the client."""
    wanted = options["protocol"]
    if wanted not in ("nbd", "iscsi", "both"):
        raise UsageError("there is no protocol", repr(wanted), "", "protocol=nbd, iscsi or both")
    if lab.reduced and wanted != "nbd":
        raise UsageError("cannot build", "block-share over iSCSI", "a reduced lab has no tgtd", "protocol=nbd, or sudo")
    server, client = add_cards(lab, options, ("n1", "n2"))
    made = volume(lab, server, options)
    layers = []
    if wanted in ("nbd", "both"):
        served = nbd.start(lab, server, made.file, kind="strata" if lab.reduced else options["server"])
        layers.append(
            remote_layer("NBD export", client, served.uri, served=served, cached=options["server"] == "nbdkit")
        )
    if wanted in ("iscsi", "both"):
        layers.append(remote_layer("iSCSI unit", client, tgtd.start(lab, server, made.file).uri))
    write_stack(lab, "block-share", volume=made.layers.format(owner=server.name), shares="\n".join(layers))
