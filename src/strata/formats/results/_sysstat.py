"""What the outputs of sysstat (iostat, sar, sadf) have in common: the units of their columns, and their times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

UNITS = {
    "r/s": "I/O/s", "w/s": "I/O/s", "d/s": "I/O/s", "f/s": "I/O/s", "tps": "I/O/s", "rtps": "I/O/s", "wtps": "I/O/s",
    "rkB/s": "KiB/s", "wkB/s": "KiB/s", "dkB/s": "KiB/s", "kB_read/s": "KiB/s", "kB_wrtn/s": "KiB/s",
    "kB_dscd/s": "KiB/s", "rMB/s": "MiB/s", "wMB/s": "MiB/s", "dMB/s": "MiB/s", "MB_read/s": "MiB/s",
    "MB_wrtn/s": "MiB/s", "MB_dscd/s": "MiB/s", "rsec/s": "sectors/s", "wsec/s": "sectors/s", "rd_sec/s": "sectors/s",
    "wr_sec/s": "sectors/s", "rd_sec": "sectors/s", "wr_sec": "sectors/s", "dc_sec": "sectors/s", "rkB": "KiB/s",
    "wkB": "KiB/s", "dkB": "KiB/s", "Blk_read/s": "sectors/s", "Blk_wrtn/s": "sectors/s", "kB_read": "KiB",
    "kB_wrtn": "KiB", "kB_dscd": "KiB", "MB_read": "MiB", "MB_wrtn": "MiB", "MB_dscd": "MiB",
    "rrqm/s": "requests/s", "wrqm/s": "requests/s", "drqm/s": "requests/s", "await": "ms", "r_await": "ms",
    "w_await": "ms", "d_await": "ms", "f_await": "ms", "svctm": "ms", "avgrq-sz": "sectors", "areq-sz": "KiB",
    "rareq-sz": "KiB", "wareq-sz": "KiB", "dareq-sz": "KiB", "avgqu-sz": "requests", "aqu-sz": "requests",
    "rB/s": "B/s", "wB/s": "B/s", "rops/s": "I/O/s", "wops/s": "I/O/s", "fo/s": "files/s", "fc/s": "files/s",
    "fd/s": "files/s", "rrqm": "%", "wrqm": "%", "drqm": "%", "util": "%", "util-percent": "%",
}  # fmt: skip
"""Of disks, and of shares (cifsiostat). ``kB`` and ``MB`` are 2^10 and 2^20 bytes to sysstat."""
HEAD = re.compile(r"^Linux (\S+) \(([^)]{0,256})\)\s+(\S+)")
"""The first line: kernel, host and date."""
_NUMBER = re.compile(r"-?\d{1,15}(?:[.,]\d{1,9})?")


def unit_of(column: str) -> str | None:
    """The unit of a column of disks or CPUs; None for what is not known."""
    if column in UNITS:
        return UNITS[column]
    return "%" if column.startswith("%") else None


def value_of(text: str) -> float | None:
    """A number with a point or a comma; None for what is none."""
    word = text.strip().removesuffix("%")
    return float(word.replace(",", ".")) if _NUMBER.fullmatch(word) else None


_DATES = ("%Y-%m-%d", "%m/%d/%y", "%m/%d/%Y", "%d.%m.%Y")


def date_of(text: str) -> datetime | None:
    """A day as sysstat writes it: ISO, or the month first. A day before the month is taken only with points."""
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s*([AP]M))?")


def time_of(text: str) -> timedelta | None:
    """``13:53:45``, ``01:53:45 PM``."""
    found = _TIME.fullmatch(text.strip())
    if found is None or int(found[1]) > 24 or int(found[2]) > 59 or int(found[3]) > 60:
        return None
    hours = int(found[1])
    if found[4]:
        hours = hours % 12 + (12 if found[4] == "PM" else 0)
    return timedelta(hours=hours, minutes=int(found[2]), seconds=int(found[3]))


def moment_of(text: str) -> datetime | None:
    """``2026-11-23T13:53:39+0000``, ``11/23/26 13:53:41``, ``11/23/2026 01:53:41 PM``; without a zone it is UTC."""
    word = text.strip()
    try:
        found = datetime.fromisoformat(word)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except ValueError:
        pass
    day, _, clock = word.partition(" ")
    date, time = date_of(day), time_of(clock)
    return None if date is None or time is None else date + time


def ns_of(moment: datetime) -> int:
    """ns since the epoch, never before it."""
    return max(0, round(moment.timestamp() * 1000)) * 1_000_000
