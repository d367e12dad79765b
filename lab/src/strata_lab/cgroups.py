"""CPU limits of a lab's processes: control groups of the lab's own, version 1 (``cpu``) or 2, as mounted.

The period is 10 ms, and longer only for less than a tenth of a CPU (the kernel wants 1 ms of it at least). With
its default of 100 ms a limited server works at full speed and then stands still for up to a tenth of a second: the mean
is the same and the tail is another experiment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from strata.errors import RunFailed
from strata_lab.lab import Lab

_PERIOD_US, _LEAST_US = 10_000, 1000
_V1, _V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def limited(lab: Lab, name: str, processors: float, clients_of: str | None = None) -> Path:
    """A new control group that may use so many CPUs (0.2: a fifth of one); its directory.

    With ``clients_of`` a node: what is measured from there joins it, and ``strata lab exec`` as well.
    """
    period = max(_PERIOD_US, int(_LEAST_US / processors))
    quota = max(int(processors * period), _LEAST_US)
    parent, files = _version()
    path = parent / f"strata-{lab.name}-{name}"
    if path.exists():
        raise RunFailed(
            "cannot limit", name, f"{path} exists", "check whether the same injection is active: strata lab status"
        )
    lab.undo("cgroup", path=str(path))
    try:
        path.mkdir()
        for file, value in files(quota, period).items():
            (path / file).write_text(value)
    except OSError as e:
        hint = "CPU limits need a cpu controller that root can use"
        raise RunFailed("cannot limit the CPUs of", name, e.strerror or str(e), hint) from e
    lab.fact("cgroup", path=str(path), clients_of=clients_of)
    return path


def join(group: Path, pids: tuple[int, ...]) -> None:
    """Puts these processes, with all their threads, into it; their later children follow."""
    for pid in pids:
        try:
            (group / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            continue


def leave(group: Path, pid: int) -> None:
    """Takes the process out of it again."""
    with contextlib.suppress(OSError):  # it may have ended
        (group.parent / "cgroup.procs").write_text(str(pid))


def _version() -> tuple[Path, Callable[[int, int], dict[str, str]]]:
    """Where groups are made, and what is written into them for a quota of each period, both in µs."""
    if (_V1 / "cpu.cfs_quota_us").exists() or (_V1 / "cpu.cfs_period_us").exists():
        return _V1, lambda quota, period: {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(quota)}
    if "cpu" in _controllers():
        return _V2, lambda quota, period: {"cpu.max": f"{quota} {period}"}
    raise RunFailed("cannot limit the CPUs", "", "no cpu controller (cgroup v1 or v2) is usable here")


def _controllers() -> tuple[str, ...]:
    try:
        return tuple((_V2 / "cgroup.subtree_control").read_text().split())
    except OSError:
        return ()
