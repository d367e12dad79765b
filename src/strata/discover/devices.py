"""One block device as sysfs describes it. What cannot be read is None, never a usual value."""

from __future__ import annotations

from strata.discover.clients import describe_rbd
from strata.host import block
from strata.host.block import SECTOR
from strata.host.proc import Sys
from strata.model.survey import Device

# Name prefixes of drivers that have no better sign of themselves.
_PREFIXES = {
    "loop": "loop",
    "zram": "zram",
    "nbd": "nbd",
    "rbd": "rbd",
    "drbd": "drbd",
    "bcache": "bcache",
    "mmcblk": "mmc",
    "ram": "ram",
    "pmem": "pmem",
    "zd": "zvol",
    "nullb": "null",
    "nvme": "nvme",
    "vd": "virtio",
    "xvd": "xen",
    "sr": "optical",
    "sd": "scsi",
}
_DM_PREFIXES = {"LVM-": "lvm", "mpath-": "multipath", "CRYPT-": "crypt", "VDO-": "vdo", "RAID-": "raid"}


def device(name: str, sys: Sys) -> Device:
    """What is known of the device ``name`` (as in /sys/class/block)."""
    base = f"{block.BASE}/{name}"
    # A partition has no queue of its own: its disk's settings are what its I/O meets.
    disk = block.parent(name, sys) or name
    whole = f"{block.BASE}/{disk}"
    queue = f"{whole}/queue"
    kind = kind_of(name, sys)
    size = sys.int(f"{base}/size")
    rotational, max_kb, start = sys.int(f"{queue}/rotational"), sys.int(f"{queue}/max_sectors_kb"), _start(base, sys)
    return Device(
        name=name,
        path=block.node_path(name),
        devno=block.devno_of(name, sys) or "",
        kind=kind,
        size=None if size is None else size * SECTOR,
        model=_words(sys, f"{whole}/device/vendor", f"{whole}/device/model") if kind != "virtio" else None,
        serial=_words(sys, f"{whole}/device/serial") or _words(sys, f"{whole}/serial") or _vpd(sys, whole),
        firmware=_words(sys, f"{whole}/device/firmware_rev") or _words(sys, f"{whole}/device/rev"),
        transport=transport(disk, sys),
        rotational=None if rotational is None else rotational == 1,
        write_cache=sys.text(f"{queue}/write_cache"),
        scheduler=_chosen(sys.text(f"{queue}/scheduler")),
        logical_block=sys.int(f"{queue}/logical_block_size"),
        physical_block=sys.int(f"{queue}/physical_block_size"),
        minimum_io=sys.int(f"{queue}/minimum_io_size") or None,
        # The kernel writes 0 where the device states none.
        optimal_io=sys.int(f"{queue}/optimal_io_size") or None,
        max_sectors_bytes=None if max_kb is None else max_kb * 1024,
        nr_requests=sys.int(f"{queue}/nr_requests"),
        queues=len(sys.names(f"{whole}/mq")) or None,
        alignment_offset=sys.int(f"{base}/alignment_offset"),
        partition_start=None if start is None else start * SECTOR,
        read_only=None if (ro := sys.int(f"{base}/ro")) is None else ro == 1,
        holders=block.holders(name, sys),
        members=(disk,) if disk != name else block.slaves(name, sys),
        detail=_detail(name, kind, sys),
    )


def kind_of(name: str, sys: Sys) -> str:
    """``partition``, ``lvm``, ``multipath``, ``crypt``, ``md``, ``loop``, ``zram``, ``nvme``, ``virtio``, ``scsi`` …"""
    base = f"{block.BASE}/{name}"
    uuid = sys.text(f"{base}/dm/uuid")
    if sys.exists(f"{base}/dm"):
        if uuid and uuid.startswith("part"):
            return "partition"
        return next((kind for prefix, kind in _DM_PREFIXES.items() if (uuid or "").startswith(prefix)), "device-mapper")
    if sys.exists(f"{base}/md"):
        return "md"
    if block.parent(name, sys):
        return "partition"
    return next((kind for prefix, kind in _PREFIXES.items() if name.startswith(prefix)), "unknown")


