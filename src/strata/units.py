"""The one place where numbers get units.

Inside Strata sizes are bytes, times are nanoseconds, shares are 0..1. Binary and decimal units are never
mixed: KiB/MiB/GiB are 2^10/2^20/2^30. Bare k/m/g follow fio and mean the binary unit; kB/MB/GB are
ambiguous between tools (fio reads them as binary, disk makers as decimal) and are refused with a hint. In a rate that a
specification states (``180MB/s``) they are what its makers mean: decimal.
"""

from __future__ import annotations

import math
import re

from strata.errors import UsageError

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
NS_PER_US, NS_PER_MS, NS_PER_S = 1_000, 1_000_000, 1_000_000_000
MOST = 1 << 63
"""Bytes and nanoseconds are kept in signed words of 64 bits."""

BY_LETTER = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": TIB}
"""Binary, as fio and diskspd have it."""
_BINARY = BY_LETTER | {"kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB}
_TIMES_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": NS_PER_S, "": NS_PER_S}
_TIMES_NS |= {"m": 60 * NS_PER_S, "min": 60 * NS_PER_S, "h": 3600 * NS_PER_S}
_RATES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_NUMBER = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*$")


def exact_size(size: int) -> str:
    """``8k``, ``1536b``: bytes without rounding, for names."""
    for unit, factor in (("g", GIB), ("m", MIB), ("k", KIB)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}b"


def parse_size(text: str | int) -> int:
    """Bytes from ``4096``, ``4k``, ``4KiB``, ``1.5GiB``. Raises `UsageError` on anything else."""
    if isinstance(text, int):
        return text
    match = _NUMBER.match(text)
    if match is None:
        raise UsageError("cannot read the size", repr(text), "it is not a number with a unit", "write 4k or 4KiB")
    number, unit = match.groups()
    if unit.lower() in ("kb", "mb", "gb", "tb"):
        better = f"{number}{unit[0].upper()}iB"
        raise UsageError(
            "cannot read the size",
            repr(text),
            f"{unit} is 1000-based to some tools and 1024-based to others",
            f"write {better} (binary) or the plain number of bytes",
        )
    if unit.lower() not in _BINARY:
        raise UsageError("cannot read the size", repr(text), f"unknown unit {unit!r}", "write 4k or 4KiB")
    value = float(number) * _BINARY[unit.lower()]
    if value >= MOST:
        raise UsageError("cannot read the size", repr(text), "it is more than 8 EiB")
    if value != int(value):
        raise UsageError("cannot read the size", repr(text), "it is not a whole number of bytes")
    return int(value)


def parse_duration_ns(text: str | int | float) -> int:
    """Nanoseconds from ``2`` (seconds), ``500ms``, ``20us``, ``5m``. Raises `UsageError`."""
    if isinstance(text, (int, float)):
        value = text * NS_PER_S
    else:
        match = _NUMBER.match(text)
        if match is None or match.group(2).lower() not in _TIMES_NS:
            raise UsageError(
                "cannot read the time", repr(text), "it is not a number with a unit", "write 2s, 500ms or 5m"
            )
        value = float(match.group(1)) * _TIMES_NS[match.group(2).lower()]
    if not abs(value) < MOST:
        raise UsageError("cannot read the time", repr(text), "it is more than 292 years")
    return round(value)


def parse_rate(text: str) -> float:
    """Bytes per second from ``180MB/s`` (10^6, as specifications mean it) or ``170MiB/s``. Raises `UsageError`."""
    match = _NUMBER.match(text.removesuffix("/s"))
    if match is None or not text.endswith("/s") or match.group(2) not in _RATES:
        raise UsageError(
            "cannot read the rate", repr(text), "it is not a number of bytes per second", "write 180MB/s or 170MiB/s"
        )
    return float(match.group(1)) * _RATES[match.group(2)]


def parse_share(text: str) -> float:
    """0.05 from ``5%``, ``5 %`` or ``0.05``. Raises `UsageError`, also for what is not between 0 and 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest.strip() or not 0 <= value < 1:
        raise UsageError("cannot read the share", repr(text), "it is not between 0 and 100 %", "write 5% or 0.05")
    return value


def size(value: float) -> str:
    """``4 KiB``, ``1.5 GiB``: bytes for people, binary units, at most three digits."""
    for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(value) >= factor:
            scaled = value / factor
            return f"{scaled:.0f} {unit}" if scaled == int(scaled) else f"{significant(scaled)} {unit}"
    return f"{value:.0f} B"


def rate(bytes_per_second: float) -> str:
    """``312 MiB/s``."""
    return f"{size(bytes_per_second)}/s" if bytes_per_second >= MIB else f"{significant(bytes_per_second / KIB)} KiB/s"


def bit_rate(bits_per_second: float) -> str:
    """``25 Gbit/s``: of links, which are named in powers of ten."""
    for unit, factor in (("Gbit/s", 10**9), ("Mbit/s", 10**6)):
        if bits_per_second >= factor:
            scaled = bits_per_second / factor
            return f"{scaled:.0f} {unit}" if scaled == int(scaled) else f"{significant(scaled)} {unit}"
    return f"{bits_per_second:.0f} bit/s"


def count(value: float) -> str:
    """``19 906``: thousands set apart by a narrow space; a fraction below 100 has three significant digits.

    An ``int`` was counted, so it is written whole: 7 errors, not 7.00.
    """
    if abs(value) < 100 and not isinstance(value, int):
        return significant(value)
    return f"{value:,.0f}".replace(",", "\u202f")


def plural(n: float, word: str) -> str:
    """``1 cell``, ``3 cells``, ``1.5 CPUs``."""
    said = f"{n:g}" if isinstance(n, float) else n
    return f"{said} {word}" if n == 1 else f"{said} {word}s"


def duration(ns: float) -> str:
    """``412 ns``, ``64.1 µs``, ``2.05 ms``, ``1.5 s``, ``2 min 5 s``."""
    for unit, factor in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if abs(ns) < factor * 999.5:
            return f"{significant(ns / factor)} {unit}"
    seconds = ns / NS_PER_S
    if seconds < 119.5:
        return f"{significant(seconds)} s"
    # Rounded before it is split: 179.7 s are 3 min 0 s, not 2 min 60 s.
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def percent(share: float, digits: int = 3) -> str:
    """``5.3 %`` from 0.053."""
    return f"{significant(share * 100, digits)} %"


def span(low: str, high: str) -> str:
    """``760–870 IOPS`` from ``760 IOPS`` and ``870 IOPS``: a unit that both share is said once."""
    number, _, unit = low.rpartition(" ")
    return f"{number}–{high}" if number and high.endswith(f" {unit}") else f"{low}–{high}"


def significant(value: float, digits: int = 3) -> str:
    """``value`` to ``digits`` significant digits, never in exponent form, trailing zeros of a fraction kept."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    # Of the rounded value: 99.98 is 100, not 100.0.
    decimals = max(0, digits - 1 - int(f"{value:.{digits - 1}e}".rpartition("e")[2]))
    return f"{value:.{min(decimals, 6)}f}"
