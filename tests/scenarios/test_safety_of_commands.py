"""What a user could type by mistake: refused with exit 5 (or 1) before a byte is written."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from commands import started

QUICK = ("--runtime", "200ms", "--ramp-time", "50ms", "--progress", "none")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "database.mdf"
    path.write_bytes(os.urandom(1 << 20))
    return path


@pytest.mark.parametrize("rw", ["write", "randwrite", "randrw"])
def test_a_file_without_our_mark_is_not_written(strata, foreign: Path, rw: str) -> None:
    before = digest(foreign)
    done = strata("measure", f"file:{foreign}", "--rw", rw, *QUICK)
    assert done.returncode == 5, done.stderr
    assert "hint:" in done.stderr
    assert str(foreign) in done.stderr
    assert digest(foreign) == before


@pytest.mark.parametrize("link", ["symlink", "hardlink"])
def test_a_link_to_it_is_not_written_either(strata, foreign: Path, tmp_path: Path, link: str) -> None:
    alias = tmp_path / "alias.dat"
    (alias.symlink_to if link == "symlink" else alias.hardlink_to)(foreign)
    before = digest(foreign)
    assert strata("measure", f"file:{alias}", "--rw", "randwrite", *QUICK).returncode == 5
    assert digest(foreign) == before


def test_a_directory_is_not_a_test_file(strata, tmp_path: Path) -> None:
    assert strata("measure", f"file:{tmp_path}", "--rw", "randwrite", *QUICK).returncode == 5


def test_reading_a_foreign_file_is_allowed_and_leaves_it_alone(strata, foreign: Path) -> None:
    before = digest(foreign)
    done = strata("measure", f"file:{foreign}", "--rw", "randread", *QUICK)
    assert done.returncode == 0, done.stderr
    assert digest(foreign) == before


def test_a_device_is_not_written_without_its_name_typed_again(strata) -> None:
    device = subprocess.run(
        ["findmnt", "-no", "SOURCE", "/"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not device.startswith("/dev/"):
        pytest.skip("the root file system is on no block device")
    assert strata("measure", f"block:{device}", "--rw", "randwrite", *QUICK).returncode == 5
    assert (
        strata("measure", f"block:{device}", "--rw", "randwrite", "--destructive", "/dev/other", *QUICK).returncode == 5
    )
    done = strata("measure", f"block:{device}", "--rw", "randwrite", "--destructive", device, *QUICK)
    assert done.returncode == 5
    assert "mounted" in done.stderr


def test_a_foreign_export_is_not_written(strata, tmp_path: Path) -> None:
    """Our own server over a file without a mark: it serves read-only, and the client refuses as well."""
    image = tmp_path / "image.raw"
    image.write_bytes(os.urandom(4 << 20))
    before = digest(image)
    socket = tmp_path / "s"
    assert strata("target", "--file", image, "--writable", "--socket", socket).returncode == 5
    server = started("target", "--file", image, "--socket", socket)
    try:
        assert server.stderr is not None
        while "serving" not in server.stderr.readline():
            assert server.poll() is None
        uri = f"nbd+unix:///?socket={socket}"
        assert strata("measure", uri, "--rw", "randread", *QUICK).returncode == 0
        assert strata("measure", uri, "--rw", "randwrite", *QUICK).returncode == 5
    finally:
        server.terminate()
        server.wait(20)
    assert digest(image) == before


def test_a_report_does_not_overwrite_what_is_not_ours(strata, foreign: Path, tmp_path: Path) -> None:
    before = digest(foreign)
    done = strata("diagnose", tmp_path, "--html", foreign)
    assert done.returncode == 5
    assert digest(foreign) == before
    assert list(tmp_path.glob("strata-*.dat")) == []


def test_a_diagnosis_of_a_foreign_file_is_refused(strata, foreign: Path) -> None:
    before = digest(foreign)
    assert strata("diagnose", foreign).returncode == 5
    assert digest(foreign) == before


def test_a_dry_run_writes_nothing(strata, tmp_path: Path) -> None:
    done = strata("plan", tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_words_are_usage_errors(strata, tmp_path: Path) -> None:
    for words in (
        ("measure", "file:/x", "--bs", "4kB"),
        ("measure", "floppy:/x"),
        ("measure", "null:", "--rw", "sideways"),
        ("diagnose", "--demo", "nonsense"),
        ("diagnose", tmp_path, "--layers", "nonsense"),
        ("diagnose", tmp_path / "missing"),
        ("nonsense",),
        ("measure",),
    ):
        done = strata(*words)
        assert done.returncode == 2, (words, done.stderr)
        assert "Traceback" not in done.stderr
