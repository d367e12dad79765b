"""Distributions from a store, which anybody may have changed; the format is HdrHistogram's, the reader is ours."""

from __future__ import annotations

import base64
import os
import struct
import zlib

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from strata.errors import RunFailed
from strata.model import histogram

HEAD = struct.Struct(">IIIIQQd")
V2, COMPRESSED_V2 = 0x1C849313, 0x1C849314
HOUR_NS = 3_600_000_000_000


def payload(counts: bytes, length: int | None = None, digits: int = 3, highest: int = HOUR_NS) -> str:
    head = HEAD.pack(V2, len(counts) if length is None else length, 0, digits, 1, highest, 1.0)
    return base64.b64encode(head + counts).decode()


def theirs(text: str) -> HdrHistogram:
    packed = zlib.compress(base64.b64decode(text))
    return HdrHistogram.decode(base64.b64encode(struct.pack(">II", COMPRESSED_V2, len(packed)) + packed))


# The other implementation looks at each of its 33,000 counters: an example takes it a tenth of a second.
@pytest.mark.ci
@settings(max_examples=100 if os.environ.get("STRATA_SUITE") == "whole" else 25)
@given(st.dictionaries(st.integers(1, HOUR_NS), st.integers(1, 1000), min_size=1, max_size=40))
def test_another_implementation_reads_ours(bins: dict[int, int]) -> None:
    made = histogram.from_bins(bins)
    read = [(i.value_iterated_to, i.count_added_in_this_iter_step) for i in theirs(made).get_recorded_iterator()]
    edges, counts = histogram.decode(made)
    # The last bucket ends at the hour, beyond which nothing is told apart.
    assert [(min(value, HOUR_NS), count) for value, count in read] == list(zip(edges, counts, strict=True))


@pytest.mark.parametrize(
    "text",
    ["", "!", base64.b64encode(b"short").decode(), payload(b"\x02", length=0xFFFFFFFF), payload(b"\x80" * 12),
     payload(b"\x01" * 9 + b"\x02"), payload(b"\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x02")],
    ids=["nothing", "no base64", "no head", "4 GiB that are not there", "no end", "empty space", "beyond the range"],
)  # fmt: skip
def test_what_is_no_distribution_is_refused_or_empty(text: str) -> None:
    try:
        assert histogram.total(text) <= 1
    except RunFailed as e:
        assert "cannot read a distribution" in str(e)


def test_a_header_cannot_ask_for_memory() -> None:
    """`hdrh` makes as many counters as the header says (49 MB for these 42 bytes); ours knows one layout."""
    text = payload(b"\x02\x02", digits=5, highest=1 << 62)
    assert theirs(text).counts_len == 6_160_384
    with pytest.raises(RunFailed, match="5 digits"):
        histogram.decode(text)
