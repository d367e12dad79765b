"""btrfs over a disk of the owner and disks of other nodes: mirrors (raid1) and stripes (raid0) made by the kernel.

The other nodes serve their disks over NBD; on the owner each is a block device again (nbdfuse, and a loop device with
direct I/O on its file). Copies are made by the owner: a client elsewhere sends each byte to it once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strata.errors import RunFailed
from strata.lab.lab import Lab
from strata.lab.nodes import Node
from strata.lab.servers import storage_daemon
from strata.lab.undo import loops_on, mounted

CONNECTIONS = 4
"""NBD connections for each remote disk: requests of one connection are answered by one thread of nbdfuse."""
PROFILES = {2: "raid1", 3: "raid1c3", 4: "raid1c4"}
# Checksums and copy-on-write would add writes of their own to each write of the application.
_OPTIONS = "nodatacow,nodatasum,max_inline=0,noatime"
_TOOL_S = 60.0


@dataclass(frozen=True)
class Volume:
    """A mounted volume. ``devices``: as the owner sees them, its own first; ``path``: where it is mounted."""

    lab: Lab
    owner: Node
    devices: tuple[str, ...]
    path: Path
    profile: str

    def grow(self, node: Node, device: str) -> Volume:
        """The disk of another node joins the running volume, and the data is spread anew over all of them.

        Blocks until it is spread. Raises `RunFailed` with the tool's words.
        """
        added = remote_disk(self.lab, self.owner, node, device, name=f"{self.path.name}-{node.name}")
        _tool(["btrfs", "device", "add", "-f", "-K", added, str(self.path)])
        # Metadata is copied, data striped: a stripe of metadata would not survive one node less.
        words = ["btrfs", "balance", "start", f"-dconvert={self.profile}", "--full-balance", str(self.path)]
        _tool([w for w in words if w != "--full-balance"])
        return Volume(self.lab, self.owner, (*self.devices, added), self.path, self.profile)

    def spread(self) -> dict[str, int]:
        """Bytes of data that each device holds."""
        said = _tool(["btrfs", "device", "usage", "--raw", str(self.path)])
        found: dict[str, int] = {}
        device = ""
        for line in said.splitlines():
            if not line.startswith(" "):
                device = line.partition(",")[0]
            elif line.strip().startswith("Data,"):
                found[device] = found.get(device, 0) + int(line.split()[-1])
        return found


def mirror(lab: Lab, owner: Node, own: str, others: Sequence[tuple[Node, str]], *, name: str = "mirror") -> Volume:
    """Each byte on the owner's disk and on every other node's: two to four copies."""
    copies = 1 + len(others)
    if copies not in PROFILES:
        raise RunFailed("cannot make a mirror of", f"{copies} copies", "btrfs makes two to four")
    devices = (own, *(remote_disk(lab, owner, n, d, name=f"{name}-{n.name}") for n, d in others))
    return _volume(lab, owner, devices, PROFILES[copies], PROFILES[copies], name)


def stripe(lab: Lab, owner: Node, others: Sequence[tuple[Node, str]], *, name: str = "stripe") -> Volume:
    """64 KiB of data in turn on the disk of each of ``others``; the owner holds none."""
    devices = tuple(remote_disk(lab, owner, n, d, name=f"{name}-{n.name}") for n, d in others)
    return _volume(lab, owner, devices, "raid0" if len(devices) > 1 else "single", "single", name)


def remote_disk(lab: Lab, owner: Node, node: Node, device: str, *, name: str) -> str:
    """``device`` of ``node``, served over NBD, as a block device (``/dev/loopN``) of the owner."""
    exports = storage_daemon.serve(lab, node, {"disk": storage_daemon.disk(device)}, name=f"nbd-{name}")
    folder = lab.dir(f"remote/{name}")
    lab.undo("mount", path=str(folder))
    words = ["nbdfuse", "-C", str(CONNECTIONS), str(folder), exports.uris["disk"]]
    lab.run(owner, words, name=f"nbdfuse-{name}", wait_for=lambda: mounted(str(folder)))
    return _loop(lab, folder / "nbd")


def _volume(lab: Lab, owner: Node, devices: tuple[str, ...], data: str, metadata: str, name: str) -> Volume:
    _tool(["mkfs.btrfs", "-q", "-f", "-K", "-d", data, "-m", metadata, *devices])
    _tool(["btrfs", "device", "scan", *devices])
    path = lab.dir(f"mounts/{name}")
    lab.undo("mount", path=str(path))
    _tool(["mount", "-t", "btrfs", "-o", _OPTIONS, devices[0], str(path)])
    return Volume(lab, owner, devices, path, data)


def _loop(lab: Lab, backing: Path) -> str:
    lab.undo("loop", backing=str(backing))
    _tool(["losetup", "--find", "--direct-io=on", str(backing)])
    return loops_on(str(backing))[0]


def _tool(argv: Sequence[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TOOL_S, check=False)
    except subprocess.TimeoutExpired as e:
        raise RunFailed(f"{argv[0]} did not end:", " ".join(argv), f"within {_TOOL_S:g} s") from e
    if done.returncode:
        raise RunFailed(f"{argv[0]} refused", " ".join(argv[1:]), done.stderr.strip() or f"exit {done.returncode}")
    return done.stdout
