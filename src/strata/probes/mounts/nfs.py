"""/proc/self/mountstats: what an NFS mount did, by operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.host.mounts import unescape
from strata.model.counters import mounts
from strata.probes.port import Column

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
_BYTES = (("cached", "read", 0), ("cached", "write", 1), ("direct", "read", 2), ("direct", "write", 3))
_SERVER = (("server", "read", 4), ("server", "write", 5))


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
    for line in text.splitlines():
        if line.startswith("device "):
            words = line.split()
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


def used(mount: NfsMount) -> tuple[str, ...]:
    """What data passes by, and every other operation that was ever asked for."""
    return tuple(n for n, row in mount.operations.items() if len(row) >= 8 and (n in ALWAYS or row[0]))


def columns(point: str, operations: Sequence[str]) -> list[Column]:
    """In the order of `values`."""
    made = [
        Column(counter, {"mount": point, "operation": name.lower()}) for name in operations for counter, _ in _FIELDS
    ]
    return made + [
        Column(mounts.NFS_BYTES, {"mount": point, "path": path, "direction": direction})
        for path, direction, _ in (*_BYTES, *_SERVER)
    ]


def values(mount: NfsMount | None, operations: Sequence[str]) -> list[float | None]:
    """None for all of a mount that is gone."""
    if mount is None:
        return [None] * (len(operations) * len(_FIELDS) + len(_BYTES) + len(_SERVER))
    found: list[float | None] = []
    for name in operations:
        row = mount.operations.get(name, ())
        found += [row[at] * factor if at < len(row) else None for at, (_, factor) in enumerate(_FIELDS)]
    return found + [mount.moved[at] if at < len(mount.moved) else None for _, _, at in (*_BYTES, *_SERVER)]
