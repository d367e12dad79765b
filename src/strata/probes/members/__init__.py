"""Members of a device made of several: RAID legs, paths of a multipath device, parts of a volume, btrfs devices.

Reads    /sys/class/block/<device>/slaves, /sys/fs/btrfs/*/devices, the members' stat; md/degraded, md/mismatch_cnt,
         md/sync_completed and the paths' device/state.
Makes    ``member_read_bytes``, ``member_write_bytes`` (B, counter), ``member_seconds`` (s, counter: summed over
         requests), ``member_running`` (1 or 0, gauge: the path's state), each with ``{device=…, member=…}``;
         ``md_degraded`` (members, gauge), ``md_mismatches`` (sectors, gauge) with ``{device=…}``.
Costs    55 µs per sample with 2 members, 15 µs without any.
Needs    a device with at least two members.
Blind to weights and policies: it shows what each carried, and an even share is not always what is wanted. Members of
         another machine (Ceph, Gluster) are that machine's devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.host.block import BASE, btrfs, slaves
from strata.model.counters import members as counted
from strata.probes.port import Column, PersistentFile, Probe, ProbeScope

_MS, _SECTOR, _WRAP = 1e-3, 512, 1 << 32


class MembersProbe(Probe):
    """Of ``scope.devices`` and what they are made of."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._stats: list[PersistentFile] = []
        self._states: list[PersistentFile] = []
        self._arrays: list[PersistentFile] = []
        stats: list[Column] = []
        states: list[Column] = []
        arrays: list[Column] = []
        found = _families(scope)
        for device, members in found.items():
            for member in members:
                labels = {"device": device, "member": member}
                self._stats.append(self.keep(f"{BASE}/{member}/stat", scope))
                stats += [
                    Column(counted.READ_BYTES, labels),
                    Column(counted.WRITE_BYTES, labels),
                    Column(counted.SECONDS, labels, _WRAP * _MS),
                ]
                if scope.sys.exists(f"{BASE}/{member}/device/state"):
                    self._states.append(self.keep(f"{BASE}/{member}/device/state", scope))
                    states.append(Column(counted.RUNNING, labels))
            for name, counter in (("degraded", counted.DEGRADED), ("mismatch_cnt", counted.MISMATCHES)):
                if scope.sys.exists(f"{BASE}/{device}/md/{name}"):
                    self._arrays.append(self.keep(f"{BASE}/{device}/md/{name}", scope))
                    arrays.append(Column(counter, {"device": device}))
        self.columns = (*stats, *states, *arrays)

    def read(self) -> Sequence[float | None]:
        values: list[float | None] = []
        for file in self._stats:
            line = file.read().split()
            if len(line) < 11:
                values += [None, None, None]
                continue
            values += [int(line[2]) * _SECTOR, int(line[6]) * _SECTOR, (int(line[3]) + int(line[7])) * _MS]
        for file in self._states:
            # SCSI says "running", NVMe "live".
            text = file.read().strip()
            values.append(float(text in (b"running", b"live")) if text else None)
        for file in self._arrays:
            text = file.read().strip()
            values.append(float(text) if text.isdigit() else None)
        return values


def _families(scope: ProbeScope) -> dict[str, tuple[str, ...]]:
    found = {name: members for name in scope.device_names if len(members := slaves(name, scope.sys)) > 1}
    for uuid, members in btrfs(scope.sys).items():
        if len(members) > 1 and set(members) & set(scope.device_names):
            found[f"btrfs {uuid[:8]}"] = members
    return found


open_probe = MembersProbe
