"""/proc/fs/cifs/Stats: what an SMB mount did. The kernel keeps one block for each share."""

from __future__ import annotations

import re

from strata.model.counters import mounts
from strata.probes.port import Column

_SHARE = re.compile(r"^\d+\) (\S+)")
_BYTES = re.compile(r"^Bytes read: (\d+)\s+Bytes written: (\d+)")
_COUNTS = re.compile(r"^(Reads|Writes|Flushes): (\d+) total (\d+) failed")
_SMBS = re.compile(r"^SMBs: (\d+)")
_WRAP = float(1 << 32)  # the kernel counts requests in 32 bits, bytes in 64
_WORDS = {"Reads": "read", "Writes": "write", "Flushes": "flush"}


def share(text: str, source: str) -> dict[str, float] | None:
    r"""The numbers of one share, named ``//server/share`` as it is mounted; the kernel prints ``\\server\share``."""
    wanted = source.replace("/", "\\").rstrip("\\").lower()
    found: dict[str, float] = {}
    inside = False
    for line in text.splitlines():
        if (head := _SHARE.match(line)) is not None:
            inside = head.group(1).rstrip("\\").lower() == wanted
        elif inside and (match := _SMBS.match(line)):
            found["requests"] = float(match.group(1))
        elif inside and (match := _BYTES.match(line)):
            found["read_bytes"], found["write_bytes"] = map(float, match.groups())
        elif inside and (match := _COUNTS.match(line)):
            word = _WORDS[match.group(1)]
            found[f"{word}_total"], found[f"{word}_failed"] = float(match.group(2)), float(match.group(3))
    return found or None


def columns(point: str) -> list[Column]:
    """In the order of `values`."""
    made = [Column(mounts.SMB_REQUESTS, {"mount": point}, _WRAP)]
    made += [Column(mounts.SMB_BYTES, {"mount": point, "direction": d}) for d in ("read", "write")]
    for direction in _WORDS.values():
        labels = {"mount": point, "direction": direction}
        made.append(Column(mounts.SMB_OPERATIONS, labels, _WRAP))
        made.append(Column(mounts.SMB_FAILURES, labels, _WRAP))
    return made


def values(found: dict[str, float] | None) -> list[float | None]:
    """None for what is not printed."""
    names = ["requests", "read_bytes", "write_bytes"]
    for word in _WORDS.values():
        names += [f"{word}_total", f"{word}_failed"]
    return [None if found is None else found.get(name) for name in names]
