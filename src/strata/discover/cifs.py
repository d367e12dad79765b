"""A mount by the kernel's SMB client: which share it is, and how it is reached, from its options."""

from __future__ import annotations

from urllib.parse import quote

from strata.host.mounts import Mount
from strata.host.proc import Sys

KINDS = frozenset({"cifs", "smb3"})


def describe_cifs(mount: Mount, sys: Sys) -> dict[str, str]:
    """What the options tell: share and path below it, user, dialect, signing, encryption, channels, cache.

    An option that is not shown is at the kernel's default, which is said as far as it is one for all versions.
    """
    pairs = dict(o.split("=", 1) for o in mount.options if "=" in o)
    flags = {o for o in mount.options if "=" not in o}
    host, _, below = mount.source.removeprefix("//").partition("/")
    share, _, prefix = below.strip("/").partition("/")
    user = pairs.get("username")
    found = {
        "share": share,
        "share_path": prefix,
        "user": user or "",
        "dialect": f"SMB {pairs['vers']}" if "vers" in pairs else "",
        "signing": "on" if "sign" in flags or pairs.get("sec", "").endswith("i") else "",
        "encryption": "on" if "seal" in flags else "",
        "channels": pairs.get("max_channels", "2") if "multichannel" in flags else "1",
        "client_cache": pairs.get("cache", ""),
        "flush": "not sent to the server" if "nostrictsync" in flags else "",
        "endpoint": f"smb://{user + '@' if user else ''}{host}/{quote('/'.join(p for p in (share, prefix) if p))}/FILE",
    }
    return {key: value for key, value in found.items() if value}
