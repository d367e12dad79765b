"""Mounts of another machine's storage, as the client in the kernel counts them."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

READ_WRITE = {"direction": ("read", "write")}


def _nfs(name: str, unit: str, words: str) -> Counter:
    # Operations differ from mount to mount.
    return Counter(f"nfs_{name}", unit, SeriesKind.COUNTER, Scope.MOUNT, words, parts={"operation": ()})


def _smb(name: str, unit: str, words: str, directions: tuple[str, ...] = ()) -> Counter:
    parts = {"direction": directions} if directions else {}
    return Counter(f"smb_{name}", unit, SeriesKind.COUNTER, Scope.MOUNT, words, parts=parts)


NFS_OPERATIONS = _nfs("operations", "requests", "NFS operations")
NFS_TRANSMISSIONS = _nfs("transmissions", "requests", "requests sent, including retransmissions")
NFS_TIMEOUTS = _nfs("timeouts", "requests", "requests that timed out")
NFS_SENT = _nfs("sent_bytes", "B", "bytes sent, including headers")
NFS_RECEIVED = _nfs("received_bytes", "B", "bytes received, including headers")
NFS_QUEUE_SECONDS = _nfs("queue_seconds", "s", "time of all operations in the queue of the client")
NFS_RTT_SECONDS = _nfs("rtt_seconds", "s", "time of all operations on the network and at the server")
NFS_EXECUTE_SECONDS = _nfs("execute_seconds", "s", "time of all operations, from request to completion")
NFS_BYTES = Counter(
    "nfs_bytes",
    "B",
    SeriesKind.COUNTER,
    Scope.MOUNT,
    "bytes moved by applications (cached, direct) and to or from the server",
    parts=READ_WRITE,
    aspects={"path": ("cached", "direct", "server")},
)
SMB_REQUESTS = _smb("requests", "requests", "SMB requests of every kind")
SMB_BYTES = _smb("bytes", "B", "bytes read and written", ("read", "write"))
SMB_OPERATIONS = _smb("operations", "requests", "SMB reads, writes and flushes", ("read", "write", "flush"))
SMB_FAILURES = _smb("failures", "requests", "SMB reads, writes and flushes that failed", ("read", "write", "flush"))
FUSE_WAITING = Counter(
    "fuse_waiting",
    "requests",
    SeriesKind.GAUGE,
    Scope.MOUNT,
    "requests that wait for the FUSE daemon or that it processes",
)
