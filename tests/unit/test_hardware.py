"""Topology, arrays, paths, tiers, cards and health from recorded files, and what follows from a geometry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from kernel_tree import Tree

from strata.discover.devices import device
from strata.discover.geometry import btrfs_geometry, geometry
from strata.discover.health import health
from strata.discover.interfaces import interfaces, link_rates
from strata.discover.kernel_log import LINES_MOST, kernel_log, names_of
from strata.discover.paths import multipath
from strata.discover.placing import mkfs, placing
from strata.discover.tiers import tiers
from strata.discover.tools import Tools
from strata.discover.topology import ranges, topology
from strata.model.hardware import Geometry, Health
from strata.model.survey import FileSystem, Memory

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ATA = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block"
FC = "pci0000:00/0000:05:00.0/host1/rport-1:0-0/target1:0:0/1:0:0:0/block"
CPUS = "/sys/devices/system/cpu"
MEMORY = Memory(total=64 * GIB, available=0, cached=0, dirty=5, swap_total=0)
XFS = FileSystem(
    kind="xfs", source="/dev/md0", mount_point="/data", options=("rw",), device="md0", block_size=4096, size=1 << 42,
    free=1 << 41, available=1 << 41,
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def tools(says: Mapping[str, str | OSError], *, root: bool = True) -> Tools:
    """Programs that give these answers to these words."""

    def run(words: Sequence[str]) -> str:
        said = says.get(" ".join(words), FileNotFoundError(2, "it is not installed"))
        if isinstance(said, OSError):
            raise said
        return said

    return Tools(run, root)


NONE = tools({})


def cpus(tree: Tree, sockets: int, cores: int, threads: int, governor: Mapping[int, str]) -> None:
    number = 0
    for _ in range(threads):
        for socket in range(sockets):
            for core in range(cores):
                tree.file(f"{CPUS}/cpu{number}/topology/physical_package_id", socket)
                # Numbers have gaps, and begin anew in each socket.
                tree.file(f"{CPUS}/cpu{number}/topology/core_id", core * 4)
                tree.file(f"{CPUS}/cpu{number}/cpufreq/scaling_governor", governor.get(number, "performance"))
                number += 1
    tree.file(f"{CPUS}/smt/active", int(threads > 1))
    tree.file(f"{CPUS}/smt/control", "on")
    tree.file(f"{CPUS}/cpufreq/policy0/scaling_driver", "intel_pstate")


def test_sockets_cores_threads_and_the_governor_of_every_cpu(tree: Tree) -> None:
    cpus(tree, 2, 4, 2, {3: "powersave", 4: "powersave", 15: "powersave"})
    found = topology(tree.sys)
    assert (found["sockets"], found["cores_per_socket"], found["threads_per_core"]) == (2, 4, 2)
    assert (found["smt"], found["smt_control"], found["frequency_driver"]) == (True, "on", "intel_pstate")
    assert found["governors"] == {"performance": "0-2,5-14", "powersave": "3-4,15"}
    assert found["governor"] == "performance, powersave"


def test_a_machine_that_shows_no_topology_has_none(tree: Tree) -> None:
    tree.file(f"{CPUS}/cpu0/online", 1)
    found = topology(tree.sys)
    assert "sockets" not in found
    assert (found["smt"], found["governor"], found["governors"]) == (None, None, {})


def test_ranges_of_numbers() -> None:
    assert ranges([]) == "" and ranges([5]) == "5" and ranges([9, 1, 2, 3, 7]) == "1-3,7,9"


def md(tree: Tree, level: str, disks: int, chunk: int, layout: int = 0) -> Geometry | None:
    tree.device("md0", "9:0", md__level=level, md__raid_disks=disks, md__chunk_size=chunk, md__layout=layout)
    return geometry(device("md0", tree.sys), tree.sys, NONE)


@pytest.mark.parametrize(
    ("level", "disks", "layout", "data", "parity", "copies"),
    [
        ("raid0", 4, 0, 4, 0, 1),
        ("raid5", 4, 2, 3, 1, 1),
        ("raid6", 10, 2, 8, 2, 1),
        ("raid10", 6, 0x102, 3, 0, 2),
        # Two far copies.
        ("raid10", 4, 0x201, 2, 0, 2),
    ],
)
def test_arrays_of_md(tree: Tree, level: str, disks: int, layout: int, data: int, parity: int, copies: int) -> None:
    found = md(tree, level, disks, 64 * KIB, layout)
    assert found is not None
    assert (found.data, found.parity, found.copies, found.stripe) == (data, parity, copies, data * 64 * KIB)


def test_a_mirror_has_no_chunks(tree: Tree) -> None:
    assert md(tree, "raid1", 2, 0) is None


TABLES = [
    ("0 8388608 striped 3 128 8:16 0 8:32 0 8:48 0", "striped", 3, 64 * KIB, 0),
    ("0 8388608 raid raid5_ls 3 128 region_size 1024 3 8:1 8:2 8:3 8:4 8:5 8:6", "raid5_ls", 2, 64 * KIB, 1),
    ("0 8388608 raid raid6_zr 1 256 5 - 8:2 - 8:4 - 8:6 - 8:8 - 8:10", "raid6_zr", 3, 128 * KIB, 2),
    (
        "0 8388608 raid raid10 5 128 raid10_copies 2 raid10_format near 4 - 8:2 - 8:4 - 8:6 - 8:8",
        "raid10",
        2,
        64 * KIB,
        0,
    ),
    ("0 8388608 thin-pool 253:0 253:1 1024 0 1 skip_block_zeroing", "thin pool", 1, 512 * KIB, 0),
]


@pytest.mark.parametrize(("table", "level", "data", "chunk", "parity"), TABLES)
def test_volumes_of_device_mapper(tree: Tree, table: str, level: str, data: int, chunk: int, parity: int) -> None:
    tree.device("dm-0", "253:3", dm__uuid="LVM-abc", dm__name="vg-data")
    found = geometry(device("dm-0", tree.sys), tree.sys, tools({"dmsetup table vg-data": f"{table}\n"}))
    assert found is not None
    assert (found.level, found.data, found.chunk, found.parity) == (level, data, chunk, parity)
    assert found.stripe == data * chunk


def test_without_root_the_limits_of_the_queue_tell_chunk_and_stripe(tree: Tree) -> None:
    limits: dict[str, Any] = {"queue__minimum_io_size": 64 * KIB, "queue__optimal_io_size": 192 * KIB}
    tree.device("dm-0", "253:3", dm__uuid="LVM-abc", dm__name="vg-data", **limits)
    refused = tools({"dmsetup table vg-data": OSError(1, "Operation not permitted")}, root=False)
    found = geometry(device("dm-0", tree.sys), tree.sys, refused)
    assert found is not None
    assert (found.level, found.chunk, found.stripe, found.data) == ("unknown", 64 * KIB, 192 * KIB, 3)
    assert refused.missed == {"device mapper's table of vg-data": "dmsetup needs root"}


def test_a_linear_volume_and_a_disk_are_no_arrays(tree: Tree) -> None:
    tree.device("dm-0", "253:3", dm__uuid="LVM-abc", dm__name="vg-data")
    linear = tools({"dmsetup table vg-data": "0 8388608 linear 8:2 2048\n"})
    assert geometry(device("dm-0", tree.sys), tree.sys, linear) is None
    # A disk that states its largest request as the best one.
    tree.disk("sda", "8:0", ATA, queue__minimum_io_size=4096, queue__optimal_io_size=33553920)
    assert geometry(device("sda", tree.sys), tree.sys, NONE) is None


def test_a_controller_that_states_its_stripe(tree: Tree) -> None:
    tree.disk("sda", "8:0", FC, queue__minimum_io_size=256 * KIB, queue__optimal_io_size=1024 * KIB)
    found = geometry(device("sda", tree.sys), tree.sys, NONE)
    assert found is not None and (found.chunk, found.data) == (256 * KIB, 4)


@pytest.mark.parametrize(("profile", "data", "parity"), [("raid0", 4, 0), ("raid10", 2, 0), ("raid5", 3, 1)])
def test_profiles_of_btrfs(tree: Tree, profile: str, data: int, parity: int) -> None:
    home = "/sys/fs/btrfs/1b2c"
    for name in ("sda", "sdb", "sdc", "sdd"):
        tree.file(f"{home}/devices/{name}/size", 1)
    tree.file(f"{home}/allocation/data/{profile}/total_bytes", GIB)
    tree.file(f"{home}/allocation/data/single/total_bytes", 0)
    tree.file(f"{home}/allocation/data/total_bytes", GIB)
    found = btrfs_geometry("sdb", tree.sys)
    assert found is not None
    assert (found.data, found.parity, found.chunk) == (data, parity, 64 * KIB)
    assert btrfs_geometry("sdz", tree.sys) is None


def test_what_follows_from_a_geometry() -> None:
    raid0 = Geometry(level="raid0", chunk=64 * KIB, stripe=256 * KIB, members=4, data=4)
    assert [raid0.pieces(128 * KIB, at) for at in (256 * KIB, 64 * KIB, 4096, 512)] == [2, 2, 3, 3]
    assert raid0.pieces(4096, 4096) == 1 and raid0.pieces(4096, 512) == 2
    raid5, raid6 = (raid0.model_copy(update={"parity": n}) for n in (1, 2))
    assert (raid0.small_write_requests, raid5.small_write_requests, raid6.small_write_requests) == (1, 4, 6)
    assert raid0.unit == 64 * KIB
    assert raid0.model_copy(update={"chunk": 96 * KIB}).unit == 32 * KIB
    assert raid0.model_copy(update={"chunk": MIB}).unit == 64 * KIB
    assert mkfs("xfs", 4096, raid5) == "mkfs.xfs -d su=65536,sw=4"
    assert mkfs("ext4", 4096, raid5) == "mkfs.ext4 -E stride=16,stripe_width=64"
    assert mkfs("btrfs", 4096, raid5) == ""


def test_how_a_file_system_places_data(tree: Tree) -> None:
    found = placing(XFS.model_copy(update={"options": ("rw", "sunit=128", "swidth=384")}), (), tree.sys, NONE)
    assert found is not None
    assert (found.stripe_unit, found.stripe_width) == (64 * KIB, 192 * KIB)
    # 1 GiB in units of 4 KiB, and of 64 KiB.
    assert (found.fragments_per_gib, GIB // (found.unit_advised or 1)) == (262_144, 16_384)
    ext4 = XFS.model_copy(update={"kind": "ext4", "device": "sda1", "options": ("rw", "stripe=48")})
    orders = "".join(f"\tlist_order_{n}_groups: {g}\n" for n, g in ((2, 3), (7, 4), (8, 2), (13, 11)))
    tree.file(
        "/proc/fs/ext4/sda1/mb_structs_summary",
        f"optimize_scan: 1\nmax_free_order_lists:\n{orders}avg_fragment_size_lists:\n\tlist_order_1_groups: 99",
    )
    found = placing(ext4, (), tree.sys, NONE)
    assert found is not None
    assert (found.stripe_width, found.free_groups, found.free_groups_small) == (192 * KIB, 20, 7)
    zfs = XFS.model_copy(update={"kind": "zfs", "source": "tank/db"})
    found = placing(zfs, (), tree.sys, tools({"zfs get -Hp -o value recordsize tank/db": "16384\n"}))
    assert found is not None and found.unit == 16 * KIB
    assert placing(XFS.model_copy(update={"kind": "nfs4", "remote": True}), (), tree.sys, NONE) is None


PATHS = "0 97656250 multipath 1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:32 1 1 service-time 0 1 2 8:48 1 1"
STATUS = "0 97656250 multipath 2 0 1 0 2 1 A 0 1 2 8:32 A 0 0 1 E 0 1 2 8:48 F 3 0 1"


def test_paths_of_device_mapper_with_policy_groups_and_states(tree: Tree) -> None:
    tree.device("dm-0", "253:0", dm__uuid="mpath-3600", dm__name="mpatha")
    for name, number, port in (("sdc", "8:32", "1"), ("sdd", "8:48", "2")):
        tree.disk(name, number, FC.replace("rport-1", f"rport-{port}"), device__state="running")
    tree.stands_on("dm-0", "sdc", "sdd")
    upper = device("dm-0", tree.sys)
    found = multipath(upper, tree.sys, tools({"dmsetup table mpatha": PATHS, "dmsetup status mpatha": STATUS}))
    assert found is not None
    assert (found.how, found.policy, found.groups, found.queues_without_path) == (
        "dm-multipath",
        "service-time",
        2,
        True,
    )
    assert [(p.name, p.state, p.group) for p in found.paths] == [
        ("sdc", "active", "active group"),
        ("sdd", "failed", "enabled group"),
    ]
    assert found.paths[0].address == "host1 rport-1:0-0"
    blind = tools({}, root=False)
    found = multipath(upper, tree.sys, blind)
    assert found is not None and found.policy is None
    assert [p.state for p in found.paths] == ["running", "running"]
    assert set(blind.missed) == {"device mapper's table of mpatha"}


def test_paths_of_nvme(tree: Tree) -> None:
    home = "/sys/class/nvme-subsystem/nvme-subsys0"
    tree.disk("nvme0n1", "259:0", "virtual/nvme-subsystem/nvme-subsys0")
    tree.file(f"{home}/nvme0n1/uuid", "x")
    tree.file(f"{home}/iopolicy", "numa")
    for n, ana in ((0, "optimized"), (1, "non-optimized")):
        tree.file(f"{home}/nvme{n}/state", "live")
        tree.file(f"{home}/nvme{n}/transport", "tcp")
        tree.file(f"{home}/nvme{n}/address", f"traddr=10.0.{n}.5,trsvcid=4420")
        tree.file(f"{home}/nvme{n}/nvme0c{n}n1/ana_state", ana)
    found = multipath(device("nvme0n1", tree.sys), tree.sys, NONE)
    assert found is not None
    assert (found.how, found.policy) == ("NVMe", "numa")
    assert [(p.name, p.state, p.group) for p in found.paths] == [
        ("nvme0", "live", "optimized"),
        ("nvme1", "live", "non-optimized"),
    ]
    assert found.paths[1].address == "tcp traddr=10.0.1.5,trsvcid=4420"


def test_tiers_with_their_sizes(tree: Tree) -> None:
    tree.disk("nvme0n1", "259:0", "pci0000:00/0000:01:00.0/nvme/nvme0", size=209715200)
    tree.device(
        "bcache0", "252:0", bcache__cache_mode="writethrough [writeback] writearound none", bcache__dirty_data="1.5G",
        bcache__stats_total__cache_hit_ratio=87,
    )  # fmt: skip
    tree.file("/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/bcache/priority_stats", "x")
    cache = tree.root / "sys/devices/virtual/block/bcache0/bcache/cache"
    cache.mkdir()
    (cache / "cache0").symlink_to(tree.root / "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/bcache")
    tree.device("dm-1", "253:1", dm__uuid="LVM-x", dm__name="vg-cached")
    says = {
        "dmsetup table vg-cached": "0 8388608 cache 253:9 259:0 253:8 128 1 writethrough smq 0\n",
        "dmsetup status vg-cached": "0 8388608 cache 8 27/2048 128 5/16 90 10 45 5 0 3 2 1 writethrough 0 smq 0 rw -\n",
    }
    devices = tuple(device(name, tree.sys) for name in ("bcache0", "dm-1", "nvme0n1"))
    found = tiers(XFS, devices, MEMORY, tree.sys, tools(says))
    assert [(t.kind, t.at, t.size, t.mode, t.medium) for t in found] == [
        ("page cache", "host", 64 * GIB, "writeback", None),
        ("bcache", "bcache0", 100 * GIB, "writeback", "nvme0n1"),
        ("dm-cache", "dm-1", 100 * GIB, "writethrough", "nvme0n1"),
        ("device write cache", "nvme0n1", None, "writeback", None),
    ]
    assert (found[1].dirty, found[1].hit_share) == (3 * GIB // 2, 0.87)
    assert (found[2].dirty, found[2].hit_share) == (2 * 64 * KIB, 0.9)


def test_the_tiers_of_zfs(tree: Tree) -> None:
    rows = {"size": 8 * GIB, "c_max": 32 * GIB, "hits": 9, "misses": 1, "l2_size": 500 * GIB, "l2_asize": 400 * GIB}
    lines = "\n".join(f"{name:<31} 4    {value}" for name, value in rows.items())
    tree.file("/proc/spl/kstat/zfs/arcstats", f"13 1 0x01 98 26656 5 6\nname  type data\n{lines}")
    found = tiers(XFS.model_copy(update={"kind": "zfs"}), (), MEMORY, tree.sys, NONE)
    assert [(t.kind, t.size, t.hit_share) for t in found] == [("ARC", 32 * GIB, 0.9), ("L2ARC", 400 * GIB, None)]


def card(tree: Tree, name: str, **files: str | int) -> None:
    files = {"flags": "0x1003", "type": 1, "mtu": 1500, "ifindex": 2, "iflink": 2, **files}
    for key, value in files.items():
        tree.file(f"/sys/class/net/{name}/{key.replace('__', '/')}", value)


def test_cards_with_rate_rdma_and_what_is_made_of_them(tree: Tree) -> None:
    for name in ("ens3f0", "ens3f1"):
        card(tree, name, mtu=9000, speed=25000, duplex="full", device__numa_node=1)
        for queue in ("rx-0", "rx-1", "tx-0"):
            tree.file(f"/sys/class/net/{name}/queues/{queue}/x", 0)
    card(tree, "bond0", mtu=9000, speed=50000, duplex="full", uevent="DEVTYPE=bond\nINTERFACE=bond0")
    for name in ("ens3f0", "ens3f1"):
        tree.file(f"/sys/class/net/bond0/lower_{name}/x", 0)
    card(tree, "ib0", type=32, mtu=2044, speed=100000, device__x=0)
    card(tree, "veth1", ifindex=7, iflink=6)
    card(tree, "down0", flags="0x1002", device__x=0)
    for device_, net, layer, node in (
        ("mlx5_0", "ens3f0", "Ethernet", "1: CA"),
        ("mlx5_2", "ib0", "InfiniBand", "1: CA"),
    ):
        tree.file(f"/sys/class/infiniband/{device_}/ports/1/link_layer", layer)
        tree.file(f"/sys/class/infiniband/{device_}/node_type", node)
        tree.file(f"/sys/class/infiniband/{device_}/device/net/{net}/x", 0)
    found = {one.name: one for one in interfaces(tree.sys)}
    assert list(found) == ["ens3f0", "ens3f1", "ib0", "bond0", "veth1"]
    first = found["ens3f0"]
    assert (first.kind, first.rate, first.mtu, first.queues, first.numa_node) == ("ethernet", 25 * 10**9, 9000, 2, 1)
    assert (first.rdma, found["ens3f1"].rdma, found["ib0"].rdma) == (("mlx5_0 RoCE",), (), ("mlx5_2 InfiniBand",))
    assert (found["bond0"].kind, found["bond0"].members) == ("bond", ("ens3f0", "ens3f1"))
    assert (found["ib0"].kind, found["veth1"].kind, found["veth1"].card) == ("infiniband", "veth", False)
    known = {name: one.rate for name, one in found.items() if one.rate is not None and name != "veth1"}
    assert link_rates(tree.sys) == known and "ens3f0" in known


def test_a_rate_is_of_hardware_alone(tree: Tree) -> None:
    """A pair of virtual interfaces says 10 Gb/s, and carries what the CPU does."""
    for name, speed in (("eth0", 1000), ("veth1", 10000), ("eth1", -1)):
        tree.file(f"/sys/class/net/{name}/flags", "0x1003")
        tree.file(f"/sys/class/net/{name}/speed", speed)
        if name.startswith("eth"):
            tree.file(f"/sys/class/net/{name}/device/vendor", "0x1")
    assert link_rates(tree.sys) == {"eth0": 10**9}


SMART = "smartctl --json --all --nocheck=standby /dev/sda"
ATTRIBUTES = [(5, 100, 8), (197, 100, 2), (198, 100, 1), (199, 200, 12), (233, 15, 0)]
ATA_SAYS = {
    "smart_status": {"passed": True}, "temperature": {"current": 41}, "power_on_time": {"hours": 31000},
    "rotation_rate": 0,
    "ata_smart_attributes": {"table": [{"id": i, "value": v, "raw": {"value": r}} for i, v, r in ATTRIBUTES]},
}  # fmt: skip
SAS_SAYS = {
    "smart_status": {"passed": False}, "temperature": {"current": 38, "drive_trip": 65}, "scsi_grown_defect_list": 260,
    "scsi_error_counter_log": {"read": {"total_uncorrected_errors": 5}, "write": {"total_uncorrected_errors": 1}},
}  # fmt: skip
LOG = {
    "critical_warning": 4, "temperature": 71, "available_spare": 8, "percentage_used": 93, "power_on_hours": 20000,
    "media_errors": 3, "warning_temp_time": 2, "critical_comp_time": 1,
}  # fmt: skip


def asked(tree: Tree, says: Mapping[str, str | OSError], name: str = "sda", **facts: str | int) -> Health | None:
    place = ATA if name == "sda" else "pci0000:00/0000:01:00.0/nvme/nvme0"
    tree.disk(name, "8:0", place, rotational=0, **facts)
    return health(device(name, tree.sys), tree.sys, tools(says))


def test_the_health_of_sata(tree: Tree) -> None:
    found = asked(tree, {SMART: json.dumps(ATA_SAYS)}, device__ioerr_cnt="0x1a")
    assert found == Health(
        source="smartctl", passed=True, celsius=41, hours=31000, used=0.85, reallocated=8, pending=2, uncorrected=1,
        link_errors=12, kernel_errors=26,
    )  # fmt: skip


def test_the_health_of_sas(tree: Tree) -> None:
    found = asked(tree, {SMART: json.dumps(SAS_SAYS)})
    assert found == Health(
        source="smartctl", passed=False, celsius=38, celsius_limit=65, uncorrected=6, reallocated=260
    )


def test_the_health_of_nvme_by_either_program(tree: Tree) -> None:
    smart = SMART.replace("sda", "nvme0n1")
    says = {"smart_status": {"passed": False}, "nvme_smart_health_information_log": LOG}
    found = asked(tree, {smart: json.dumps(says)}, "nvme0n1")
    expected = Health(
        source="smartctl", passed=False, celsius=71, hours=20000, used=0.93, spare=0.08, uncorrected=3, critical=4,
        hot_seconds=180,
    )  # fmt: skip
    assert found == expected


def test_nvme_cli_is_asked_without_smartctl(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tools, "has", lambda _, program: program == "nvme")
    words = "nvme smart-log --output-format=json /dev/nvme0n1"
    says = {"critical_warning": 0, "temperature": 310, "avail_spare": 100, "percent_used": 1, "media_errors": "0"}
    found = asked(tree, {words: json.dumps(says)}, "nvme0n1")
    assert found == Health(source="nvme", passed=True, celsius=36.9, used=0.01, spare=1.0, uncorrected=0, critical=0)


def test_a_sleeping_disk_is_not_woken_and_said_to_sleep(tree: Tree) -> None:
    asleep = {"smartctl": {"messages": [{"string": "Device is in STANDBY mode, exit(2)", "severity": "information"}]}}
    tree.disk("sda", "8:0", ATA)
    programs = tools({SMART: json.dumps(asleep)})
    assert health(device("sda", tree.sys), tree.sys, programs) is None
    assert programs.missed == {"health of /dev/sda": "asleep: it was not woken"}


@pytest.mark.parametrize("said", ["", "[]", "{", '{"temperature": "hot"}', '{"ata_smart_attributes": {"table": [7]}}'])
def test_what_is_no_answer_is_no_health(tree: Tree, said: str) -> None:
    assert asked(tree, {SMART: said}) is None


def test_without_a_program_the_kernel_still_knows_the_temperature(tree: Tree) -> None:
    found = asked(tree, {}, device__hwmon__hwmon3__temp1_input=43000, device__hwmon__hwmon3__temp1_max=60000)
    assert found == Health(source="kernel", celsius=43, celsius_limit=60)


def log(tree: Tree, *lines: str, first: int = 0) -> None:
    records = [f"3,{first + i},{1_000_000 * (i + 1)},-;{line}\n SUBSYSTEM=block" for i, line in enumerate(lines)]
    tree.file("/dev/kmsg", "\n".join(records))


def test_errors_of_the_log_belong_to_the_device_they_name(tree: Tree) -> None:
    tree.disk("sda", "8:0", ATA)
    tree.disk("nvme0n1", "259:0", "pci0000:00/0000:01:00.0/nvme/nvme0")
    log(
        tree,
        "Linux version 6.1.0",
        "I/O error, dev sda, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
        "I/O error, dev sdaa, sector 7 op 0x0:(READ)",
        "ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen",
        "ata30: hard resetting link",
        "nvme nvme0: I/O 12 QID 3 timeout, aborting",
        "EXT4-fs (sdb1): mounted filesystem",
        "sd 2:0:0:0: [sda] tag#3 FAILED Result: hostbyte=DID_OK",
    )
    devices = [device(name, tree.sys) for name in ("sda", "nvme0n1")]
    found = kernel_log(names_of(devices, tree.sys), tree.sys)
    assert [line.device for line in found.lines] == ["sda", "", "sda", "", "nvme0n1", "sda"]
    assert (found.count, found.whole, found.lines[0].seconds) == (6, True, 2.0)


def test_of_many_errors_all_are_counted_and_ours_are_kept(tree: Tree) -> None:
    tree.disk("sda", "8:0", ATA)
    others = [f"I/O error, dev sdz, sector {n}" for n in range(50)]
    log(tree, "I/O error, dev sda, sector 1", *others, first=900)
    found = kernel_log(names_of([device("sda", tree.sys)], tree.sys), tree.sys)
    assert (found.count, len(found.lines), found.whole) == (51, LINES_MOST, False)
    assert found.lines[0].device == "sda" and found.lines[-1].text == others[-1]


def test_a_log_that_may_not_be_read_is_an_error(tree: Tree) -> None:
    with pytest.raises(OSError):
        kernel_log({}, tree.sys)
