"""/proc/self/mountstats: what an NFS mount did, by operation."""

from __future__ import annotations

from dataclasses import dataclass, field

from strata.host.mounts import unescape
from strata.host.proc import lines_of
from strata.model.counters import mounts
from strata.probes.port import Told

ALWAYS = ("READ", "WRITE", "COMMIT")
_MS = 1e-3
# (counter, factor) in the order after the operation's name
_FIELDS = (
    (mounts.NFS_OPERATIONS, 1.0),
    (mounts.NFS_TRANSMISSIONS, 1.0),
    (mounts.NFS_TIMEOUTS, 1.0),
    (mounts.NFS_SENT, 1.0),
    (mounts.NFS_RECEIVED, 1.0),
    (mounts.NFS_QUEUE_SECONDS, _MS),
    (mounts.NFS_RTT_SECONDS, _MS),
    (mounts.NFS_EXECUTE_SECONDS, _MS),
)
# The places of the line "bytes:".
_BYTES = tuple((direction, path) for path in ("cached", "direct", "server") for direction in ("read", "write"))


@dataclass
class NfsMount:
    """Operations by name, and the line of bytes, as the kernel printed them."""

    operations: dict[str, tuple[int, ...]] = field(default_factory=dict)
    moved: tuple[int, ...] = ()


def parse(text: str) -> dict[str, NfsMount]:
    """Every NFS mount by its mount point. Lines it does not know are passed over."""
    found: dict[str, NfsMount] = {}
    at: NfsMount | None = None
    inside = False
    for line in lines_of(text):
        if line.startswith("device "):
            # Blanks in names are escaped, other white space is not.
            words = line.split(" ")
            at, inside = None, False
            if " with fstype nfs" in line and "mounted" in words:
                at = found.setdefault(unescape(words[words.index("on") + 1]), NfsMount())
        elif at is None:
            continue
        elif line.strip() == "per-op statistics":
            inside = True
        else:
            name, _, rest = line.strip().partition(":")
            numbers = rest.split()
            if not numbers or not all(n.isdigit() for n in numbers):
                continue
            if inside:
                at.operations[name] = tuple(map(int, numbers))
            elif name == "bytes":
                at.moved = tuple(map(int, numbers))
    return found


def told(point: str, text: str) -> Told:
    """What data passes by, and every other operation that was ever asked for; nothing of a mount that is gone."""
    mount = parse(text).get(point)
    if mount is None:
        return {}
    used = {n: row for n, row in mount.operations.items() if len(row) >= 8 and (n in ALWAYS or row[0])}
    found: Told = {
        (counter, (point, name.lower())): number * factor
        for name, row in used.items()
        for (counter, factor), number in zip(_FIELDS, row, strict=False)
    }
    return found | {(mounts.NFS_BYTES, (point, *of)): n for of, n in zip(_BYTES, mount.moved, strict=False)}
