"""Sockets, cores and threads, and the frequency governor of every CPU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from strata.host.proc import Sys
from strata.model.groups import grouped

_HOME = "/sys/devices/system/cpu"


def topology(sys: Sys) -> dict[str, Any]:
    """Fields of `Cpu`: what cannot be read is left out."""
    places = {number: _place(sys, number) for number in _numbers(sys)}
    known = [place for place in places.values() if place is not None]
    found: dict[str, Any] = {"frequency_driver": sys.text(f"{_HOME}/cpufreq/policy0/scaling_driver") or sys.text(
        f"{_HOME}/cpu0/cpufreq/scaling_driver"
    )}  # fmt: skip
    if known:
        sockets, cores = len({place[0] for place in known}), len(set(known))
        found |= {"sockets": sockets, "cores_per_socket": -(-cores // sockets)}
        found["threads_per_core"] = max(known.count(place) for place in set(known))
    active = sys.int(f"{_HOME}/smt/active")
    found |= {"smt": None if active is None else active == 1, "smt_control": sys.text(f"{_HOME}/smt/control")}
    said = ((sys.text(f"{_HOME}/cpu{number}/cpufreq/scaling_governor"), number) for number in places)
    governors = grouped((governor, number) for governor, number in said if governor)
    found["governors"] = {governor: ranges(numbers) for governor, numbers in sorted(governors.items())}
    return found | {"governor": ", ".join(sorted(governors)) or None}


def ranges(numbers: Iterable[int]) -> str:
    """``0-3,8`` of 0, 1, 2, 3, 8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def _numbers(sys: Sys) -> list[int]:
    return sorted(int(name[3:]) for name in sys.names(_HOME) if re.fullmatch(r"cpu\d+", name))


def _place(sys: Sys, number: int) -> tuple[int, int, int] | None:
    """Socket, die and core; None for a CPU that is off line, which has none."""
    home = f"{_HOME}/cpu{number}/topology"
    socket, core = sys.int(f"{home}/physical_package_id"), sys.int(f"{home}/core_id")
    return None if socket is None or core is None else (socket, sys.int(f"{home}/die_id") or 0, core)
