"""What is left of a lab that was removed: the check behind the promise that nothing is."""

from __future__ import annotations

from pathlib import Path

from strata.lab import proc, where
from strata.lab.ledger import Ledger
from strata.lab.undo import NETNS_DIR

_CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))


def leftovers(name: str, token: str) -> tuple[str, ...]:
    """Namespaces, mounts, loop devices, processes, control groups, files: one line for each that is still there."""
    data, prefix = where.data_dir(name), f"strata-{name}-"
    found = [f"namespace {p.name}" for p in _below(NETNS_DIR) if p.name.startswith(prefix)]
    mounts = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    found += [f"mount {row.split(' ')[1]}" for row in mounts if f"{data}/" in f"{row.split(' ')[1]}/"]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if backing.read_text().startswith(f"{data}/"):
                found.append(f"loop device {backing.parts[3]}")
        except OSError:
            continue  # detached meanwhile
    found += [f"process {pid}" for pid, _ in proc.marked(token)]
    found += [f"control group {p}" for root in _CGROUPS for p in _below(root) if p.name.startswith(prefix)]
    return (*found, *(f"directory {p}" for p in (data, Ledger(name).dir) if p.exists()))


def _below(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []
