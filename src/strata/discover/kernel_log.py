"""Errors of storage in the kernel's log since the start of the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from strata.host.block import BASE
from strata.host.kmsg import records
from strata.host.proc import Sys
from strata.model.hardware import KernelLog, LogLine
from strata.model.survey import Device

LINES_MOST = 20
"""Of the latest lines that are kept; all of them are counted."""
_TEXT_MOST = 240
_SIGNS = re.compile(
    r"I/O error|critical (?:medium|target|space allocation|nexus) error|lost (?:async|sync) page write"
    r"|lost page write|timeout error|protection error"
    r"|EXT4-fs (?:error|\S+ error)|JBD2: .*(?:error|abort)|XFS .*(?:[Cc]orruption|I/O [Ee]rror|shut(?:ting)? ?down)"
    r"|BTRFS (?:error|critical)|BTRFS: error|BTRFS .*(?:csum failed|bdev .* errs:)|F2FS-fs .*[Ee]rror"
    r"|nvme\S* .*(?:timeout|[Aa]bort|reset(?:ting)? controller|controller is down|failed)"
    r"|ata\d+(?:\.\d+)?: .*(?:exception|failed command|SError|hard resetting|link is slow|limiting SATA link)"
    r"|sd \S+ .*(?:FAILED|Sense Key : (?:Medium|Hardware)|timing out|offline)"
    r"|attempting task abort|device offlined|rejecting I/O to (?:offline|dead) device"
    r"|md/raid\S* .*(?:[Dd]isk failure|read error|[Oo]peration continuing)|device-mapper: .*(?:[Ff]ail|error)"
    r"|bcache: .*error|blocked for more than \d+ seconds|virtio_blk .*(?:timeout|error)"
    r"|nfs: server .* not responding|CIFS: .*(?:has not responded|reconnect)|connection\d+:\d+: detected conn error"
    r"|rbd: .*(?:error|timeout)|libceph: .*(?:socket (?:closed|error)|down)"
    r"|block nbd\d+: .*(?:timed out|[Dd]ead|shutting)"
)


def kernel_log(names: Mapping[str, str], sys: Sys) -> KernelLog:
    """``names``: every name of the devices surveyed (`names_of`). Raises `OSError` where the log may not be read."""
    count, first = 0, None
    lines: list[LogLine] = []
    ours = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?!\w)")
    for record in records(sys):
        first = record.number if first is None else first
        if _SIGNS.search(record.text) is None:
            continue
        count += 1
        named = ours.search(record.text) if names else None
        device = names[named.group(1)] if named else ""
        lines.append(LogLine(seconds=record.seconds, text=record.text[:_TEXT_MOST], device=device))
        if len(lines) > LINES_MOST:
            # The last ones stay, and those of the devices surveyed before others.
            lines.pop(next((i for i, line in enumerate(lines) if not line.device), 0))
    return KernelLog(count=count, whole=first in (0, None), lines=tuple(lines))


def names_of(devices: Iterable[Device], sys: Sys) -> dict[str, str]:
    """What the kernel calls each device in its log -> its name: its port (``ata1``), its address, its controller."""
    found: dict[str, str] = {}
    for device in devices:
        place = sys.real(f"{BASE}/{device.name}") or ""
        aliases = {device.name, device.detail.get("dm_name", "")}
        aliases |= set(re.findall(r"/(ata\d+|\d+:\d+:\d+:\d+|nvme\d+)/", f"{place}/"))
        found |= {alias: device.name for alias in aliases if alias and alias not in found}
    return found
