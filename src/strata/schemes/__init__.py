"""What lies behind a network: one file for each endpoint scheme, and the list of them."""

from __future__ import annotations

from enum import StrEnum

from strata.schemes import gluster, iscsi, nbd, nfs, rbd, smb
from strata.schemes.declared import Scheme


class EndpointKind(StrEnum):
    """The kinds an engine can drive."""

    FILE = "file"
    BLOCK = "block"
    NULL = "null"
    NBD = "nbd"
    SMB = "smb"
    NFS = "nfs"
    ISCSI = "iscsi"
    RBD = "rbd"
    GLUSTER = "gluster"


SCHEMES: dict[str, Scheme] = {module.SCHEME.name: module.SCHEME for module in (smb, nbd, nfs, iscsi, rbd, gluster)}
"""Every scheme by its name, in the order in which they are told."""
