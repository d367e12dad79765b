"""A station of the path whose counters are read: this machine, a network namespace of it, or another machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata.host.proc import Sys
from strata.probes.port import Scope
from strata.probes.processes import Processes


@dataclass(frozen=True)
class Node:
    """``name`` becomes the label ``node`` of its columns; None: no label, this machine as it is.

    ``netns``: path of its network namespace. ``ports``: TCP ports the path uses there, at either end; the process
    that listens on one is found by it. ``pids``: further processes of the path. ``smb_conf``: configuration file of
    its Samba server. ``stats``: statistics socket of a target of our own. ``url``: its OpenMetrics text, for a
    machine that is not this one; nothing else is read there.
    """

    name: str | None = None
    netns: str | None = None
    pids: tuple[int, ...] = ()
    ports: tuple[int, ...] = ()
    smb_conf: str | None = None
    stats: str | None = None
    url: str | None = None

    def scope(
        self, sys: Sys, devices: Sequence[str], paths: Sequence[str], processes: Processes | None = None
    ) -> Scope:
        """What the probes of this node look at."""
        return Scope(
            sys=sys,
            devices=tuple(devices),
            paths=tuple(paths),
            netns=self.netns,
            pids=self.pids,
            ports=self.ports,
            url=self.url,
            smb_conf=self.smb_conf,
            stats=self.stats,
            processes=processes,
        )
