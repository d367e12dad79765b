"""What is left of a lab that was removed: the check behind the promise that nothing is."""

from __future__ import annotations

from pathlib import Path

from strata.host.mounts import mounts
from strata_lab import proc, where
from strata_lab.ledger import Ledger
from strata_lab.namespaces import NETNS_DIR, mounted_names

_CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))


def leftovers(name: str, token: str) -> tuple[str, ...]:
    """Namespaces, mounts, loop devices, processes, control groups, files: one line for each that is still there."""
    data, prefix = where.data_dir(name), f"strata-{name}-"
    called = {*(p.name for p in _below(NETNS_DIR)), *mounted_names()}
    found = [f"namespace {one}" for one in sorted(called) if one.startswith(prefix)]
    found += of_its_own(data, token)
    found += [f"control group {p}" for root in _CGROUPS for p in _below(root) if p.name.startswith(prefix)]
    return (*found, *(f"directory {p}" for p in (data, Ledger(name).dir) if p.exists()))


def of_its_own(data: Path, token: str) -> list[str]:
    """Mounts and loop devices of what is in the lab's directory, and processes that carry its token."""
    found = [f"mount {m.point}" for m in mounts() if f"{m.point}/".startswith(f"{data}/")]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if backing.read_text().startswith(f"{data}/"):
                found.append(f"loop device {backing.parts[3]}")
        except OSError:
            continue  # detached meanwhile
    return found + [f"process {pid}" for pid, _ in (proc.marked(token) if token else ())]


def _below(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []
