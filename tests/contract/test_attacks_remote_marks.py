"""A server's volume is Strata's by a mark that states its size, and by nothing else; data is left alone."""

from __future__ import annotations

import liars
import pytest

from strata.app.safety_gate import opened
from strata.engine import claim
from strata.errors import SafetyRefusal, StrataError, UsageError
from strata.host.mark import Mark, header_bytes
from strata.host.signatures import find, in_pieces
from strata.model.endpoint import Endpoint
from strata.plan.words import workload_from_words
from strata.units import MIB

WRITES = workload_from_words("randwrite", "4k")
SIZE = 8 * MIB


def marked(states: int, size: int = SIZE) -> bytearray:
    """A volume of ``size`` bytes with a whole mark of something of ``states`` bytes."""
    return bytearray(header_bytes(Mark.new(states))) + bytearray(size - 4096)


def gate(endpoint: Endpoint, destructive: str | None = None) -> tuple[int, int]:
    """What would be written, as the gate lets it: first byte and length."""
    with opened(endpoint, WRITES, None, False, destructive) as target:
        return target.segments[0].start, target.segments[0].length


def test_a_mark_that_was_copied_to_a_larger_volume_claims_nothing() -> None:
    written: list[tuple[int, int]] = []
    with liars.liar(liars.nbd_disk(marked(2 * MIB), written)) as server:
        endpoint = Endpoint.parse(f"nbd://127.0.0.1:{server.port}/")
        assert claim(endpoint)[0] is None
        with pytest.raises(SafetyRefusal, match=r"for 2097152 bytes, but it has 8388608 \(8 MiB\): it is a copy"):
            gate(endpoint)
        with pytest.raises(UsageError, match=r"it names nbd://127\.0\.0\.1/another"):
            gate(endpoint, "nbd://127.0.0.1/another")
        assert gate(endpoint, endpoint.uri) == (0, SIZE)
    assert written == []


def test_a_mark_that_states_the_size_is_written_behind() -> None:
    with liars.liar(liars.nbd_disk(marked(SIZE), [])) as server:
        assert gate(Endpoint.parse(f"nbd://127.0.0.1:{server.port}/")) == (MIB, SIZE - MIB)


SIGNED = {
    "XFS": (0, b"XFSB"),
    "ext2/3/4": (0x438, b"\x53\xef"),
    "LVM2 physical volume": (512, b"LABELONE"),
    "LUKS": (0, b"LUKS\xba\xbe"),
    "MD RAID member": (4096, b"\xfc\x4e\x2b\xa9"),
    "swap": (4096 - 10, b"SWAPSPACE2"),
    "GPT partition table": (SIZE - 512, b"EFI PART"),
    "ZFS pool member": (SIZE - 256 * 1024 + 16 * 1024, b"pool_guid"),
}


@pytest.mark.parametrize("name", SIGNED)
def test_the_word_destructive_is_for_an_empty_volume(name: str) -> None:
    content = bytearray(SIZE)
    offset, magic = SIGNED[name]
    content[offset : offset + len(magic)] = magic
    written: list[tuple[int, int]] = []
    with liars.liar(liars.nbd_disk(content, written)) as server:
        endpoint = Endpoint.parse(f"nbd://127.0.0.1:{server.port}/")
        with pytest.raises(SafetyRefusal) as refused:
            gate(endpoint, endpoint.uri)
    assert f"it has a signature: {name}" in refused.value.problems
    assert written == []


def test_a_volume_that_cannot_be_looked_at_is_not_written_to() -> None:
    def script(peer: liars.Peer) -> None:
        liars.nbd_until_the_load(peer, SIZE)
        peer.exactly(28)

    with liars.liar(script) as server:
        endpoint = Endpoint.parse(f"nbd://127.0.0.1:{server.port}/")
        with pytest.raises(StrataError):
            gate(endpoint, endpoint.uri)


def test_looking_at_something_far_away_fetches_each_piece_once() -> None:
    content = bytes(range(256)) * (5 * MIB // 256) + b"end"
    asked: list[tuple[int, int]] = []

    def read(offset: int, count: int) -> bytes:
        asked.append((offset, count))
        assert offset + count <= len(content)
        return content[offset : offset + count]

    far = in_pieces(read, len(content))
    for offset, count in ((0, 4), (262_140, 8), (len(content) - 3, 3), (262_144, 524_288)):
        assert far(offset, count) == content[offset : offset + count]
    assert find(far, len(content)) == find(lambda at, n: content[at : at + n], len(content))
    assert len(asked) == len(set(asked)) <= 12, "a connection for each"
