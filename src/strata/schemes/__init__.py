"""What lies behind a network: one file for each endpoint scheme, and the list of them."""

from __future__ import annotations

import re
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

WRITTEN = {
    "file": "file:/path",
    "block": "block:/dev/…",
    "null": "null:",
    **{word: form for scheme in SCHEMES.values() for word, form in scheme.forms.items()},
}
"""How an endpoint of each kind is written, by the word before the colon."""

BRIEFLY = ", ".join(
    form if form.endswith(("…", ":")) else re.sub(r"(:/*).*", r"\1…", form, count=1)
    for word, form in WRITTEN.items()
    if "+" not in word
)
"""How an endpoint of each kind begins, for one sentence."""
