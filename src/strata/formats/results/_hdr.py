"""HdrHistogram's payloads of version 2, of any precision: base64, deflated or not.

Head: cookie, length, offset of normalization, significant digits (u32 each), least and most value (u64), ratio (f64).
Then counts as zigzag LEB128, a negative one being a run of empty buckets. `strata.model.histogram` reads one precision
only.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator

from strata.formats.results.source import Misread
from strata.parsing import inflate

_HEAD = struct.Struct(">IIIIqqd")
_PLAIN, _DEFLATED = 0x1C849303, 0x1C849304
_WORD_SIZE = 0xF0
"""Bits of a cookie that say the size of a count."""
_INFLATED_MOST = 8 << 20
_MOST = 1 << 63


def buckets(payload: str) -> tuple[int, list[tuple[int, int, int]]]:
    """(significant digits, (least, most, count) of each bucket that is not empty). Raises `Misread`, `Malformed`."""
    try:
        raw = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError) as e:
        raise Misread(f"a histogram is not base64: {e}") from e
    if len(raw) > 8 and int.from_bytes(raw[:4], "big") & ~_WORD_SIZE == _DEFLATED:
        raw = inflate(raw[8:], _INFLATED_MOST)
    if len(raw) < _HEAD.size:
        raise Misread("a histogram is shorter than its head")
    cookie, length, offset, digits, least, _, ratio = _HEAD.unpack_from(raw)
    if cookie & ~_WORD_SIZE != _PLAIN:
        raise Misread("a histogram is not of version 2: write the log again with HdrHistogram 2.1.5 or later")
    if offset or not 0 <= digits <= 5 or not 1 <= least < _MOST or ratio != 1.0 or length != len(raw) - _HEAD.size:
        raise Misread("the head of a histogram is damaged, or of a kind that is not read")
    half = max(1, (2 * 10**digits - 1).bit_length()) - 1
    unit = least.bit_length() - 1
    found: list[tuple[int, int, int]] = []
    for index, count in _counts(raw[_HEAD.size :]):
        bucket, sub = (index >> half) - 1, (index & ((1 << half) - 1)) + (1 << half)
        if bucket < 0:
            bucket, sub = 0, sub - (1 << half)
        if sub.bit_length() + bucket + unit > 63:
            raise Misread("a histogram has a value of more than 63 bits")
        low = sub << (bucket + unit)
        found.append((low, low + (1 << (bucket + unit)) - 1, count))
    return digits, found


def _counts(packed: bytes) -> Iterator[tuple[int, int]]:
    """(index, count) of those that are not 0."""
    index, value, shift = 0, 0, 0
    for byte in packed:
        # Eight groups of seven bits, and a last one of eight.
        last = shift == 56
        value |= (byte if last else byte & 0x7F) << shift
        if byte & 0x80 and not last:
            shift += 7
            continue
        count = (value >> 1) ^ -(value & 1)
        if count > 0:
            yield index, count
        index += max(1, -count)
        if index > _MOST:
            raise Misread("a histogram has more buckets than there are values")
        value = shift = 0
    if shift:
        raise Misread("a histogram breaks off")
