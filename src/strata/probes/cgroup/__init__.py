"""Control groups: when a CPU quota held the path's processes back.

Reads    cpu.stat of the groups (versions 1 and 2) of the processes it is given and of those that listen on its ports,
         with all their parents but the root; where no namespace is named, of this process too.
Makes    ``cgroup_periods``, ``cgroup_throttled_periods`` (periods, counter), ``cgroup_throttled_seconds`` (s, counter:
         summed over CPUs), each with ``{cgroup=…}``, and ``process=…`` where the group is not this process's own.
Costs    87 µs per sample with 1 group, 15 µs without a quota.
Needs    a group with a quota; a group without one has no columns.
Blind to I/O limits (version 1 counts no time for them); quotas that are set after it was opened; limits that a
         hypervisor holds, which show as steal.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.host.cgroups import groups
from strata.model.counters import Counter, cgroup
from strata.probes.port import Column, PersistentFile, Probe, ProbeScope
from strata.probes.servers.find import listeners
from strata.units import NS_PER_S

OF_NODE = True

# (counter, the kernel's names with what turns them into the unit)
_FIELDS: tuple[tuple[Counter, dict[bytes, float]], ...] = (
    (cgroup.PERIODS, {b"nr_periods": 1}),
    (cgroup.THROTTLED_PERIODS, {b"nr_throttled": 1}),
    (cgroup.THROTTLED_SECONDS, {b"throttled_usec": 1e-6, b"throttled_time": 1 / NS_PER_S}),
)


class CgroupProbe(Probe):
    """Of ``scope.pids``, who listens on ``scope.ports``, and this process."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._files: dict[str, PersistentFile] = {}
        labels: dict[str, dict[str, str]] = {}
        # This process is the client's end of the path. Another node has the servers, whatever drives it from here.
        own = () if scope.netns or scope.pids else ("self",)
        for pid in (*own, *scope.pids, *listeners(scope)):
            for directory, name in groups(scope.sys, pid):
                if name in self._files or name == "/" or not _limited(directory, scope):
                    continue
                self._files[name] = self.keep(f"{directory}/cpu.stat", scope)
                # A group that this process is in as well is its own, whoever else is there.
                who = "" if pid == "self" else (scope.sys.text(f"/proc/{pid}/comm") or "").strip()
                labels[name] = {"cgroup": name} | ({"process": who} if who else {})
        self.columns = tuple(Column(counter, labels[name]) for name in self._files for counter, _ in _FIELDS)

    def read(self) -> Sequence[float | None]:
        values: list[float | None] = []
        for file in self._files.values():
            found = file.pairs()
            for _, names in _FIELDS:
                values.append(next((int(found[n]) * factor for n, factor in names.items() if n in found), None))
        return values


def _limited(directory: str, scope: ProbeScope) -> bool:
    quota = scope.sys.text(f"{directory}/cpu.max")
    if quota is not None:
        return not quota.startswith("max")
    return (scope.sys.int(f"{directory}/cpu.cfs_quota_us") or -1) > 0


open_probe = CgroupProbe
