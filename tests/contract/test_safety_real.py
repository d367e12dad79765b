"""Every way to lose somebody's data, tried for real: each is refused, and every byte is as it was."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from loops import MIB, checksum, image, loop, mounted, need, need_root, patiently, run, swapped_on

from strata.errors import RunFailed, SafetyRefusal
from strata.host import rawcheck, safety, testfile
from strata_lab.disks import past_the_dead

pytestmark = pytest.mark.root


@pytest.fixture(autouse=True)
def _root_and_own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_root()
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def refused(call: Callable[[], object], *words: str) -> SafetyRefusal:
    with pytest.raises(SafetyRefusal) as caught:
        call()
    assert caught.value.exit_code == 5
    said = caught.value.render()
    for word in words:
        assert word in said, said
    return caught.value


def refused_raw(device: str, *words: str) -> SafetyRefusal:
    """Refused for planning, refused for opening, and the bytes are the same."""
    before = checksum(device)
    refused(lambda: rawcheck.open_raw_write(device, device), *words)
    refusal = refused(lambda: rawcheck.check_raw_write(device, device), *words)
    assert checksum(device) == before
    return refusal


def gpt(disk: Path) -> None:
    """A protective MBR and one GPT partition from 1 MiB to 8 MiB, as the kernel accepts it."""
    import binascii
    import uuid

    linux = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
    last = disk.stat().st_size // 512 - 1
    entry = linux + uuid.uuid4().bytes_le + struct.pack("<QQQ", 2048, 16383, 0) + "strata-test".encode("utf-16-le")
    entries = entry.ljust(128, b"\0").ljust(128 * 128, b"\0")

    def header(own: int, other: int, table: int, guid: bytes) -> bytes:
        def pack(crc: int) -> bytes:
            head = struct.pack("<8sIIIIQQQQ", b"EFI PART", 0x10000, 92, crc, 0, own, other, 34, last - 33)
            return head + guid + struct.pack("<QIII", table, 128, 128, binascii.crc32(entries))

        return pack(binascii.crc32(pack(0))).ljust(512, b"\0")

    guid = uuid.uuid4().bytes_le
    with disk.open("r+b") as f:
        f.seek(446)
        f.write(struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff\xff\xff", 1, last).ljust(64, b"\0") + b"\x55\xaa")
        f.seek(512)
        f.write(header(1, last, 2, guid) + entries)
        f.seek((last - 32) * 512)
        f.write(entries + header(last, 1, last - 32, guid))


# --- test files -----------------------------------------------------------------------------------------------------


def test_a_backing_file_of_a_loop_device_with_and_without_mark(tmp_path: Path, stack: ExitStack) -> None:
    foreign = image(tmp_path / "foreign.img")
    stack.enter_context(loop(foreign))
    refused(lambda: safety.check_new_file(foreign), "backing file of /dev/loop", "does not carry Strata's mark")

    own = tmp_path / "own.dat"
    mark = testfile.create(own, 4 * MIB)
    device = stack.enter_context(loop(own))
    before = checksum(own)
    refused(lambda: safety.check_own_file(own), f"backing file of {device}")
    refused(lambda: testfile.remove(own, mark), f"backing file of {device}")
    # Found also when the path the kernel remembers is not the file's any more.
    moved = own.rename(tmp_path / "moved.dat")
    refused(lambda: safety.check_own_file(moved), f"backing file of {device}")
    assert checksum(moved) == before


def test_a_backing_file_whose_path_is_hidden_by_another_mount(tmp_path: Path, stack: ExitStack) -> None:
    """The kernel remembers a path that now leads elsewhere; only the loop device itself still knows the file."""
    home = tmp_path / "home"
    home.mkdir()
    own = home / "own.dat"
    testfile.create(own, 4 * MIB)
    device = stack.enter_context(loop(own))
    other = tmp_path / "other"
    other.mkdir()
    run("mount", "--bind", str(home), str(other))
    stack.callback(run, "umount", str(other))
    run("mount", "-t", "tmpfs", "none", str(home))
    stack.callback(run, "umount", str(home))
    refused(lambda: safety.check_own_file(other / "own.dat"), f"backing file of {device}")


def test_a_swap_file(tmp_path: Path, stack: ExitStack) -> None:
    area = tmp_path / "swap"
    area.write_bytes(bytes(16 * MIB))
    area.chmod(0o600)
    run(need("mkswap"), str(area))
    before = checksum(area)
    stack.enter_context(swapped_on(area))
    refused(lambda: safety.check_own_file(area), "it is swap", "does not carry Strata's mark")
    assert checksum(area) == before


def test_a_marked_file_that_somebody_made_a_file_system_in(tmp_path: Path) -> None:
    own = tmp_path / "own.dat"
    mark = testfile.create(own, 16 * MIB)
    run(need("mkfs.ext4"), "-q", "-F", str(own))
    before = checksum(own)
    refused(lambda: safety.check_own_file(own), "does not carry Strata's mark")
    refused(lambda: testfile.remove(own, mark))
    assert checksum(own) == before


def test_a_read_only_file_system(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "fs.img")
    run(need("mkfs.ext4"), "-q", str(img))
    at = stack.enter_context(mounted(stack.enter_context(loop(img)), tmp_path / "mnt", "-o", "ro"))
    with pytest.raises(RunFailed, match="read-only") as caught:
        safety.check_new_file(at / "strata.dat", MIB)
    assert caught.value.exit_code == 1
    assert not (at / "strata.dat").exists()


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_a_full_file_system(tmp_path: Path, stack: ExitStack, kind: str) -> None:
    if kind == "tmpfs":
        at = stack.enter_context(mounted("none", tmp_path / "mnt", "-o", "size=8m", kind="tmpfs"))
    else:
        img = image(tmp_path / "fs.img")
        run(need("mkfs.ext4"), "-q", str(img))
        at = stack.enter_context(mounted(stack.enter_context(loop(img)), tmp_path / "mnt"))
    path = at / "strata.dat"
    with pytest.raises(RunFailed, match=r"32 MiB needed, .* free"):
        testfile.create(path, 32 * MIB)
    assert list(at.glob("strata*")) == []
    free = os.statvfs(at).f_bavail * os.statvfs(at).f_frsize
    (at / "filler").write_bytes(b"x" * (free - 2 * MIB))
    before = checksum(at / "filler")
    with pytest.raises(RunFailed, match="not enough space"):
        testfile.create(path, 4 * MIB)
    assert list(at.glob("strata*")) == []
    assert checksum(at / "filler") == before


def test_space_that_runs_out_in_the_middle_leaves_nothing(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check sees space and another process takes it: what was begun is removed again."""
    at = stack.enter_context(mounted("none", tmp_path / "mnt", "-o", "size=8m", kind="tmpfs"))
    monkeypatch.setattr(safety, "_check_space", lambda *_: None)
    with pytest.raises(RunFailed, match="no space left"):
        testfile.create(at / "strata.dat", 32 * MIB)
    assert list(at.iterdir()) == []
    assert testfile.clean() == ()


