"""What others do to a test file beside Strata: a second Strata, a stranger at the port, the user's own words in it."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from commands import strata
from loops import image, loop, mounted, need, need_root, run
from others import as_another, directory_of_another, ended

from strata.app.place import Place
from strata.app.safety_gate import opened
from strata.app.verify import VerifyOptions, verify_endpoint
from strata.engine import Timing, build_job, run_job
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, safety, testfile
from strata.host.mark import read_mark
from strata.model.endpoint import Endpoint
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.verify import Integrity
from strata.model.workload import ClosedLoop, Workload

MIB = 1 << 20
SIZE = 4 * MIB
WRITES = Workload(rw=Rw.RANDWRITE, bs=4096, direct=False, arrival=ClosedLoop(iodepth=2))
PHRASES = b"The quick brown fox jumps over the lazy dog.\n" * 50_000


def kept(path: Path, size: int = SIZE) -> Path:
    """A test file that the user keeps."""
    with testfile.new(path, size) as held:
        held.keep()
    return path


def drive(path: Path, workload: Workload, size: int | None = None) -> None:
    """What `strata measure file:… --keep` does, for a few I/Os."""
    with opened(Endpoint.parse(f"file:{path}"), workload, size, True, None) as target:
        job = build_job(target.endpoint, workload, target.segments, Timing(ramp_s=0.0, runtime_s=30.0))
        assert run_job(job | {"stop_after": {"ios": 50}}).ops


def write(path: Path, size: int | None = None) -> None:
    """As `drive`, writing."""
    drive(path, WRITES, size)


@contextmanager
def in_hand(path: Path, how: str) -> Iterator[int]:
    """A process that has the file in hand, by ``testfile.own`` or ``testfile.look``; its number."""
    code = (
        f"import sys; from strata.host import testfile\nwith testfile.{how}({str(path)!r}): print(flush=True); input()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline()
        yield child.pid
    finally:
        child.communicate(b"\n", timeout=30)


# --- two of Strata on one file --------------------------------------------------------------------------------------


def test_a_file_that_a_process_writes_to_is_refused_with_its_number(tmp_path: Path) -> None:
    path = kept(tmp_path / "t.dat")
    with in_hand(path, "own") as pid:
        for taken in (lambda: testfile.own(path), lambda: testfile.look(path), lambda: write(path)):
            with pytest.raises(RunFailed, match=f"process {pid} is using it for another run") as caught:
                taken()
            assert caught.value.exit_code == 1
    write(path)


def test_several_may_read_it_and_nobody_write_meanwhile(tmp_path: Path) -> None:
    path = kept(tmp_path / "t.dat")
    with in_hand(path, "look"), testfile.look(path), pytest.raises(RunFailed, match="is using it for another run"):
        testfile.own(path)


def test_verify_beside_a_measurement_blames_no_storage(tmp_path: Path) -> None:
    path, journal = tmp_path / "t.dat", tmp_path / "journal"
    words = VerifyOptions(size=SIZE, direct=False, journal=str(journal))

    def verified(mode: str) -> Integrity:
        return verify_endpoint(f"file:{path}", words.model_copy(update={"mode": mode}), lambda _: None).verdict

    assert verified("run") is Integrity.SOUND
    with in_hand(path, "own") as pid:
        done = strata("verify", f"file:{path}", "--journal", journal, "--check", "--buffered", "--progress", "none")
        assert done.returncode == 1, done.stderr
        assert f"process {pid} is" in done.stderr
        with pytest.raises(RunFailed, match=f"process {pid} is"):
            verified("resume")
    assert verified("check") is Integrity.SOUND


def test_a_journal_is_held_against_its_own_file_alone(tmp_path: Path) -> None:
    path, journal = tmp_path / "t.dat", str(tmp_path / "journal")
    words = VerifyOptions(size=SIZE, direct=False, journal=journal)
    verify_endpoint(f"file:{path}", words, lambda _: None)
    mark = read_mark(path)
    assert mark is not None
    path.unlink()
    kept(path)
    for mode in ("check", "resume"):
        with pytest.raises(RunFailed, match=f"the journal is of another file: its mark was {mark.uuid}"):
            verify_endpoint(f"file:{path}", words.model_copy(update={"mode": mode}), lambda _: None)


def test_a_file_in_use_is_not_cleaned_away_and_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    code = f"from strata.host import testfile; testfile.create({str(path)!r}, {MIB})"
    subprocess.run([sys.executable, "-c", code], check=True)
    with in_hand(path, "look"):
        assert testfile.clean() == ()
    with in_hand(path, "own") as pid:
        assert testfile.clean() == ()
        os.kill(pid, signal.SIGKILL)
    assert testfile.clean() == (path,)


# --- a stranger at the port of a run --------------------------------------------------------------------------------


def dialled(port: int) -> socket.socket:
    """Connected; looks up no name, which would load what the other user may not read."""
    made = socket.socket()
    made.settimeout(10)
    made.connect(("127.0.0.1", port))
    return made


def nbd_write(port: int, offset: int, what: bytes) -> int | None:
    """The whole of a client that writes once: the server's error number, None when it hangs up."""
    with dialled(port) as s:
        begin = struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 6) + b"strata"
        request = struct.pack(">IHHQQI", 0x25609513, 0, 1, 7, offset, len(what)) + what
        try:
            s.sendall(begin + request)
            said = b""
            while len(said) < 18 + 10 + 16:
                if not (more := s.recv(4096)):
                    return None
                said += more
        except ConnectionError:
            return None
        return int(struct.unpack_from(">I", said, 32)[0])


@contextmanager
def shared(path: Path, *, writes: bool = True) -> Iterator[int]:
    """A run's share over loopback of a new file; its port."""
    layers = (
        Layer(name="file", endpoint=f"file:{path}"),
        Layer(name="share", endpoint="nbd://127.0.0.1:0/strata", on=("file",)),
    )
    place = Place(Stack(name="s", layers=layers), path, {}, direct=False, writes=writes)
    try:
        place.prepare_file(SIZE, keep=False)
        place.place_layers("tmpfs")
        yield int(place.endpoint("share").uri.split("127.0.0.1:")[1].partition("/")[0])
    finally:
        place.close()


def test_another_user_of_the_machine_is_not_served(tmp_path: Path) -> None:
    with directory_of_another(), shared(tmp_path / "t.dat") as port:
        before = (tmp_path / "t.dat").read_bytes()

        def hung_up() -> None:
            for offset in (0, 2 * MIB):
                assert nbd_write(port, offset, PHRASES[:4096]) is None

        def in_no_time() -> None:
            # The kernel lists who has let go under user 0, which is who runs the server here.
            for _ in range(50):
                with dialled(port) as s, suppress(ConnectionError):
                    s.sendall(
                        struct.pack(">I", 3)
                        + b"IHAVEOPT"
                        + struct.pack(">II", 1, 6)
                        + b"strata"
                        + struct.pack(">IHHQQI", 0x25609513, 0, 1, 7, 2 * MIB, 4096)
                        + PHRASES[:4096]
                    )

        assert ended(as_another(hung_up)) == 0
        assert ended(as_another(in_no_time)) == 0
        time.sleep(0.2)
        assert (tmp_path / "t.dat").read_bytes() == before


def test_nobody_writes_over_the_mark_through_the_server(tmp_path: Path) -> None:
    with shared(tmp_path / "t.dat") as port:
        mark = read_mark(tmp_path / "t.dat")
        for offset in (0, 4096, MIB - 4096):
            assert nbd_write(port, offset, PHRASES[:4096]) == 1  # EPERM
        assert nbd_write(port, 2 * MIB, PHRASES[:4096]) == 0
        assert read_mark(tmp_path / "t.dat") == mark


def test_the_server_of_a_run_that_only_reads_is_read_only(tmp_path: Path) -> None:
    with shared(tmp_path / "t.dat", writes=False) as port:
        assert nbd_write(port, 2 * MIB, PHRASES[:4096]) == 1  # EPERM


def test_the_file_stays_locked_while_its_server_lives(tmp_path: Path) -> None:
    with shared(tmp_path / "t.dat"), pytest.raises(RunFailed, match="is using it for another run"):
        testfile.own(tmp_path / "t.dat")


# --- what a user wrote into a file of ours --------------------------------------------------------------------------


