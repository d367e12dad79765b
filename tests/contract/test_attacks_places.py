"""What another user can put where Strata keeps its own things, really put there by another user, and refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from loops import need_root

from strata.app import outputs
from strata.app.outputs import Seal
from strata.errors import RunFailed, SafetyRefusal, StrataError
from strata.host import instances, ownership, registry, xdg
from strata.host.atomic_write import directory, replace_in
from strata.host.mark import Mark
from strata.store import open_store
from strata_lab import labs

NOBODY = 65534
HOLDS = "own|.*[.]lock"


def by(uid: int, do: Callable[[], object]) -> str:
    """Does it as that user, in a child; the `repr` of what it came to, or what was refused."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            said = repr(do())
        except BaseException as e:
            said = e.headline if isinstance(e, StrataError) else repr(e)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as heard:
        said = heard.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def common() -> Iterator[Path]:
    """A folder like /tmp: everybody may write, nobody may take away what is others'."""
    need_root()
    path = Path(mkdtemp(prefix="strata-test-"))
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path)


def state(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRATA_STATE_DIR", str(path))
    return path


USES: list[Callable[[], object]] = [
    registry.entries,
    registry.abandoned,
    instances.noted,
    open_store,
    lambda: registry.forget("x"),
]


@pytest.mark.root
@pytest.mark.parametrize("use", USES)
def test_a_state_directory_of_another_user_is_refused_by_all_that_use_it(
    use: Callable[[], object], common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = state(common / "state", monkeypatch)
    by(NOBODY, lambda: (planted.mkdir(0o777), (planted / "tracing").mkdir(), planted.chmod(0o777)))
    assert planted.stat().st_uid == NOBODY
    with pytest.raises(SafetyRefusal, match="belongs to nobody") as refused:
        use()
    assert "STRATA_STATE_DIR" in refused.value.hint
    assert sorted(p.name for p in planted.iterdir()) == ["tracing"]


@pytest.mark.root
def test_a_way_that_others_can_turn_elsewhere_is_refused(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = common / "theirs"
    by(NOBODY, lambda: (theirs.mkdir(), (common / "link").symlink_to(common)))
    (theirs / "ours").mkdir(0o700)
    (common / "open").mkdir()
    (common / "open").chmod(0o777)
    for path, why in (
        (theirs / "ours", "theirs above it belongs to nobody"),
        (common / "open" / "new", "other users may write to .*open above"),
        (common / "link" / "new", "symbolic link of nobody"),
        (common / "link", "symbolic link"),
    ):
        with pytest.raises(SafetyRefusal, match=why):
            ownership.folder(path, "", HOLDS)
    # A link of our own on the way is somebody's disk with more room.
    (common / "mine").mkdir()
    (common / "short").symlink_to("mine")
    assert ownership.folder(common / "short" / "new", "", HOLDS).is_dir()


def test_one_of_ours_that_others_can_look_into_is_closed_and_one_they_can_write_in_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state"
    path.mkdir(0o700)
    (path / "own").touch()
    path.chmod(0o755)
    ownership.folder(path, "", HOLDS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert "was open to other users (0755)" in capsys.readouterr().err
    path.chmod(0o757)
    with pytest.raises(SafetyRefusal, match="other users may write in it") as refused:
        ownership.folder(path, "", HOLDS)
    assert refused.value.hint.endswith(f"chmod 700 {path}")
    # Not a directory for this alone: to close it would break others.
    path.chmod(0o755)
    (path / "precious").touch()
    with pytest.raises(SafetyRefusal, match="it holds precious"):
        ownership.folder(path, "", HOLDS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.root
def test_a_planted_ledger_removes_nothing_of_the_victim(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, home = 65533, common / "home"
    home.mkdir()
    (home / "precious").write_text("of the victim")
    for path in (home, home / "precious"):
        os.chown(path, victim, victim)
    ledgers = common / f"strata-{victim}"
    head = {"lab": "demo", "token": "x", "index": 0, "stack": "local", "boot": "x", "reduced": True}
    lines = [head, {"undo": "directory", "path": str(home)}, {"undo": "file", "path": str(home / "precious")}]

    def plant() -> None:
        lab = ledgers / "strata" / "lab" / "demo"
        lab.mkdir(parents=True)
        (lab / "ledger.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        for path in (ledgers, *ledgers.rglob("*")):
            path.chmod(0o777)

    by(NOBODY, plant)
    monkeypatch.setenv("STRATA_LAB_DIR", str(ledgers / "strata" / "lab"))
    for use in (lambda: labs.down("demo", False, print), lambda: labs.down(None, True, print), labs.all_labs):
        assert "belongs to nobody" in by(victim, use)
    assert (home / "precious").read_text() == "of the victim"


# --- names beside a file --------------------------------------------------------------------------------------------


@pytest.mark.root
def test_names_that_can_be_guessed_are_not_followed(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report in a folder that all may write in, and the registry in a state directory that was open once."""
    precious = common / "precious"
    precious.write_text("of root")
    by(NOBODY, lambda: (common / f".r.html.{os.getppid()}.new").symlink_to(precious))
    outputs.write_output(common / "r.html", "<p>a report</p>")
    assert "a report" in (common / "r.html").read_text()
    home = state(common / "state", monkeypatch)
    home.mkdir()
    for name in ("files.new", "files.lock", "files.jsonl"):
        (home / name).symlink_to(precious)
    home.chmod(0o700)
    with pytest.raises(RunFailed, match="files"):
        registry.add(registry.Entry("/x", "u", "v", 2, 3, "p"))
    (home / "files.lock").unlink()
    (home / "files.jsonl").unlink()
    registry.add(registry.Entry("/x", "u", "v", 2, 3, "p"))
    assert [e.path for e in registry.entries()] == ["/x"]
    assert precious.read_text() == "of root"


def test_a_list_of_files_with_lines_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = state(tmp_path / "state", monkeypatch)
    xdg.state_dir()
    bad = ["5", "[]", "{}", "\0", '{"path": 1, "uuid": [], "volume": 0, "inode": 0, "pid": {}, "process": 0}']
    (home / "files.jsonl").write_bytes("\n".join(bad).encode() + b"\n\xff\xfe")
    mine = registry.Entry("/x", Mark.new(4096).uuid, "v", 2, 3, "p")
    registry.add(mine)
    assert registry.entries() == (mine,)
    assert registry.abandoned() == (mine,)


def test_a_replaced_file_keeps_its_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    with directory(tmp_path) as folder:
        replace_in(folder, "x", b"1")
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
        (tmp_path / "x").chmod(0o644)
        replace_in(folder, "x", b"2")
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644
        (tmp_path / "d").mkdir()
        with pytest.raises(OSError, match="directory"):
            replace_in(folder, "d", b"3")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "x"]


# --- a file that was changed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "seal", "last"),
    [
        ("r.html", "<p>1</p>", Seal.MARKUP, "<!-- "),
        ("r.md", "### Strata: 1\n", Seal.MARKUP, "<!-- "),
        ("s.toml", "a = 1\n", Seal.TOML, "# "),
        ("t.csv", "strata\n1\n", Seal.BESIDE, ""),
        ("t.parquet", b"strata\xff1", Seal.BESIDE, ""),
    ],
)
def test_a_report_is_replaced_as_it_was_written_and_not_once_it_was_changed(
    name: str, text: str | bytes, seal: Seal, last: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    outputs.write_output(path, text, seal)
    if not last and not os.listxattr(path):
        pytest.skip("the file system keeps no extended attributes")
    outputs.write_output(path, text + text, seal)  # type: ignore[operator]
    written, body = path.read_bytes(), text.encode() if isinstance(text, str) else text
    assert written.startswith(body + body) and (last or written == body + body)
    assert written.splitlines()[-1].startswith(last.encode())
    for changed in (
        written.replace(b"1", b"2", 1),
        written + b"\n",
        b"x" + written,
        written.replace(b"strata", b"Strata"),
        re.sub(b".*sha256.*" if last else b"1", b"", written),
    ):
        path.write_bytes(changed)
        for refused in (lambda: outputs.check_output(path), lambda: outputs.write_output(path, text, seal)):
            with pytest.raises(SafetyRefusal, match=r"changed|did not write") as caught:
                refused()
        assert f"mv {path} {path}.old" in caught.value.hint
        assert path.read_bytes() == changed


def test_a_table_of_somebody_else_or_one_that_lost_its_attribute_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    outputs.write_output(path, "a\n1\n", Seal.BESIDE)
    copied = tmp_path / "copy.csv"
    copied.write_bytes(path.read_bytes())
    with pytest.raises(SafetyRefusal, match="did not write"):
        outputs.write_output(copied, "a\n2\n", Seal.BESIDE)
    assert copied.read_bytes() == path.read_bytes()


def test_a_report_of_an_earlier_version_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text('<meta name="generator" content="strata report">\nand a note of mine')
    with pytest.raises(SafetyRefusal, match="does not state what Strata wrote"):
        outputs.check_output(path)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        with pytest.raises(SafetyRefusal):
            outputs.write_output(tmp_path / name, "x")