# --- raw devices ----------------------------------------------------------------------------------------------------


def test_the_disk_this_machine_runs_from(tmp_path: Path) -> None:
    """Its bytes cannot be summed while it lives; nothing is opened for writing before the refusal."""
    root = Path("/").stat().st_dev
    device = os.path.realpath(f"/dev/block/{os.major(root)}:{os.minor(root)}")
    if not Path(device).is_block_device():
        device = f"/dev/{Path(f'/sys/dev/block/{os.major(root)}:{os.minor(root)}').resolve().name}"
    if not Path(device).is_block_device():
        pytest.skip("the root file system is not on a block device here")
    said = refused(lambda: rawcheck.open_raw_write(device, ""), "--destructive names", "it is mounted at /")
    # Where even root may not open it (a container), that is one reason more, not one less.
    assert len(said.problems) >= 3


def test_an_empty_loop_device_is_the_only_kind_that_passes(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "empty.img")
    device = stack.enter_context(loop(img))
    rawcheck.check_raw_read(device)
    rawcheck.check_raw_write(device, device)
    claim = rawcheck.open_raw_write(device, device)
    try:
        with pytest.raises(OSError, match="busy"):
            os.open(device, os.O_RDONLY | os.O_EXCL)
        refused(lambda: rawcheck.check_raw_write(device, device), "held open")
    finally:
        os.close(claim)
    refused(lambda: rawcheck.check_raw_write(device, "/dev/loop"), "--destructive names")
    refused(lambda: rawcheck.check_raw_write(device, ""), "--destructive names")


