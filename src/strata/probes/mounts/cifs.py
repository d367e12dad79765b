"""/proc/fs/cifs/Stats: what an SMB mount did. The kernel keeps one block for each share."""

from __future__ import annotations

import re

from strata.host.proc import lines_of
from strata.model.counters import mounts
from strata.probes.port import Told

_SHARE = re.compile(r"^\d+\) (\S+)")
_BYTES = re.compile(r"^Bytes read: (\d+)\s+Bytes written: (\d+)")
_COUNTS = re.compile(r"^(Reads|Writes|Flushes): (\d+) total (\d+) failed")
_SMBS = re.compile(r"^SMBs: (\d+)")
# The kernel counts requests in 32 bits, bytes in 64.
WRAPS = dict.fromkeys((mounts.SMB_REQUESTS, mounts.SMB_OPERATIONS, mounts.SMB_FAILURES), float(1 << 32))
_WORDS = {"Reads": "read", "Writes": "write", "Flushes": "flush"}


def told(point: str, source: str, text: str) -> Told:
    r"""The numbers of the share that is mounted as ``//server/share``; the kernel prints ``\\server\share``."""
    wanted = source.replace("/", "\\").rstrip("\\").lower()
    found: Told = {}
    inside = False
    for line in lines_of(text):
        if (head := _SHARE.match(line)) is not None:
            inside = head.group(1).rstrip("\\").lower() == wanted
        elif inside and (match := _SMBS.match(line)):
            found[mounts.SMB_REQUESTS, (point,)] = float(match.group(1))
        elif inside and (match := _BYTES.match(line)):
            for direction, moved in zip(("read", "write"), match.groups(), strict=True):
                found[mounts.SMB_BYTES, (point, direction)] = float(moved)
        elif inside and (match := _COUNTS.match(line)):
            of = point, _WORDS[match.group(1)]
            found[mounts.SMB_OPERATIONS, of], found[mounts.SMB_FAILURES, of] = map(float, match.groups()[1:])
    return found
