"""What the survey says of arrays, fragments, cards and the kernel's log, of devices and interfaces made for it."""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from absent import absent
from commands import strata
from loops import MIB, image, loop, mounted, need, need_root, run, unmount

from strata.discover.devices import device as described
from strata.discover.kernel_log import kernel_log, names_of
from strata.discover.survey import survey
from strata.host import ethtool
from strata.host.fragments import pieces
from strata.host.kmsg import records
from strata.host.proc import Sys
from strata.model.survey import Survey
from strata.report.survey_text import survey_text
from strata_lab.disks import past_the_dead

KIB = 1 << 10


def test_the_cpus_of_this_machine() -> None:
    cpu = survey(Path("/"), load_seconds=0).cpu
    if cpu.sockets is None:
        absent("the kernel shows no topology")
    assert cpu.cores_per_socket and cpu.threads_per_core
    # Some of them may be off line, or of another core.
    assert cpu.sockets * cpu.cores_per_socket * cpu.threads_per_core >= cpu.usable


def test_loopback_is_an_interface_with_its_offloads() -> None:
    found = {one.name: one for one in survey(Path("/"), load_seconds=0).interfaces}
    if "lo" not in found:
        absent("there is no loopback interface")
    assert (found["lo"].kind, found["lo"].card) == ("loopback", False)
    assert found["lo"].mtu == int(Path("/sys/class/net/lo/mtu").read_text())
    assert found["lo"].offloads["gso"] in (True, False)
    assert ethtool.told("no-such-card") == ethtool.Told()


@pytest.mark.root
def test_offloads_of_a_pair_follow_what_is_set(tmp_path: Path) -> None:
    need_root()
    ip = need("ip")
    name = f"svy{os.getpid() % 100000}"
    made = subprocess.run([ip, "link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b"], check=False)
    if made.returncode:
        absent("the kernel makes no pair of interfaces (veth)")
    try:
        for end in ("a", "b"):
            run(ip, "link", "set", f"{name}{end}", "mtu", "9000", "up")
        found = {one.name: one for one in survey(tmp_path, load_seconds=0).interfaces}
        one = found[f"{name}a"]
        assert (one.kind, one.driver, one.mtu, one.card) == ("veth", "veth", 9000, False)
        assert one.offloads["tso"] is True
    finally:
        run(ip, "link", "delete", f"{name}a")


@pytest.mark.root
def test_xfs_tells_the_stripe_it_was_made_for(tmp_path: Path) -> None:
    need_root()
    img = image(tmp_path / "xfs.img", 1024 * MIB)
    run(need("mkfs.xfs"), "-q", "-d", "su=64k,sw=3", "-l", "size=64m", str(img))
    with ExitStack() as held:
        device = held.enter_context(loop(img))
        at = held.enter_context(mounted(device, tmp_path / "mnt", kind="xfs"))
        found = survey(at, load_seconds=0)
        text = survey_text(found, 80, verbose=True)
    placing = found.file_system.placing
    assert placing is not None
    assert (placing.stripe_unit, placing.stripe_width, placing.unit) == (64 * KIB, 192 * KIB, 4096)
    assert "the file system aligns to 192 KiB" in text
    # Of one loop device nothing says that it is an array, so nothing is there to differ from.
    assert not {n.code for n in found.notices} & {"fs.stripe-unknown", "fs.stripe-mismatch"}


@pytest.mark.root
def test_a_btrfs_over_several_devices_is_an_array(tmp_path: Path) -> None:
    need_root()
    mkfs = need("mkfs.btrfs")
    with ExitStack() as held:
        images = [image(tmp_path / f"disk{n}.img", 256 * MIB) for n in range(3)]
        devices = [held.enter_context(loop(img)) for img in images]
        run(*past_the_dead([mkfs, "-q", "-d", "raid5", "-m", "raid1", *devices]))
        run(need("btrfs"), "device", "scan", *devices)
        held.callback(lambda: run(need("btrfs"), "device", "scan", "--forget", *devices))
        at = tmp_path / "mnt"
        at.mkdir()
        run("mount", "-t", "btrfs", devices[0], str(at))
        held.callback(unmount, at)
        found = survey(at, load_seconds=0)
    array = found.file_system.geometry
    assert array is not None
    assert (array.level, array.members, array.data, array.parity, array.chunk) == ("raid5", 3, 2, 1, 64 * KIB)
    (notice,) = [n for n in found.notices if n.code == "device.parity"]
    assert "full stripe of 128 KiB" in notice.what
    assert found.file_system.placing is not None and found.file_system.placing.align == 128 * KIB


