"""Is there something on these bytes? The magic numbers of partition tables, file systems, volume managers and arrays.

Strata refuses to write where any of them stands, so a false alarm costs a hint and a miss costs somebody's data:
when in doubt this says yes. Offsets from the public on-disk formats; negative ones count from the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from strata.units import GIB, KIB, MIB

Reader = Callable[[int, int], bytes]
_SECTORS = (512, 4096)
_PAGES = (4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB)


@dataclass(frozen=True)
class Magic:
    """``magic`` at any of ``offsets`` means ``name``."""

    name: str
    magic: bytes
    offsets: tuple[int, ...]


MAGICS: tuple[Magic, ...] = (
    Magic("MBR partition table or boot sector", b"\x55\xaa", (510,)),
    Magic("GPT partition table", b"EFI PART", (*_SECTORS, -512, -4096)),
    Magic("Apple partition map", b"PM\x00\x00", _SECTORS),
    Magic("Sun disk label", b"\xda\xbe", (508,)),
    Magic("BSD disk label", b"\x57\x45\x56\x82", (0, 64, 512)),
    Magic("ext2/3/4", b"\x53\xef", (0x438,)),
    Magic("XFS", b"XFSB", (0,)),
    Magic("btrfs", b"_BHRfS_M", (64 * KIB + 0x40, 64 * MIB + 0x40, 256 * GIB + 0x40)),
    Magic("LVM2 physical volume", b"LABELONE", (0, 512, 1024, 1536)),
    Magic("LVM snapshot store", b"SnAp", (0,)),
    Magic("LUKS", b"LUKS\xba\xbe", (0,)),
    Magic("LUKS (second header)", b"SKUL\xba\xbe", tuple(16 * KIB << n for n in range(9))),
    Magic("BitLocker", b"-FVE-FS-", (3,)),
    Magic("swap", b"SWAPSPACE2", tuple(p - 10 for p in _PAGES)),
    Magic("swap", b"SWAP-SPACE", tuple(p - 10 for p in _PAGES)),
    Magic("hibernation image", b"S1SUSPEND", tuple(p - 10 for p in _PAGES)),
    Magic("hibernation image", b"S2SUSPEND", tuple(p - 10 for p in _PAGES)),
    Magic("hibernation image", b"LINHIB0001", tuple(p - 10 for p in _PAGES)),
    Magic("NTFS", b"NTFS    ", (3,)),
    Magic("exFAT", b"EXFAT   ", (3,)),
    Magic("ReFS", b"ReFS", (3,)),
    Magic("FAT", b"FAT12   ", (0x36,)),
    Magic("FAT", b"FAT16   ", (0x36,)),
    Magic("FAT", b"FAT32   ", (0x52,)),
    Magic("bcache", bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"), (4096 + 24,)),
    Magic("bcachefs", bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef"), (4096 + 24,)),
    Magic("Ceph BlueStore", b"bluestore block device", (0,)),
    Magic("VMFS volume", b"\x0d\xd0\x01\xc0", (MIB,)),
    Magic("VMFS", b"\x5e\xf1\xab\x2f", (2 * MIB,)),
    Magic("F2FS", b"\x10\x20\xf5\xf2", (1024,)),
    Magic("NILFS2", b"\x34\x34", (0x406,)),
    Magic("JFS", b"JFS1", (32 * KIB,)),
    Magic("ReiserFS", b"ReIsEr", (0x2034, 0x10034)),
    Magic("GFS2", b"\x01\x16\x19\x70", (64 * KIB,)),
    Magic("OCFS2", b"OCFSV2", (1024, 2048, 4096, 8192)),
    Magic("HFS+", b"H+\x00\x04", (1024,)),
    Magic("HFS+", b"HX\x00\x05", (1024,)),
    Magic("HFS", b"BD", (1024,)),
    Magic("APFS", b"NXSB", (32,)),
    Magic("ISO 9660", b"CD001", (32 * KIB + 1,)),
    Magic("UDF", b"BEA01", (32 * KIB + 1,)),
    Magic("UDF", b"NSR0", (34 * KIB + 1, 36 * KIB + 1)),
    Magic("squashfs", b"hsqs", (0,)),
    Magic("EROFS", b"\xe2\xe1\xf5\xe0", (1024,)),
    Magic("Oracle ASM disk", b"ORCLDISK", (32,)),
    Magic("Stratis", b"!Stra0tis\x86\xff\x02", (512 + 4, 4096 + 512 + 4)),
    Magic("VDO", b"dmvdo001", (0,)),
    Magic("dm-integrity", b"integrt\x00", (0,)),
    Magic("dm-verity", b"verity\x00\x00", (0,)),
    Magic("DDF RAID member", b"\xde\x11\xde\x11", (-512,)),
    Magic("Intel RAID member", b"Intel Raid ISM Cfg Sig. ", (-1024,)),
    Magic("DRBD", b"\x83\x74\x02", (-4096 + 60,)),
    Magic("QCOW image", b"QFI\xfb", (0,)),
    Magic("VMDK image", b"KDMV", (0,)),
    Magic("VHDX image", b"vhdxfile", (0,)),
    Magic("VHD image", b"conectix", (0, -512)),
)

_MD = (b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc")
_ZFS_UBERBLOCK = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")


def find(read: Reader, size: int) -> tuple[str, ...]:
    """The names of everything recognised, in the order of the table. Raises `OSError` when a place cannot be read."""
    found = [m.name for m in MAGICS if any(_at(read, size, o, m.magic) for o in m.offsets)]
    if any(_at(read, size, o, magic) for o in _md_offsets(size) for magic in _MD):
        found.append("MD RAID member")
    if any(_is_zfs_label(read(o, 256 * KIB)) for o in _zfs_labels(size)):
        found.append("ZFS pool member")
    return tuple(dict.fromkeys(found))


def find_fd(fd: int, size: int) -> tuple[str, ...]:
    """As `find`, on an open file or device."""
    return find(lambda offset, count: os.pread(fd, count, offset), size)


_PIECE = 256 * KIB


def in_pieces(read: Reader, size: int) -> Reader:
    """``read`` for something far away: whole pieces, each fetched once. Nothing is asked for beyond ``size``."""
    pieces: dict[int, bytes] = {}

    def piece(number: int) -> bytes:
        if number not in pieces:
            start = number * _PIECE
            pieces[number] = read(start, min(_PIECE, size - start))
        return pieces[number]

    def by_pieces(offset: int, count: int) -> bytes:
        end = min(offset + count, size)
        first, last = offset // _PIECE, max(offset, end - 1) // _PIECE
        whole = b"".join(piece(number) for number in range(first, last + 1))
        return whole[offset - first * _PIECE : end - first * _PIECE]

    return by_pieces


def _at(read: Reader, size: int, offset: int, magic: bytes) -> bool:
    start = size + offset if offset < 0 else offset
    return 0 <= start <= size - len(magic) and read(start, len(magic)) == magic


def _md_offsets(size: int) -> Iterator[int]:
    """MD 1.1, 1.2, 1.0 (8 KiB before the end, at a multiple of 4 KiB), 0.90 (64 KiB before, of 64 KiB)."""
    yield from (0, 4096, ((size // 512 - 16) & ~7) * 512, (size & ~0xFFFF) - 0x10000)


def _zfs_labels(size: int) -> Iterator[int]:
    """Two labels of 256 KiB at the start, two at the end of the size rounded down to 256 KiB."""
    end = size & ~(256 * KIB - 1)
    yield from (o for o in (0, 256 * KIB, end - 512 * KIB, end - 256 * KIB) if 0 <= o < size)


def _is_zfs_label(label: bytes) -> bool:
    """A ring of uberblocks fills the second half, one at each KiB; the pool's description lies before it."""
    ring = any(label[o : o + 8] in _ZFS_UBERBLOCK for o in range(128 * KIB, len(label), KIB))
    return ring or b"pool_guid" in label[16 * KIB : 128 * KIB]
