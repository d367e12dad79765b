"""A mount by the kernel's NFS client: which export it is and how it is reached, from its options and its statistics."""

from __future__ import annotations

from urllib.parse import quote

from strata.host.mounts import Mount, unescape
from strata.host.proc import Sys

KINDS = frozenset({"nfs", "nfs4"})


def describe_nfs(mount: Mount, sys: Sys) -> dict[str, str]:
    """What the options tell: export, version, transport, longest read and write, connections, what happens when the
    server is silent, what is cached here; and the endpoint that reaches the same server without this mount.

    The connections in use are counted in /proc/self/mountstats, which has a line for each.
    """
    pairs = dict(o.split("=", 1) for o in mount.options if "=" in o)
    flags = {o for o in mount.options if "=" not in o}
    host, export = _split(mount.source)
    version = pairs.get("vers") or pairs.get("nfsvers") or ("4" if mount.kind == "nfs4" else "")
    connections = _connections(mount, sys) or pairs.get("nconnect", "")
    uncached = "noac" in flags or pairs.get("actimeo") == "0"
    found = {
        "export": export,
        "protocol": f"NFS {version}" if version else "",
        "transport": pairs.get("proto", ""),
        "longest_read": pairs.get("rsize", ""),
        "longest_write": pairs.get("wsize", ""),
        "connections": connections,
        "when_silent": "errors (soft)" if flags & {"soft", "softerr"} else "waits (hard)" if "hard" in flags else "",
        "attribute_cache": "off" if uncached else "",
        "writes": "each waits for the server (sync)" if "sync" in flags else "",
        "locks": "here only" if "nolock" in flags or pairs.get("local_lock", "none") not in ("none", "") else "",
    }
    if version.startswith("3") and host and export:
        below = mount.root if mount.root not in ("", "/") else ""
        found["endpoint"] = f"nfs://{_bracketed(host)}{quote(export.rstrip('/') + below)}/FILE"
    return {key: value for key, value in found.items() if value}


def _split(source: str) -> tuple[str, str]:
    """Host and export of ``nas:/vol`` and ``[fe80::1]:/vol``."""
    if source.startswith("["):
        host, _, export = source[1:].partition("]:")
    else:
        host, _, export = source.partition(":")
    return host, export


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _connections(mount: Mount, sys: Sys) -> str:
    count, ours = 0, False
    for line in sys.lines("/proc/self/mountstats"):
        words = line.split()
        if line.startswith("device ") and " mounted on " in line:
            ours = len(words) > 4 and unescape(words[4]) == mount.point
        elif ours and words[:1] == ["xprt:"]:
            count += 1
    return str(count) if count else ""
