"""`share`: a second node reaches the file system over SMB (Samba's smbd) or NFS (Ganesha)."""

from __future__ import annotations

from strata.errors import UsageError
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import direct, ganesha, smbd
from strata_lab.stacks import Options, add_cards, remote_layer, write_stack
from strata_lab.stacks.volume import OPTIONS as VOLUME
from strata_lab.stacks.volume import Volume, volume

TITLE = "two nodes: a file system, and SMB and NFS shares of it"
OPTIONS = {
    **VOLUME,
    "protocol": ("smb", "smb, nfs or both"),
    "nics": ("1", "network cards of each node, 1 or 2"),
    "rate": ("125m", "bandwidth of each network card in bytes per second; 0: not limited"),
    "signing": ("no", "yes: the SMB server requires signing"),
    "cache": ("none", "cache of smbd: none (each I/O reaches the medium) or page (the page cache)"),
}
VARIANTS = ({"protocol": "both", "nics": "2"}, {"protocol": "smb", "signing": "yes", "cache": "page"})


def build(lab: Lab, options: Options) -> None:
    """n1 has the disk and serves, n2 is the client."""
    if lab.reduced:
        raise UsageError("cannot build", "share", "smbd and Ganesha need root", "strata lab up block-share, or sudo")
    if options["protocol"] not in ("smb", "nfs", "both"):
        raise UsageError("there is no protocol", repr(options["protocol"]), "", "protocol=smb, nfs or both")
    if options["cache"] not in ("none", "page"):
        raise UsageError("smbd has no cache", repr(options["cache"]), "", "cache=none or cache=page")
    server, client = add_cards(lab, options, ("n1", "n2"))
    made = volume(lab, server, options)
    layers = [_smb(lab, server, client, made, options)] if options["protocol"] in ("smb", "both") else []
    layers += [_nfs(lab, server, client, made)] if options["protocol"] in ("nfs", "both") else []
    write_stack(lab, "share", volume=made.layers.format(owner=server.name), shares="\n".join(layers))


def _smb(lab: Lab, server: LabNode, client: LabNode, made: Volume, options: Options) -> str:
    assert made.mounted is not None
    two = len(server.addresses) > 1
    page = options["cache"] == "page"
    folder = made.mounted if page else direct.files(lab, server, "volume", lower=made.mounted)
    # Past the page cache each write is durable by itself: nothing is left to flush.
    served = smbd.start(lab, server, folder, multichannel=two, signing=options["signing"] == "yes", sync=page)
    # Each connection goes to one card; which card is for the client to choose from what the server offers.
    uri = f"{served.uri}/{made.file.name}" + ("?connections=2" if two else "")
    return remote_layer("SMB share", client, uri, cached=page)


def _nfs(lab: Lab, server: LabNode, client: LabNode, made: Volume) -> str:
    assert made.mounted is not None
    uri = f"{ganesha.start(lab, server, made.mounted).uri}/{made.file.name}"
    # Ganesha reads and writes through the page cache of its node.
    return remote_layer("NFS share", client, uri, cached=True)
