"""What `strata verify` refuses, leaves behind and says, in this process."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
from pathlib import Path

import pytest
from invoked import printed

from strata import units
from strata.app.target import planted
from strata.app.verify import VerifyOptions, verify_endpoint
from strata.cli.verify import Written
from strata.cli.verify import verify as command
from strata.errors import SafetyRefusal, StrataError, UsageError
from strata.host import testfile
from strata.host.mark import read_mark
from strata.model.progress import Progress
from strata.model.verify import FaultKind, Integrity, Verified, VerifyResult, judge
from strata.model.verify_defaults import SECTOR_BYTES
from strata.model.workload_options import NEW_FILE_BYTES
from strata.report.verify_text import verify_text
from strata.text import output

MIB = 1 << 20
SMALL = VerifyOptions(size=3 * MIB, bs=65536, passes=1)


def verify(where: str | None, **options: object) -> VerifyResult:
    return verify_endpoint(where, SMALL.model_copy(update=options), lambda _: None)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "database.mdf"
    path.write_bytes(os.urandom(MIB))
    return path


def test_a_file_that_strata_did_not_create_is_not_written_to(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(foreign)
    (tmp_path / "hard").hardlink_to(foreign)
    before = hashlib.sha256(foreign.read_bytes()).digest()
    for name in ("database.mdf", "link", "hard", ""):
        with pytest.raises(SafetyRefusal):
            verify(f"file:{tmp_path / name}")
    assert hashlib.sha256(foreign.read_bytes()).digest() == before


def test_a_journal_never_replaces_a_file(foreign: Path, tmp_path: Path) -> None:
    before = foreign.read_bytes()
    with pytest.raises(SafetyRefusal):
        verify(f"file:{tmp_path / 'new'}", journal=str(foreign))
    for mode in ("check", "resume"):
        with pytest.raises(StrataError, match="journal"):
            verify(f"file:{tmp_path / 'new'}", journal=str(foreign), mode=mode)
    assert not (tmp_path / "new").exists()
    assert foreign.read_bytes() == before


def test_a_device_needs_its_name_typed_again_and_is_refused_while_it_is_used() -> None:
    words = ["findmnt", "-no", "SOURCE", "/"]
    device = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    if not device.startswith("/dev/"):
        pytest.skip("no device under /")
    for destructive in (None, device):
        with pytest.raises(SafetyRefusal):
            verify(f"block:{device}", destructive=destructive)


@pytest.mark.parametrize(
    ("where", "options", "said"),
    [
        ("null:", {}, "holds no data"),
        (None, {}, "nothing to verify"),
        ("file:/x", {"mode": "check"}, "journal"),
    ],
)
def test_words_that_do_not_go_together(where: str | None, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        verify(where, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bs": 1000}, "bs"),
        ({"sector": 100}, "sector"),
        ({"iodepth": 0}, "iodepth"),
        ({"threads": 64}, "threads"),
        ({"write_percent": 101}, "write_percent"),
        ({"passes": None}, "never end"),
        ({"bs": 8 * MIB}, "blocks"),
        ({"stuck_after_ns": 0}, "stuck_after"),
    ],
)
def test_values_that_cannot_be(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        verify(f"file:{tmp_path / 'own'}", **options)
    assert said in refused.value.render()
    with pytest.raises(UsageError):
        verify(f"file:{tmp_path / 'own'}", journal=str(tmp_path / "journal"), **options)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_made_is_removed_unless_it_is_wanted(tmp_path: Path) -> None:
    path, journal = tmp_path / "own", tmp_path / "journal"
    done = verify(f"file:{path}", direct=False)
    assert (done.verdict, done.result.blocks, done.result.engine["direct"]) == (Integrity.SOUND, 32, False)
    assert not path.exists()
    kept = verify(f"file:{path}", journal=str(journal), dsync=True, direct=False)
    assert kept.verdict is Integrity.SOUND
    assert read_mark(path) is not None
    assert testfile.clean() == ()
    assert path.exists(), "the journal speaks of it"
    # Its head is never part of what is written.
    assert verify(None, mode="check", journal=str(journal), direct=False).verdict is Integrity.SOUND
    with path.open("r+b") as f:
        f.seek(MIB)
        f.write(b"other")
    found = verify(None, mode="check", journal=str(journal), direct=False)
    assert (found.verdict, found.result.counts[FaultKind.CORRUPTED]) == (Integrity.FAULTS, 1)
    assert (found.result.faults[0].bytes, found.result.faults[0].first) == (5, MIB)


def test_progress_is_told_for_each_pass(tmp_path: Path) -> None:
    told: list[Progress] = []
    options = SMALL.model_copy(update={"passes": None, "runtime_ns": 600_000_000, "direct": False})
    verify_endpoint(f"file:{tmp_path / 'own'}", options, told.append)
    assert told[-1].finished
    assert {p.label for p in told} <= {"writing", "reading back"}
    assert all(p.phase.value == "verify" for p in told)


@pytest.mark.parametrize("text", ["lsot", "lost:every", "lost:every=x", "lost:when=3", "torn:every=-1", ""])
def test_a_fault_that_is_not_understood(text: str) -> None:
    with pytest.raises(UsageError, match="cannot inject"):
        planted(text)


def test_a_fault_with_all_its_words() -> None:
    fault = planted("torn:every=100:offset=2m:seed=7")
    assert (fault.kind, fault.every, fault.offset, fault.seed) == ("torn", 100, 2 * MIB, 7)


def result(**changes: object) -> Verified:
    """A result of 1024 blocks without faults, and what differs from it."""
    base: dict[str, object] = {
        "schema": 1,
        "mode": "run",
        "run": "00",
        "end": {"kind": "done"},
        "engine": {"kind": "nbd", "direct": False, "dsync": False},
        "first_byte": MIB,
        "blocks": 1024,
        "block_bytes": 4096,
        "sector_bytes": 512,
        "elapsed_ns": 10**9,
        "passes": 5,
        "reads": 3072,
        "writes": 2048,
        "read_bytes": 3072 * 4096,
        "write_bytes": 2048 * 4096,
        "flushes": 2,
        "flush_failures": 0,
        "flush_unsupported": False,
        "verified_blocks": 1024,
        "write_failures": [],
        "stuck": [],
        "counts": dict.fromkeys(FaultKind, 0),
        "faults": [],
        "faults_beyond": 0,
        "in_flight": {"new": 0, "old": 0, "torn": 0, "torn_offsets": []},
        "journal": None,
    }
    return Verified.model_validate(base | changes)


LOST = {"kind": "lost", "offset": MIB, "expected": 2, "found": 1}
REFUSED = [{"errno": 5, "count": 3, "first_offset": MIB}]
STUCK = [{"op": "write", "offset": MIB, "age_ns": 3 * 10**10}]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Integrity.SOUND),
        ({"counts": {"lost": 1}, "faults": [LOST], "end": {"kind": "carrier_lost", "why": "gone"}}, Integrity.FAULTS),
        ({"faults_beyond": 1}, Integrity.FAULTS),
        ({"end": {"kind": "carrier_lost", "why": "gone"}, "verified_blocks": 0}, Integrity.FAILED),
        ({"end": {"kind": "journal_failed", "why": "no space"}}, Integrity.FAILED),
        ({"end": {"kind": "stuck"}, "stuck": STUCK}, Integrity.INCONCLUSIVE),
        ({"end": {"kind": "stopped"}, "verified_blocks": 3}, Integrity.STOPPED),
        ({"write_failures": REFUSED}, Integrity.FAILED),
        ({"flush_failures": 1}, Integrity.FAILED),
        ({"verified_blocks": 1023}, Integrity.INCONCLUSIVE),
        ({"in_flight": {"new": 1, "old": 2, "torn": 3, "torn_offsets": []}}, Integrity.SOUND),
    ],
)
def test_the_verdict(changes: dict[str, object], verdict: Integrity) -> None:
    assert judge(result(**changes))[0] is verdict


def test_every_kind_of_fault_is_told_in_words_that_fit() -> None:
    faults = [
        LOST,
        {"kind": "stale", "offset": MIB, "expected": 2, "found": 1, "seen": 2},
        {"kind": "torn", "offset": MIB, "oldest": 1, "newest": 2, "old_sectors": 4},
        {"kind": "torn", "offset": MIB, "oldest": 0, "newest": 1, "old_sectors": 4},
        {"kind": "misdirected", "offset": MIB, "from": 2 * MIB, "generation": 2, "sectors": 8},
        {"kind": "corrupted", "offset": MIB, "bytes": 1, "first": MIB + 7, "sectors": 1},
        {"kind": "foreign", "offset": MIB, "what": "zeroes", "sectors": 8},
        {"kind": "foreign", "offset": MIB, "what": "other_run", "run": 3, "sectors": 2},
        {"kind": "foreign", "offset": MIB, "what": "never_written", "generation": 9, "sectors": 8},
        {"kind": "unreadable", "offset": MIB, "errno": 5},
        {"kind": "unreadable", "offset": MIB, "errno": 0},
    ]
    counts = dict.fromkeys(FaultKind, 1) | {FaultKind.FOREIGN: 40}
    told = result(
        counts=counts,
        faults=faults,
        write_failures=REFUSED,
        flush_failures=2,
        stuck=STUCK,
        in_flight={"new": 1, "old": 2, "torn": 4, "torn_offsets": [MIB, 2 * MIB, 3 * MIB, 4 * MIB]},
        journal={"acknowledged": 1000, "in_flight": 7, "unflushed": 3, "cut_short": True},
    )
    verdict, why = judge(told)
    shown = VerifyResult(endpoint="nbd://host/x", verdict=verdict, why=why, result=told)
    for width in (80, 200):
        text = verify_text(shown, width)
        assert max(map(len, text.splitlines())) <= width
        flat = " ".join(text.split())
        for words in (
            "holds write 1 of this block; write 2 was acknowledged and is missing",
            "returned write 1 of this block in one read and write 2 in another",
            "4 of 8 sectors are old",
            "the previous content",
            f"holds write 2 of the block at byte {2 * MIB}",
            f"1 byte differs from what was written, the first at byte {MIB + 7}",
            "zeroes where a write was acknowledged",
            "in 2 of 8 sectors",
            "which was never started",
            "input/output error",
            "the read ended early",
            "3 writes: errno 5",
            "to flush, 2 times",
            "unanswered for 30.0 s",
            "4 torn",
            "7 in flight, 3 not flushed",
            "and 35 more",
            "faults: the target does not hold what it acknowledged",
        ):
            assert words in flat, (words, text)
    assert "\x1b[1m" in output.shown(verify_text(shown, 80, color=True))
    sound = result()
    text = verify_text(
        VerifyResult(endpoint="nbd://h/", verdict=judge(sound)[0], why=judge(sound)[1], result=sound), 80
    )
    assert "faults        none" in text
    assert "\n  in flight" not in text


def test_what_is_not_said_is_the_same_on_the_command_line_and_in_the_options() -> None:
    told, usual = Written(), VerifyOptions()
    assert (told.iodepth, told.numjobs, told.order, told.write_share, told.flush_every, told.dsync, told.seed) == (
        usual.iodepth, usual.threads, usual.order, usual.write_percent, usual.flush_every, usual.dsync, usual.seed,
    )  # fmt: skip
    assert (units.parse_size(told.bs), told.buffered) == (usual.bs, not usual.direct)
    given = {name: p.default for name, p in inspect.signature(command).parameters.items()}
    assert units.parse_duration_ns(given["stuck_after"]) == usual.stuck_after_ns
    assert (given["listed"], given["keep"], given["destructive"]) == (usual.listed, usual.keep, usual.destructive)
    _, text = printed("verify", "--help")
    said = " ".join(text.split())
    assert f"(default {units.exact_size(NEW_FILE_BYTES)})" in said
    assert f"(default {SECTOR_BYTES} bytes)" in said
    assert f"(default {usual.passes}; with --runtime unlimited)" in said