def by_name(path: Path, offset: int, what: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(what)


def by_mapping(path: Path, offset: int, what: bytes) -> None:
    import mmap

    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[offset : offset + len(what)] = what


@pytest.mark.parametrize("way", [by_name, by_mapping])
@pytest.mark.parametrize(("offset", "what"), [(4096, PHRASES), (3 * MIB + 5, b"one line")], ids=["book", "line"])
def test_what_a_user_wrote_behind_the_mark_stays(
    tmp_path: Path, way: Callable[[Path, int, bytes], None], offset: int, what: bytes
) -> None:
    path = tmp_path / "kept.dat"
    write(path, SIZE)  # Filled and written to by a workload, then let go of.
    assert testfile.was_kept(path)
    way(path, offset, what)
    for use in (write, safety.check_own_file, testfile.own):
        with pytest.raises(SafetyRefusal, match="it was written to after Strata wrote it") as caught:
            use(path)
        assert caught.value.exit_code == 5
    assert path.read_bytes()[offset : offset + len(what)] == what
    # It may still be read, which changes nothing; also with --keep.
    drive(path, WRITES.model_copy(update={"rw": Rw.RANDREAD}))
    with pytest.raises(SafetyRefusal, match="it was written to"):
        write(path)
    # The command in the message says that all of it may go.
    command = caught.value.render().partition("if its data is not needed: ")[2].splitlines()[0]
    assert command.startswith("touch -d @")
    subprocess.run(["sh", "-c", command], check=True)
    write(path)


def test_a_kept_file_is_used_again_and_again_also_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "kept.dat"
    write(path, SIZE)
    write(path)
    with testfile.own(path) as held:
        os.pwrite(held.fd, b"x" * 4096, 2 * MIB)
        held.let_go()  # As a process does that is killed: nothing is put in order.
    assert path.stat().st_mtime_ns != read_mark(path).date_ns  # type: ignore[union-attr]
    [entry] = registry.entries()
    registry.replace(registry.Entry(**{**entry.__dict__, "process": "gone"}))
    assert testfile.clean() == ()
    assert testfile.was_kept(path)
    write(path)
    assert registry.entries() == ()


def test_a_copy_is_another_file_and_a_faithful_copy_is_not(tmp_path: Path) -> None:
    path = tmp_path / "kept.dat"
    write(path, SIZE)
    subprocess.run(["cp", str(path), str(tmp_path / "copy.dat")], check=True)
    subprocess.run(["cp", "-p", str(path), str(tmp_path / "faithful.dat")], check=True)
    with pytest.raises(SafetyRefusal, match="it was written to"):
        write(tmp_path / "copy.dat")
    write(tmp_path / "faithful.dat")


# --- the same volume under another number ---------------------------------------------------------------------------


def test_what_was_left_on_a_volume_is_cleaned_when_it_is_mounted_under_another_number(tmp_path: Path) -> None:
    need_root()
    disk = image(tmp_path / "fs.img", 32 * MIB)
    run(need("mkfs.ext4"), "-q", str(disk))
    at = tmp_path / "mnt"
    path = at / "left.dat"
    with loop(disk) as device, mounted(device, at):
        code = f"from strata.host import testfile; testfile.create({str(path)!r}, {MIB})"
        killed = f"{code}; import os; os.kill(os.getpid(), 9)"
        assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -9
        first = path.stat().st_dev
    # Not mounted: it waits.
    assert testfile.clean() == ()
    at.rmdir()
    with ExitStack() as held:
        held.enter_context(loop(image(tmp_path / "other.img")))
        held.enter_context(mounted(held.enter_context(loop(disk)), at))
        assert path.stat().st_dev != first
        assert testfile.clean() == (path,)
        assert not path.exists()
    assert registry.entries() == ()


def test_another_volume_at_the_place_keeps_what_stands_there(tmp_path: Path) -> None:
    need_root()
    at = tmp_path / "mnt"
    path = at / "left.dat"
    with mounted("none", at, kind="tmpfs"):
        subprocess.run(
            [sys.executable, "-c", f"from strata.host import testfile; testfile.create({str(path)!r}, {MIB})"],
            check=True,
        )
    path.write_bytes(b"a thesis")
    assert testfile.clean() == ()
    assert path.read_bytes() == b"a thesis"
    # Still on the list: the volume may come back.
    assert [entry.path for entry in registry.entries()] == [str(path)]


def test_a_list_of_an_earlier_version_is_understood(tmp_path: Path, own_state: Path) -> None:
    path = tmp_path / "left.dat"
    mark = testfile.create(path, MIB)
    found = path.stat()
    folder = own_state / "strata"
    (folder / "files.jsonl").write_text(
        f'{{"path": "{path}", "uuid": "{mark.uuid}", "device": {found.st_dev}, "inode": {found.st_ino}, '
        '"pid": 1, "process": "gone", "netns": null}\n'
    )
    assert testfile.clean() == (path,)


def test_an_endpoint_is_saved_without_its_descriptor() -> None:
    held = Endpoint.parse("file:/x").beside(7)
    assert held.opened == "/proc/self/fd/7"
    assert "7" not in held.model_dump_json() + repr(held)
