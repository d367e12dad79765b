"""Every signature is found where its format puts it, and nowhere else."""

from __future__ import annotations

import random

import pytest

from strata.host import signatures
from strata.host.mark import Mark, header_bytes

SIZE = 96 << 20
KIB = 1 << 10


def disk(places: dict[int, bytes], size: int = SIZE) -> signatures.Reader:
    """A device of zeroes with these bytes on it."""

    def read(offset: int, count: int) -> bytes:
        assert 0 <= offset < size
        out = bytearray(min(count, size - offset))
        for at, data in places.items():
            for i, byte in enumerate(data):
                if offset <= at + i < offset + len(out):
                    out[at + i - offset] = byte
        return bytes(out)

    return read


CASES = [(m.name, m.magic, o) for m in signatures.MAGICS for o in m.offsets if o < SIZE]


@pytest.mark.parametrize(("name", "magic", "offset"), CASES, ids=lambda v: str(v)[:24])
def test_each_of_the_table_is_found(name: str, magic: bytes, offset: int) -> None:
    at = SIZE + offset if offset < 0 else offset
    assert name in signatures.find(disk({at: magic}), SIZE)


@pytest.mark.parametrize("magic", [b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"])
@pytest.mark.parametrize("at", [0, 4096, SIZE - 8 * KIB, SIZE - 64 * KIB])
def test_md_at_start_and_end(magic: bytes, at: int) -> None:
    assert signatures.find(disk({at: magic}), SIZE) == ("MD RAID member",)


@pytest.mark.parametrize("label", [0, 256 * KIB, SIZE - 512 * KIB, SIZE - 256 * KIB])
def test_zfs_in_any_of_its_four_labels(label: int) -> None:
    uberblock = {label + 132 * KIB: b"\x0c\xb1\xba\x00\x00\x00\x00\x00"}
    assert signatures.find(disk(uberblock), SIZE) == ("ZFS pool member",)
    assert signatures.find(disk({label + 16 * KIB + 40: b"pool_guid"}), SIZE) == ("ZFS pool member",)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 4096, 65536, 1 << 20, SIZE])
def test_nothing_is_found_on_zeroes_of_any_size(size: int) -> None:
    assert signatures.find(disk({}, size), size) == ()


def test_our_own_file_full_of_random_data_is_not_taken_for_a_disk() -> None:
    size = 8 << 20
    content = header_bytes(Mark.new(size)) + random.Random(7).randbytes(size - 4096)
    assert signatures.find(lambda o, n: content[o : o + n], size) == ()
