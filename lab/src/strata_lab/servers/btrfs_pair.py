"""btrfs over a disk of the owner and disks of other nodes: mirrors (raid1) and stripes (raid0) made by the kernel.

The other nodes serve their disks over NBD; on the owner each is a block device again (nbdfuse, and a loop device with
direct I/O on its file). Copies are made by the owner: a client elsewhere sends each byte to it once.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strata.errors import RunFailed
from strata_lab import disks
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import program, storage_daemon
from strata_lab.undo import mounted

CONNECTIONS = 4
"""NBD connections for each remote disk: requests of one connection are answered by one thread of nbdfuse."""
PROFILES = {2: "raid1", 3: "raid1c3", 4: "raid1c4"}
# Checksums and copy-on-write would add writes of their own to each write of the application.
_OPTIONS = "nodatacow,nodatasum,max_inline=0,noatime"
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class BtrfsVolume:
    """A mounted volume. ``devices``: as the owner sees them, its own first; ``path``: where it is mounted."""

    lab: Lab
    owner: LabNode
    devices: tuple[str, ...]
    path: Path
    profile: str

    def grow(self, node: LabNode, device: str) -> BtrfsVolume:
        """The disk of another node joins the running stripe, and the data is spread anew over all of them.

        Blocks until it is spread; the volume is used meanwhile. Raises `RunFailed` with the tool's words.
        """
        return self.joined(remote_disk(self.lab, self.owner, node, device, name=f"{self.path.name}-{node.name}"))

    def joined(self, added: str) -> BtrfsVolume:
        """As `grow`, of a device that the owner sees already."""
        disks.add_to_btrfs(added, self.path)
        disks.tool(["btrfs", "balance", "start", "-dconvert=raid0", str(self.path)], "spread the data of")
        return BtrfsVolume(self.lab, self.owner, (*self.devices, added), self.path, "raid0")

    def shrink(self) -> BtrfsVolume:
        """The disk that joined last leaves the running stripe; what it held goes to the others first.

        Blocks until it is empty; the volume is used meanwhile. Raises `RunFailed` with the tool's words.
        """
        *left, gone = self.devices
        if len(left) < 2:
            # A stripe over one disk is none.
            words = ["btrfs", "balance", "start", "-f", "-dconvert=single", str(self.path)]
            disks.tool(words, "prepare to remove a device from")
        disks.tool(["btrfs", "device", "remove", gone, str(self.path)], "remove a device from")
        return BtrfsVolume(self.lab, self.owner, tuple(left), self.path, "raid0" if len(left) > 1 else "single")

    def copied_to(self, others: Sequence[tuple[LabNode, str]]) -> BtrfsVolume:
        """The disks of other nodes join the running mirror and each gets a copy of everything.

        Blocks until they have it. All join first: converting twice in a row once left a volume read-only.
        """
        profile = PROFILES[len(self.devices) + len(others)]
        added = [remote_disk(self.lab, self.owner, n, d, name=f"{self.path.name}-{n.name}") for n, d in others]
        for device in added:
            disks.add_to_btrfs(device, self.path)
        convert = [f"-dconvert={profile}", f"-mconvert={profile}"]
        disks.tool(["btrfs", "balance", "start", *convert, str(self.path)], "copy the data of")
        return BtrfsVolume(self.lab, self.owner, (*self.devices, *added), self.path, profile)

    def own_reader(self, path: Path) -> Callable[[int], bool]:
        """Says of a task's id whether btrfs lets it read ``path`` from the owner's own disk.

        The kernel has one policy: the id modulo the number of copies names the copy. Which one is the owner's is tried.
        """
        copies = len(self.devices)
        for residue in range(copies):
            before = _sectors_read(self.devices[0])
            _read_as(lambda task, residue=residue: task % copies == residue, path, residue)  # type: ignore[misc]
            # Metadata is read on the way, from either copy.
            if (_sectors_read(self.devices[0]) - before) * 512 >= _PIECE_BYTES:
                return lambda task: task % copies == residue
        raise RunFailed("no task reads from the disk of the owner", self.devices[0], f"{path} was read by {copies}")

    def spread(self) -> dict[str, int]:
        """Bytes of data that each device holds."""
        said = disks.tool(["btrfs", "device", "usage", "--raw", str(self.path)], "ask")
        found: dict[str, int] = {}
        device = ""
        for line in said.splitlines():
            if not line.startswith(" "):
                device = line.partition(",")[0]
            elif line.strip().startswith("Data,"):
                found[device] = found.get(device, 0) + int(line.split()[-1])
        return found


def mirror(
    lab: Lab, owner: LabNode, own: str, others: Sequence[tuple[LabNode, str]], *, name: str = "mirror"
) -> BtrfsVolume:
    """Each byte on the owner's disk and on every other node's: two to four copies."""
    copies = 1 + len(others)
    if copies not in PROFILES:
        raise RunFailed("cannot create a mirror of", f"{copies} copies", "btrfs supports two to four copies")
    devices = (own, *(remote_disk(lab, owner, n, d, name=f"{name}-{n.name}") for n, d in others))
    return _volume(lab, owner, devices, PROFILES[copies], PROFILES[copies], name)


def stripe(lab: Lab, owner: LabNode, others: Sequence[tuple[LabNode, str]], *, name: str = "stripe") -> BtrfsVolume:
    """64 KiB of data in turn on the disk of each of ``others``; the owner holds none."""
    devices = tuple(remote_disk(lab, owner, n, d, name=f"{name}-{n.name}") for n, d in others)
    return _volume(lab, owner, devices, "raid0" if len(devices) > 1 else "single", "single", name)


def remote_disk(lab: Lab, owner: LabNode, node: LabNode, device: str, *, name: str) -> str:
    """``device`` of ``node``, served over NBD, as a block device (``/dev/loopN``) of the owner."""
    exports = storage_daemon.serve(lab, node, {"disk": storage_daemon.disk(device)}, name=f"nbd-{name}")
    folder = lab.dir(f"remote/{name}")
    lab.undo("mount", path=str(folder))
    words = [program("nbdfuse", "nbdfuse"), "-C", str(CONNECTIONS), str(folder), exports.uris["disk"]]
    lab.run(owner, words, name=f"nbdfuse-{name}", wait_for=lambda: mounted(str(folder)))
    return disks.attach(lab, folder / "nbd")


def _volume(lab: Lab, owner: LabNode, devices: tuple[str, ...], data: str, metadata: str, name: str) -> BtrfsVolume:
    disks.make_btrfs(devices, data=data, metadata=metadata)
    disks.tool(["btrfs", "device", "scan", *devices], "register")
    path = lab.dir(f"mounts/{name}")
    lab.undo("mount", path=str(path))
    disks.tool(["mount", "-t", "btrfs", "-o", _OPTIONS, devices[0], str(path)], "mount")
    return BtrfsVolume(lab, owner, devices, path, data)


def _sectors_read(device: str) -> int:
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[2])


def _read_as(wanted: Callable[[int], bool], path: Path, piece: int) -> None:
    """Reads one piece of ``path`` past the cache, on a thread whose id is wanted."""
    done = threading.Event()

    def read() -> None:
        if wanted(threading.get_native_id()):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
            try:
                with mmap.mmap(-1, _PIECE_BYTES) as buffer:
                    # Into pages that are not there yet btrfs reads through the cache.
                    buffer.write(bytes(_PIECE_BYTES))
                    os.preadv(fd, [buffer], piece * _PIECE_BYTES)
            finally:
                os.close(fd)
                done.set()

    while not done.is_set():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
