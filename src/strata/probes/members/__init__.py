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

from strata.host.block import BASE, SECTOR, btrfs, slaves
from strata.model.counters import members as counted
from strata.probes.port import ProbeScope, TableProbe, Told

_MS, _WRAP = 1e-3, 1 << 32


class MembersProbe(TableProbe):
    """Of ``scope.devices`` and what they are made of."""

    wraps = {counted.SECONDS: _WRAP * _MS}

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        found = _families(scope)
        members = [(device, member) for device, several in found.items() for member in several]
        self._stats = {of: self.keep(f"{BASE}/{of[1]}/stat", scope) for of in members}
        self._states = {of: self.keep(f"{BASE}/{of[1]}/device/state", scope) for of in members}
        self._arrays = {
            (counter, (device,)): self.keep(f"{BASE}/{device}/md/{name}", scope)
            for device in found
            for name, counter in (("degraded", counted.DEGRADED), ("mismatch_cnt", counted.MISMATCHES))
        }
        self.begin()

    def told(self) -> Told:
        found: Told = {}
        for of, file in self._stats.items():
            line = file.read().split()
            if len(line) >= 11:
                found[counted.READ_BYTES, of] = int(line[2]) * SECTOR
                found[counted.WRITE_BYTES, of] = int(line[6]) * SECTOR
                found[counted.SECONDS, of] = (int(line[3]) + int(line[7])) * _MS
        # SCSI says "running", NVMe "live".
        states = {of: text for of, file in self._states.items() if (text := file.read().strip())}
        found |= {(counted.RUNNING, of): float(text in (b"running", b"live")) for of, text in states.items()}
        arrays = {key: file.read().strip() for key, file in self._arrays.items()}
        return found | {key: float(text) for key, text in arrays.items() if text.isdigit()}


def _families(scope: ProbeScope) -> dict[str, tuple[str, ...]]:
    found = {name: members for name in scope.device_names if len(members := slaves(name, scope.sys)) > 1}
    for uuid, members in btrfs(scope.sys).items():
        if len(members) > 1 and set(members) & set(scope.device_names):
            found[f"btrfs {uuid[:8]}"] = members
    return found


open_probe = MembersProbe
