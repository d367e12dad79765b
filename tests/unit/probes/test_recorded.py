"""What the kernel and others print, as recorded; and what they refuse."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from strata.host.proc import Sys
from strata.model.series import SeriesKind
from strata.probes import PROBES, ProbeScope
from strata.probes.cycles import CyclesProbe, attr_of, perf_event_open, scaled
from strata.probes.health import HealthProbe, parse
from strata.probes.port import Probe
from strata.probes.smbd import SmbdProbe
from strata.probes.tcp.diag import parse_info

MOUNTSTATS = """\
device proc mounted on /proc with fstype proc
device 10.77.1.2:/share mounted on /mnt/my\\040share with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,retrans=2
\tage:\t12
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27
\tbytes:\t100 200 300 400 500 600 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 832 0 1 0 0 500 500 0 500 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 1 1 0
\t        READ: 50 51 1 8000 410000 5 700 710 2
\t       WRITE: 0 0 0 0 0 0 0 0 0
\t      COMMIT: 0 0 0 0 0 0 0 0 0
\t        OPEN: 0 0 0 0 0 0 0 0 0
device 10.77.1.3:/other mounted on /other with fstype nfs statvers=1.1
\tbytes:\t1 1 1 1 1 1 1 1
"""
CIFS = """\
Resources in use
CIFS Session: 1
Share (unique mount targets): 2
Total vfs operations: 58 maximum at one time: 2