def test_a_raw_read_descriptor_cannot_write(tmp_path: Path, stack: ExitStack) -> None:
    device = stack.enter_context(loop(image(tmp_path / "empty.img")))
    fd = rawcheck.open_raw_read(device)
    stack.callback(os.close, fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(fd, b"x", 0)
    with pytest.raises(ValueError, match="read-only"):
        rawcheck.open_raw_read(device, os.O_RDWR)


QUICKLY = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000")
"""The signature is asked for, not how long a key is to be stretched: by itself that takes seconds."""


@pytest.mark.parametrize(
    ("maker", "word"),
    [
        (("mkfs.ext4", "-q"), "ext2/3/4"),
        (("mkfs.xfs", "-q"), "XFS"),
        (("mkfs.btrfs", "-q"), "btrfs"),
        (("mkswap",), "swap"),
        (("mkfs.vfat",), "FAT"),
        (("pvcreate", "-q"), "LVM2"),
        (("cryptsetup", "luksFormat", "--type", "luks2", *QUICKLY, "-q", "--key-file", "/proc/version"), "LUKS"),
    ],
    ids=lambda v: v[0] if isinstance(v, tuple) else v,
)
def test_a_signed_device(tmp_path: Path, stack: ExitStack, maker: tuple[str, ...], word: str) -> None:
    img = image(tmp_path / "signed.img", 320 * MIB if "xfs" in maker[0] or "btrfs" in maker[0] else 32 * MIB)
    program = need(maker[0])
    device = stack.enter_context(loop(img))
    run(*past_the_dead([program, *maker[1:], device]))
    refused_raw(device, f"signature: {word}")
    refused(lambda: safety.check_new_file(img), "mark")


def test_a_signed_device_without_blkid(tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own table must be enough."""
    monkeypatch.setattr("strata.host.rawcheck._blkid", lambda _: [])
    img = image(tmp_path / "signed.img")
    device = stack.enter_context(loop(img))
    run(need("mkfs.ext4"), "-q", device)
    assert refused_raw(device).problems == ("it has a signature: ext2/3/4",)


def test_what_only_blkid_knows_is_refused_too(tmp_path: Path, stack: ExitStack) -> None:
    need("blkid")
    img = image(tmp_path / "minix.img")
    with img.open("r+b") as f:
        f.seek(1024)
        f.write(struct.pack("<HHHHHHIHH", 64, 16384, 5, 5, 20, 0, 268966912, 0x137F, 1))
    device = stack.enter_context(loop(img))
    refused_raw(device, "blkid finds minix")


def test_a_mounted_device_and_a_loop_device_on_it(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "fs.img")
    run(need("mkfs.ext4"), "-q", str(img))
    lower = stack.enter_context(loop(img))
    upper = stack.enter_context(loop(Path(lower)))
    at = stack.enter_context(mounted(lower, tmp_path / "mnt", "-o", "ro,noload"))
    refused_raw(lower, f"mounted at {at}", "held open", f"under the loop device {upper}")
    refused_raw(upper, f"is built on {lower}: it is mounted at {at}")


def test_two_loop_devices_on_one_file(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "shared.img")
    first = stack.enter_context(loop(img))
    second = stack.enter_context(loop(img))
    refused_raw(first, f"backing file of {second}")


def sectors_written(device: str) -> int:
    return int(Path("/sys/block", Path(device).name, "stat").read_text().split()[6])


def pages_swapped_out() -> int:
    told = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(told["pswpout"])


def test_a_device_in_use_as_swap(tmp_path: Path, stack: ExitStack) -> None:
    img = tmp_path / "swap.img"
    img.write_bytes(bytes(16 * MIB))
    device = stack.enter_context(loop(img))
    run(need("mkswap"), device)
    words = ("it is swap", "signature: swap", "held open")
    with swapped_on(device):
        content, ours, kernels = checksum(device), sectors_written(device), pages_swapped_out()
        refused(lambda: rawcheck.open_raw_write(device, device), *words)
        refused(lambda: rawcheck.check_raw_write(device, device), *words)
        # The kernel may swap out to it meanwhile, and does where it reclaims unasked (DAMON): only that may be written.
        by_the_kernel = (pages_swapped_out() - kernels) * (os.sysconf("SC_PAGE_SIZE") // 512)
        assert sectors_written(device) - ours <= by_the_kernel
        assert by_the_kernel or checksum(device) == content


def test_a_read_only_device(tmp_path: Path, stack: ExitStack) -> None:
    device = stack.enter_context(loop(image(tmp_path / "empty.img"), "--read-only"))
    refused_raw(device, "it is read-only")


def test_a_partitioned_disk_and_the_disk_of_a_mounted_partition(tmp_path: Path, stack: ExitStack) -> None:
    disk = image(tmp_path / "disk.img")
    gpt(disk)
    refused(lambda: safety.check_new_file(disk), "mark")
    device = stack.enter_context(loop(disk))
    refused_raw(device, "GPT partition table", "MBR")
    # Told to the kernel by hand: it may have been built without any partition table format.
    run(need("addpart"), device, "1", "2048", "14336")
    # Whoever looks at every new device may have it open for a moment.
    stack.callback(patiently, need("delpart"), device, "1")
    part = Path(f"{device}p1")
    refused_raw(device, f"it has partitions ({part.name})")
    rawcheck.check_raw_write(part, str(part))
    run(need("mkfs.ext4"), "-q", str(part))
    at = stack.enter_context(mounted(str(part), tmp_path / "mnt", "-o", "ro,noload"))
    refused_raw(device, f"{part}, its partition, is mounted at {at}", "held open")
    refused_raw(str(part), f"it is mounted at {at}")


def test_what_is_not_a_block_device(tmp_path: Path) -> None:
    img = image(tmp_path / "file.img")
    for path in (str(img), "/dev/null", str(tmp_path)):
        refused(lambda path=path: rawcheck.check_raw_write(path, path), "not a block device")
        refused(lambda path=path: rawcheck.check_raw_read(path), "not a block device")
    for check in (rawcheck.check_raw_read, lambda d: rawcheck.check_raw_write(d, d)):
        with pytest.raises(RunFailed, match="no such file"):
            check("/dev/strata-does-not-exist")


def test_a_free_device_node_is_a_refusal_for_a_test_file(tmp_path: Path, stack: ExitStack) -> None:
    device = stack.enter_context(loop(image(tmp_path / "empty.img")))
    before = checksum(device)
    refused(lambda: safety.check_new_file(device), "block device")
    refused(lambda: testfile.create(device, MIB), "block device")
    assert checksum(device) == before
