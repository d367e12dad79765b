"""Mounts of another machine's storage, as the client in the kernel counts them."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

_MOUNT = Family("", Scope.MOUNT)
# Operations differ from mount to mount.
_NFS, _SMB = Family("nfs_", Scope.MOUNT, parts={"operation": ()}), Family("smb_", Scope.MOUNT)
_READ_WRITE, _WITH_FLUSH = {"direction": ("read", "write")}, {"direction": ("read", "write", "flush")}

NFS_OPERATIONS = _NFS.grows("operations", "requests", "NFS operations")
NFS_TRANSMISSIONS = _NFS.grows("transmissions", "requests", "requests sent, including retransmissions")
NFS_TIMEOUTS = _NFS.grows("timeouts", "requests", "requests that timed out")
NFS_SENT = _NFS.grows("sent_bytes", "B", "bytes sent, including headers")
NFS_RECEIVED = _NFS.grows("received_bytes", "B", "bytes received, including headers")
NFS_QUEUE_SECONDS = _NFS.grows("queue_seconds", "s", "time of all operations in the queue of the client")
NFS_RTT_SECONDS = _NFS.grows("rtt_seconds", "s", "time of all operations on the network and at the server")
NFS_EXECUTE_SECONDS = _NFS.grows("execute_seconds", "s", "time of all operations, from request to completion")
NFS_BYTES = _NFS.grows(
    "bytes",
    "B",
    "bytes moved by applications (cached, direct) and to or from the server",
    parts=_READ_WRITE,
    aspects={"path": ("cached", "direct", "server")},
)
SMB_REQUESTS = _SMB.grows("requests", "requests", "SMB requests of every kind")
SMB_BYTES = _SMB.grows("bytes", "B", "bytes read and written", parts=_READ_WRITE)
SMB_OPERATIONS = _SMB.grows("operations", "requests", "SMB reads, writes and flushes", parts=_WITH_FLUSH)
SMB_FAILURES = _SMB.grows("failures", "requests", "SMB reads, writes and flushes that failed", parts=_WITH_FLUSH)
FUSE_WAITING = _MOUNT.stands("fuse_waiting", "requests", "requests that wait for the FUSE daemon or that it processes")