@pytest.mark.root
def test_the_fragments_of_a_file_are_those_that_filefrag_counts(tmp_path: Path) -> None:
    need_root()
    filefrag = need("filefrag")
    img = image(tmp_path / "ext4.img", 128 * MIB)
    run(need("mkfs.ext4"), "-q", str(img))
    with ExitStack() as held:
        device = held.enter_context(loop(img))
        at = held.enter_context(mounted(device, tmp_path / "mnt"))
        whole = at / "whole.dat"
        whole.write_bytes(os.urandom(4 * MIB))
        os.sync()
        torn = at / "torn.dat"
        torn.write_bytes(os.urandom(4 * MIB))
        # Each piece that is taken out leaves a gap on the device, and none in the file.
        for n in range(32):
            run(need("fallocate"), "--collapse-range", "-o", str((n + 1) * 64 * KIB), "-l", str(16 * KIB), str(torn))
        os.sync()
        counted = {
            path: int(re.findall(r"(\d+) extents? found", run(filefrag, str(path)))[0]) for path in (torn, whole)
        }
        found = survey(torn, load_seconds=0)
        calm = survey(whole, load_seconds=0)
        assert survey(at, load_seconds=0).file is None
        assert pieces(at / "whole.dat") is not None
    assert found.file is not None and calm.file is not None
    assert (found.file.fragments, calm.file.fragments) == (counted[torn], counted[whole])
    assert counted[torn] > 16 and counted[whole] < 5, "or the test has torn nothing"
    assert "fs.fragmented" in {n.code for n in found.notices}
    assert "fs.fragmented" not in {n.code for n in calm.notices}
    groups = found.file_system.placing
    assert groups is not None and (groups.free_groups is None or groups.free_groups >= (groups.free_groups_small or 0))


@pytest.mark.root
def test_an_error_of_a_device_is_found_in_the_kernels_log(tmp_path: Path) -> None:
    need_root()
    if not os.access("/dev/kmsg", os.R_OK):
        absent("/dev/kmsg cannot be read")
    began = time.clock_gettime(time.CLOCK_MONOTONIC)
    sys = Sys()
    with loop(image(tmp_path / "gone.img")) as device:
        # The device is longer than what is left of its file.
        os.truncate(tmp_path / "gone.img", 0)
        name = device.removeprefix("/dev/")
        names = names_of([described(name, sys)], sys)
        # The kernel logs ten errors of all devices in 5 s: others' may have taken these places.
        for _ in range(20):
            fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
            try:
                with mmap.mmap(-1, 4096) as buffer, pytest.raises(OSError):
                    assert os.preadv(fd, [buffer], 8 * MIB) == 4096
                    raise OSError("it read what is not there")
            finally:
                os.close(fd)
            found = kernel_log(names, sys)
            new = [line for line in found.lines if line.device == name and line.seconds >= began - 1]
            if new:
                break
            time.sleep(1)
    if not new:
        absent("the kernel logged no error of a loop device whose file is shorter than the device")
    assert "I/O error" in new[-1].text


def test_the_log_is_whole_or_said_to_be_incomplete() -> None:
    try:
        numbers = [record.number for record in records(Sys())]
    except OSError:
        found = survey(Path("/"), load_seconds=0)
        assert found.kernel_log is None
        assert any(gap.startswith("the kernel's log: ") for gap in found.unreadable)
        return
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)


@pytest.mark.root
def test_without_rights_the_survey_says_what_is_missing() -> None:
    need_root()
    restricted = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() == "1"
    code = (
        "from pathlib import Path; from strata.discover.survey import survey; survey(Path('/'), 0)\n"
        "import os; os.setgid(65534); os.setgroups([]); os.setuid(65534)\n"
        "print(survey(Path('/'), 0).model_dump_json())"
    )
    import sys as python

    packages = os.pathsep.join(p for p in python.path if p)
    done = subprocess.run(
        [python.executable, "-c", code], env={**os.environ, "PYTHONPATH": packages}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = Survey.model_validate_json(done.stdout)
    assert not found.privileged and found.cpu.sockets == survey(Path("/"), load_seconds=0).cpu.sockets
    assert [one.name for one in found.interfaces] and found.tiers
    if restricted:
        assert found.kernel_log is None
        assert any(gap.startswith("the kernel's log: ") for gap in found.unreadable)


def test_documents_of_two_nodes_are_compared_on_the_command_line(tmp_path: Path) -> None:
    document = json.loads(strata("survey", str(tmp_path), "--json").stdout)
    (tmp_path / "a.json").write_text(json.dumps(document))
    document["survey"] |= {"hostname": "node-2", "kernel": "6.12.9"}
    (tmp_path / "b.json").write_text(json.dumps(document))
    words = ("survey", "--compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    text = strata(*words, "--markdown", str(tmp_path / "m.md")).stdout
    assert "2 nodes: 1 field differs" in text and "6.12.9" in text
    assert "| kernel |" in (tmp_path / "m.md").read_text()
    told = json.loads(strata(*words, "--json").stdout)
    assert [f["name"] for f in told["fields"] if f["agreement"] != "same"] == ["kernel"]
    # This machine against a document of another; one alone is compared with nothing.
    assert strata("survey", "--compare", str(tmp_path), str(tmp_path / "b.json")).returncode == 0
    refused = strata("survey", "--compare", str(tmp_path / "a.json"))
    assert refused.returncode == 2 and "1 given: two or more nodes are compared" in refused.stderr
    (tmp_path / "c.json").write_text('{"schema": "strata.measure/1"}')
    assert strata("survey", "--compare", str(tmp_path / "a.json"), str(tmp_path / "c.json")).returncode == 2
