"""Archives as attacks: sizes, numbers, depth, names, links, damage. What they hold is read as if it lay in a folder."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from strata.host import archives
from strata.parsing import Malformed


def unpacked(content: bytes, allowed: archives.Allowance | None = None) -> list[tuple[str, bytes | str]]:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        kind = archives.kind_of(file.fileno())
        assert kind is not None
        found = archives.members(file.fileno(), kind, allowed or archives.Allowance())
        return [(n, m if isinstance(m, str) else os.pread(m, 1 << 20, 0)) for n, m in found]


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


FORMS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "pax": tarred,
    "gnu": lambda files: tarred(files, tarfile.GNU_FORMAT),
}
NAMES = st.lists(st.text("abé-", min_size=1, max_size=60), min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30, deadline=None)
@given(files=st.dictionaries(NAMES, st.binary(max_size=3000), min_size=1, max_size=5))
def test_what_was_packed_comes_out(form: str, files: dict[str, bytes]) -> None:
    assert unpacked(FORMS[form](files)) == list(files.items())


@pytest.mark.parametrize("packer", [gzip, bz2, lzma, zstd])
@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=5000), min_size=1, max_size=4), st.integers(0, 50), st.integers(1, 10))
def test_one_file_in_several_parts_with_padding(packer: Any, parts: list[bytes], zeros: int, cut: int) -> None:
    packed = b"".join(map(packer.compress, parts))
    assert unpacked(packed + bytes(zeros)) == [("", b"".join(parts))]
    with pytest.raises(Malformed, match="damaged"):
        # Some of its last part, and of its head what tells its kind.
        unpacked(packed[: -min(cut, len(packer.compress(parts[-1])) - 6)])


@pytest.mark.parametrize("packer", [bz2, lzma, zstd])
@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_damaged_stream_is_read_or_refused(packer: Any, data: st.DataObject) -> None:
    content = bytearray(packer.compress(bytes(range(256)) * 20))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(6, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        unpacked(bytes(content))
    except Malformed as e:
        assert str(e)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(
        FORMS[data.draw(st.sampled_from(sorted(FORMS)))]({"a/b.txt": b"1" * 700, "c": bytes(range(256))})
    )
    kept = bytes(content[257:262])
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(6, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    if kept == b"ustar":
        content[257:262] = kept
    try:
        unpacked(bytes(content))
    except Malformed as e:
        assert str(e)


def test_names_lead_nowhere_and_links_are_passed_over() -> None:
    files = {"../../etc/passwd": b"1", "/etc/shadow": b"2", ".hidden": b"3", "a/.b/c": b"4", "\x1b[31m": b"5"}
    for form in FORMS.values():
        assert [content for _, content in unpacked(form(files))] == [b"1", b"2", b"5"]
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("x")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert unpacked(made.getvalue()) == []
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        link = zipfile.ZipInfo("x")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    assert unpacked(made.getvalue()) == []


def test_sizes_and_numbers_are_bounded() -> None:
    many = {f"f{n}": b"" for n in range(50)}
    for form in FORMS.values():
        with pytest.raises(Malformed, match="files: unpack it and import a part"):
            unpacked(form(many), archives.Allowance(members=20))
    bomb = bytes(20_000_000)
    for content in (
        gzip.compress(bomb),
        bz2.compress(bomb),
        lzma.compress(bomb),
        zstd.compress(bomb),
        zipped({"a": bomb}),
        tarred({"a": bomb}),
    ):
        with pytest.raises(Malformed, match="unpacks to more than"):
            unpacked(content, archives.Allowance(unpacked=10_000_000))


def test_a_directory_of_a_zip_that_would_fill_the_memory_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBERS_MOST", 20)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    made = b"PK\x03\x04" + b"PK\x01\x02".ljust(46, b"\0") * 41
    with pytest.raises(Malformed, match="more than 20 files"):
        unpacked(made)


def test_one_broken_file_costs_no_other() -> None:
    content = bytearray(zipped({"a": os.urandom(3000), "b": b"fine"}))
    content[200:203] = bytes(byte ^ 255 for byte in content[200:203])
    (first, why), second = unpacked(bytes(content))
    assert (first, second) == ("a", ("b", b"fine"))
    assert "damaged in the archive" in str(why)


@pytest.mark.parametrize("name", ["RAR", "LZ4", "7-Zip"])
def test_what_is_not_unpacked_is_named(name: str) -> None:
    mark = {"RAR": b"Rar!", "LZ4": b"\x04\x22\x4d\x18", "7-Zip": b"7z\xbc\xaf\x27\x1c"}[name]
    with pytest.raises(Malformed, match=f"packed with {name}, which is not unpacked here"):
        unpacked(mark + bytes(600))


def test_what_looks_back_over_more_than_is_allowed_is_refused() -> None:
    options = {zstd.CompressionParameter.window_log: 28, zstd.CompressionParameter.enable_long_distance_matching: 1}
    maker = zstd.ZstdCompressor(options=options)
    with pytest.raises(Malformed, match="damaged"):
        unpacked(maker.compress(b"a" * 1000) + maker.flush())


def test_a_frame_of_zstd_that_holds_no_data_is_passed_over() -> None:
    """As pzstd writes them between its frames."""
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert unpacked(zstd.compress(b"one") + skipped + zstd.compress(b"two")) == [("", b"onetwo")]


def test_a_file_of_a_zip_without_a_name_is_passed_over() -> None:
    content = zipped({"a": b"1", "bb": b"2"})
    assert unpacked(content.replace(b"a", b"\0")) == [("bb", b"2")]