def transport(disk: str, sys: Sys) -> str | None:
    """How the disk is attached, from its place in the device tree; None for devices made of others."""
    place = sys.real(f"{block.BASE}/{disk}") or ""
    if disk.startswith("nvme"):
        return sys.text(f"{block.BASE}/{disk}/device/transport") or sys.text(
            f"{block.BASE}/{disk}/device/device/transport"
        )
    signs = (
        ("/session", "iscsi"),
        ("/rport-", "fc"),
        ("/end_device-", "sas"),
        ("/usb", "usb"),
        ("/ata", "sata"),
        ("/vmbus", "hyper-v"),
        ("/VMBUS", "hyper-v"),
        ("/virtio", "virtio"),
        ("/vbd-", "xen"),
        ("/mmc", "mmc"),
    )
    return next((kind for sign, kind in signs if sign in place), None)


def _detail(name: str, kind: str, sys: Sys) -> dict[str, str]:
    base = f"{block.BASE}/{name}"
    wanted = {
        "dm_name": f"{base}/dm/name",
        "md_level": f"{base}/md/level",
        "md_disks": f"{base}/md/raid_disks",
        "md_chunk_bytes": f"{base}/md/chunk_size",
        "md_degraded": f"{base}/md/degraded",
        "md_sync": f"{base}/md/sync_action",
        "md_policy": f"{base}/md/consistency_policy",
        "backing_file": f"{base}/loop/backing_file",
        "direct_io": f"{base}/loop/dio",
        "loop_offset": f"{base}/loop/offset",
        "compression": f"{base}/comp_algorithm",
        "read_ahead_kib": f"{base}/queue/read_ahead_kb",
        "zoned": f"{base}/queue/zoned",
    }
    found = {key: text for key, path in wanted.items() if (text := sys.text(path))}
    if "compression" in found:
        found["compression"] = _chosen(found["compression"]) or found["compression"]
    if found.get("zoned") == "none":
        del found["zoned"]
    if medium := _medium(kind, base, sys):
        found["medium"] = medium
    return found | (describe_rbd(name, sys) if kind == "rbd" else {})


def _medium(kind: str, base: str, sys: Sys) -> str | None:
    """What the bits finally lie on; None for a device that is made of others."""
    if kind in ("zram", "ram", "null"):
        return "memory"
    if kind in ("nvme", "pmem", "mmc"):
        return "solid state"
    if kind in ("virtio", "xen"):
        # The flag is whatever the hypervisor's default is; it says nothing of the disk behind.
        return "virtual, its storage is hidden"
    if kind in ("nbd", "rbd", "drbd"):
        return "remote"
    if kind == "scsi":
        rotational = sys.int(f"{base}/queue/rotational")
        return None if rotational is None else ("rotating disk" if rotational else "solid state")
    return None


def _start(base: str, sys: Sys) -> int | None:
    return sys.int(f"{base}/start") if sys.exists(f"{base}/partition") else None


def _chosen(text: str | None) -> str | None:
    """``mq-deadline`` from ``none [mq-deadline] kyber``."""
    if text is None:
        return None
    return text.partition("[")[2].partition("]")[0] or text


def _words(sys: Sys, *paths: str) -> str | None:
    words = " ".join(text for path in paths if (text := sys.text(path)))
    clean = " ".join("".join(c for c in words if c.isprintable()).split())
    return clean or None


def _vpd(sys: Sys, whole: str) -> str | None:
    """SCSI's unit serial number page: four bytes of header, then the text."""
    text = sys.text(f"{whole}/device/vpd_pg80")
    return None if text is None else ("".join(c for c in text[3:] if c.isprintable()).strip() or None)