Max requests in flight: 3
1) \\\\node-2\\other
SMBs: 1
Bytes read: 1  Bytes written: 1
2) \\\\node-2\\volume
SMBs: 4294967290
Bytes read: 1073741824  Bytes written: 5
Open files: 0 total (local), 0 open on server
Creates: 10 total 0 failed
Flushes: 2 total 0 failed
Reads: 1024 total 3 failed
Writes: 7 total 0 failed
"""
MOUNTINFO = """\
20 1 254:0 / / rw - ext4 /dev/vda rw
30 20 0:45 / /mnt/my\\040share rw - nfs4 10.77.1.2:/share rw,vers=4.2
31 20 0:46 / /smb rw - cifs //node-2/volume rw,vers=3.1.1
32 20 0:47 / /fuse rw - fuse.disk disk rw
"""


def put(root: Path, path: str, text: str) -> None:
    at = root / path
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text)


def now(probe: Probe) -> dict[str, float | None]:
    """Values by ``metric/label/label``."""
    keys = ["/".join((c.metric, *map(str, c.labels.values()))) for c in probe.columns]
    values = dict(zip(keys, probe.read(), strict=True))
    probe.close()
    return values


def test_mounts_of_three_kinds(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/mountinfo", MOUNTINFO)
    put(tmp_path, "proc/self/mountstats", MOUNTSTATS)
    put(tmp_path, "proc/fs/cifs/Stats", CIFS)
    put(tmp_path, "sys/fs/fuse/connections/47/waiting", "12\n")
    paths = ("/mnt/my share/file", "/smb/x", "/fuse/y", "/home")
    found = now(PROBES["mounts"](ProbeScope(Sys(tmp_path), paths=paths)))
    share = "/mnt/my share"
    assert found[f"nfs_operations/{share}/read"] == 50
    assert found[f"nfs_transmissions/{share}/read"] == 51
    assert found[f"nfs_timeouts/{share}/read"] == 1
    assert found[f"nfs_queue_seconds/{share}/read"] == pytest.approx(0.005)
    assert found[f"nfs_rtt_seconds/{share}/read"] == pytest.approx(0.7)
    assert found[f"nfs_execute_seconds/{share}/read"] == pytest.approx(0.71)
    assert found[f"nfs_received_bytes/{share}/read"] == 410000
    assert found[f"nfs_bytes/{share}/write/direct"] == 400
    assert found[f"nfs_bytes/{share}/read/server"] == 500
    assert f"nfs_operations/{share}/write" in found
    assert f"nfs_operations/{share}/open" not in found, "never asked for"
    assert found["smb_bytes//smb/read"] == 1 << 30
    assert found["smb_requests//smb"] == 4294967290
    assert found["smb_operations//smb/read"] == 1024
    assert found["smb_failures//smb/read"] == 3
    assert found["fuse_waiting//fuse"] == 12


def test_the_name_of_a_mount_tells_nothing_of_another_one(tmp_path: Path) -> None:
    """Whoever may mount chooses it, and of what ends a line for Python the kernel escapes little."""
    share = "10.77.1.2:/share mounted on /mnt/my\\040share with fstype nfs4 statvers=1.1"
    lies = f"device {share}", "\tbytes:\t9 9 9 9 9 9 9 9", "\tper-op statistics", "\tREAD: 1 1 1 1 1 1 1 1 1"
    put(tmp_path, "proc/self/mountinfo", MOUNTINFO)
    for end in "\f\v\x1c\x85\u2028":
        name = end.join(("/f", *lies, ""))
        put(tmp_path, "proc/self/mountstats", f"{MOUNTSTATS}device fuse mounted on {name} with fstype fuse\n")
        found = now(PROBES["mounts"](ProbeScope(Sys(tmp_path), paths=("/mnt/my share/file",))))
        assert found["nfs_operations//mnt/my share/read"] == 50, repr(end)


def test_an_interface_may_be_called_by_any_bytes(tmp_path: Path) -> None:
    head = "Inter-|   Receive                                                |  Transmit\n face |bytes\n"
    put(tmp_path, "proc/net/dev", head)
    with (tmp_path / "proc/net/dev").open("ab") as file:
        file.write(b" \xff\x9b0: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n  eth0: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n")
    found = now(PROBES["net"](ProbeScope(Sys(tmp_path))))
    assert found["net_bytes/eth0/rx"] == 5 and found["net_bytes/\\xff\\x9b0/rx"] == 7
    # A store refuses half a character.
    assert all(name.encode() for name in found)


def test_a_mount_that_went_away_is_a_gap_and_one_that_is_not_told_is_said(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/mountinfo", MOUNTINFO)
    put(tmp_path, "proc/self/mountstats", MOUNTSTATS)
    probe = PROBES["mounts"](ProbeScope(Sys(tmp_path), paths=("/mnt/my share/file", "/smb/x", "/fuse")))
    assert len(probe.absent) == 2
    assert all("/" in why for why in probe.absent)
    put(tmp_path, "proc/self/mountstats", "device proc mounted on /proc with fstype proc\n")
    assert set(now(probe).values()) == {None}


def test_throttling_of_both_versions(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup2 x rw\n2 0 0:2 / /cpu rw - cgroup x rw,cpu\n")
    put(tmp_path, "proc/7/cgroup", "3:cpu:/jobs/one\n0::/slice/two\n")
    put(tmp_path, "cpu/jobs/one/cpu.cfs_quota_us", "20000")
    put(tmp_path, "cpu/jobs/one/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n")
    put(tmp_path, "cpu/jobs/cpu.cfs_quota_us", "-1")
    put(tmp_path, "cpu/jobs/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    put(tmp_path, "cg/slice/two/cpu.max", "max 100000")
    put(tmp_path, "cg/slice/cpu.max", "50000 100000")
    put(tmp_path, "cg/slice/cpu.stat", "usage_usec 9\nnr_periods 20\nnr_throttled 5\nthrottled_usec 1500000\n")
    found = now(PROBES["cgroup"](ProbeScope(Sys(tmp_path), pids=(7,))))
    assert found == {
        "cgroup_periods//jobs/one": 10,
        "cgroup_throttled_periods//jobs/one": 4,
        "cgroup_throttled_seconds//jobs/one": 2.5,
        "cgroup_periods//slice": 20,
        "cgroup_throttled_periods//slice": 5,
        "cgroup_throttled_seconds//slice": 1.5,
    }


def test_members_of_an_array_and_of_a_multipath_device(tmp_path: Path) -> None:
    line = "0 0 {} 1000 0 0 {} 500 0 0 0 0 0 0 0 0 0"
    for device, member, read, written in (
        ("md0", "sda", 2, 4),
        ("md0", "sdb", 6, 4),
        ("dm-1", "sdc", 8, 0),
        ("dm-1", "sdd", 0, 0),
    ):
        put(tmp_path, f"sys/class/block/{device}/slaves/{member}", "")
        put(tmp_path, f"sys/class/block/{member}/stat", line.format(read, written))
    put(tmp_path, "sys/class/block/md0/md/degraded", "1\n")
    put(tmp_path, "sys/class/block/sdc/device/state", "running\n")
    put(tmp_path, "sys/class/block/sdd/device/state", "offline\n")
    found = now(PROBES["members"](ProbeScope(Sys(tmp_path), devices=("md0", "/dev/dm-1"))))
    assert found["member_read_bytes/md0/sdb"] == 6 * 512
    assert found["member_write_bytes/md0/sda"] == 4 * 512
    assert found["member_seconds/md0/sda"] == 1.5
    assert found["md_degraded/md0"] == 1
    assert found["member_running/dm-1/sdc"] == 1
    assert found["member_running/dm-1/sdd"] == 0
    assert "md_mismatches/md0" not in found


def test_members_of_a_btrfs(tmp_path: Path) -> None:
    for member in ("loop0", "loop1"):
        put(tmp_path, f"sys/fs/btrfs/0123456789ab/devices/{member}", "")
        put(tmp_path, f"sys/class/block/{member}/stat", "1 2 8 4 5 6 16 8 9 10 11")
    found = now(PROBES["members"](ProbeScope(Sys(tmp_path), devices=("loop0",))))
    assert found["member_read_bytes/btrfs 01234567/loop1"] == 8 * 512


def test_softirqs_paging_numa_and_frequency(tmp_path: Path) -> None:
    put(tmp_path, "proc/softirqs", "      CPU0   CPU2\n  NET_RX:  5  6\n   BLOCK:  7  8\n      HI:  1  1\n")
    old = "0000000a 00000001 00000002 " + "0 " * 9 + "00000002\n"
    put(tmp_path, "proc/net/softnet_stat", "00000001 00000000 00000000 " + "0 " * 9 + "00000000\n" + old)
    found = now(PROBES["softirq"](ProbeScope(Sys(tmp_path))))
    assert found["softirqs/2/block"] == 8
    assert "softirqs/0/hi" not in found
    assert found["softnet_packets/2"] == 10, "the processor's own number, not the line's"
    assert found["softnet_squeezed/2"] == 2

    put(tmp_path, "proc/vmstat", "nr_dirtied 3\npgpgin 8\npgsteal_kswapd 1\npgsteal_direct 2\n")
    found = now(PROBES["paging"](ProbeScope(Sys(tmp_path))))
    assert found == {"pages/dirtied": 3, "pages/read_in": 2, "pages/reclaimed": 3}

    for number in (0, 1):
        put(tmp_path, f"sys/devices/system/node/node{number}/numastat", f"numa_hit 1{number}\nnuma_miss 2\n")
    found = now(PROBES["numa"](ProbeScope(Sys(tmp_path))))
    assert found["numa_pages/1/hit"] == 11
    assert found["numa_pages/0/foreign"] is None

    put(tmp_path, "proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 1999.5\n\nprocessor : 1\ncpu MHz\t: 2100\n")
    assert now(PROBES["frequency"](ProbeScope(Sys(tmp_path)))) == {
        "cpu_frequency_hz/0/cpuinfo": 1999.5e6,
        "cpu_frequency_hz/1/cpuinfo": 2.1e9,
    }
    put(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3200000\n")
    assert now(PROBES["frequency"](ProbeScope(Sys(tmp_path)))) == {"cpu_frequency_hz/0/cpufreq": 3.2e9}


def test_the_processors_counters_are_there_or_refused_in_words() -> None:
    probe = PROBES["cycles"](ProbeScope())
    try:
        fd = perf_event_open(attr_of(0, "kernel"), 0)
    except OSError as e:
        assert probe.columns == ()
        assert len(probe.absent) == 1
        assert "no cycles" in probe.absent[0]
        assert e.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.ENOSYS, errno.ENODEV)
    else:
        os.close(fd)
        assert probe.columns
        first, second = probe.read(), probe.read()
        assert any(b > a for a, b in zip(first, second, strict=True) if a is not None and b is not None)
    probe.close()


@pytest.mark.parametrize(("number", "word"), [(errno.EACCES, "not allowed"), (errno.ENOENT, "no counters")])
def test_half_of_the_processors_are_not_the_machine(number: int, word: str) -> None:
    opened: list[int] = []

    def call(attr: bytes, cpu: int) -> int:
        if cpu == 1:
            raise OSError(number, "refused")
        opened.append(os.open("/dev/null", os.O_RDONLY))
        return opened[-1]

    probe = CyclesProbe([0, 1], call)
    assert opened
    assert probe.columns == ()
    assert word in probe.absent[0]
    for fd in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_a_count_that_ran_half_of_the_time_is_doubled_and_one_that_never_ran_is_absent() -> None:
    counts = [(100, 10, 10), (100, 20, 10), (90, 20, 20), (5, 10, 0)]

    def call(attr: bytes, cpu: int) -> int:
        assert struct.unpack_from("=II", attr) == (0, 64)
        read, write = os.pipe()
        with os.fdopen(write, "wb") as f:
            for one in counts:
                f.write(struct.pack("=QQQ", *one))
        return read

    probe = CyclesProbe([0], call)
    assert {(c.metric, c.labels["mode"]) for c in probe.columns} == {
        (m, mode) for m in ("cpu_cycles", "cpu_instructions") for mode in ("user", "kernel")
    }
    assert {c.kind for c in probe.columns} == {SeriesKind.COUNTER}
    seen = [probe.read()[0] for _ in counts]
    probe.close()
    assert seen == [100, 200, 200, None], "a scaled counter does not fall"
    assert scaled(b"short") is None


def page() -> bytes:
    made = bytearray(512)
    struct.pack_into("<BHBBB", made, 0, 2, 310, 98, 10, 7)
    made[32:34], made[48:50], made[160:161] = b"\x0a\x00", b"\x00\x01", b"\x03"
    struct.pack_into("<II", made, 224, 40, 2)
    return bytes(made)


def test_the_health_page_of_a_device() -> None:
    warning, kelvin, spare, used, read, written, errors, throttled = parse(page())
    assert (warning, kelvin, spare, used) == (2, 310, 0.98, 0.07)
    assert (read, written, errors, throttled) == (10 * 512_000, 256 * 512_000, 3, 42)


def test_health_is_read_of_controllers_and_its_absence_is_said() -> None:
    asked: list[str] = []

    def ask(controller: str) -> bytes:
        asked.append(controller)
        if controller == "/dev/nvme1":
            raise OSError(errno.EACCES, "Permission denied")
        return page()

    probe = HealthProbe(["/dev/nvme0n1", "nvme1n1", "sda"], ask)
    assert {c.labels["device"] for c in probe.columns} == {"nvme0n1"}
    assert probe.absent == ("health of nvme1n1: Permission denied",)
    assert probe.read()[1] == 310
    assert probe.read()[1] == 310
    assert asked.count("/dev/nvme1") == 1, "who refuses is not asked again"
    assert probe.absent == ("health of nvme1n1: Permission denied",)
    assert set(asked) == {"/dev/nvme0", "/dev/nvme1"}
    assert HealthProbe(["vda"], ask).absent == ("no NVMe device; the health of others is not read",)


SMBSTATUS = """\
**** System Calls *************************************************************
syscall_asys_pread_count:                                                     1
syscall_asys_pread_time:                                                   5020
syscall_asys_pread_idle:                                                    264
syscall_asys_pread_bytes:                                               4194304
syscall_asys_pwrite_count:                                                    1
syscall_asys_pwrite_time:                                                  1462
syscall_asys_pwrite_bytes:                                              4194304
**** SMB2 Calls ***************************************************************
smb2_read_count:                                                              1
smb2_read_time:                                                            5040
smb2_read_inbytes:                                                          113
smb2_read_outbytes:                                                     4194384
smb2_write_count:                                                             1
smb2_write_time:                                                           1530
smb2_write_inbytes:                                                     4194416
smb2_write_outbytes:                                                         80
"""


def program(tmp_path: Path, text: str, code: int = 0) -> str:
    at = tmp_path / "smbstatus"
    put(tmp_path, "listing", text)
    put(
        tmp_path,
        "smbstatus",
        f'#!/bin/sh\n[ "$3" = -P ] || exit 9\ncat {tmp_path}/listing >&{1 + (code > 0)}\nexit {code}\n',
    )
    at.chmod(0o755)
    return str(at)


def test_a_samba_servers_own_times(tmp_path: Path) -> None:
    found = now(SmbdProbe("/etc/smb.conf", program(tmp_path, SMBSTATUS)))
    assert found["smbd_operations/read/protocol"] == 1
    assert found["smbd_seconds/read/protocol"] == pytest.approx(0.00504)
    assert found["smbd_seconds/read/file"] == pytest.approx(0.00502)
    assert found["smbd_bytes/write/protocol"] == 4194416
    assert found["smbd_bytes/write/file"] == 4194304
    assert found["smbd_seconds/flush/protocol"] is None


def test_a_samba_server_that_does_not_count_says_so(tmp_path: Path) -> None:
    probe = SmbdProbe("/etc/smb.conf", program(tmp_path, "Failed to initialise profile memory\n", 1))
    assert probe.columns == ()
    assert "Failed to initialise profile memory" in probe.absent[0]
    assert list(probe.read()) == []


def test_an_older_kernels_shorter_tcp_info_has_fewer_fields() -> None:
    data = bytearray(104)
    struct.pack_into("=I", data, 68, 250)
    struct.pack_into("=I", data, 100, 3)
    found = parse_info(bytes(data))
    assert found["rtt_us"] == 250
    assert found["retransmits"] == 3
    assert "delivery_rate" not in found
