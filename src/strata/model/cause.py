"""What limits: the one list of causes. Each has one module in `strata.diagnose.causes`, whose docstring is its page."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """``words`` name it within a sentence; ``meaning`` is what it says, in one line."""

    words: str
    meaning: str

    def __new__(cls, key: str, words: str, meaning: str) -> Cause:
        """A member is written as its key, its words and its meaning."""
        made = str.__new__(cls, key)
        made._value_ = key
        made.words, made.meaning = words, meaning
        return made

    MEDIUM = (
        "medium",
        "the medium itself",
        "no layer above the medium costs more than expected, and the medium is fully used",
    )
    SLOW_MEDIUM = "slow-medium", "a slow medium", "each request takes the medium longer than before or than expected"
    HOT_MEDIUM = "hot-medium", "a hot medium", "the device reduces its own speed because it is too hot"
    SLOW_MEMBER = (
        "slow-member",
        "one slow member",
        "one member or path of several is slower, and the others wait for it",
    )
    LIMITED_QUEUE = (
        "limited-queue",
        "a queue or lock",
        "the number of requests served at once is limited, however many are outstanding",
    )
    IOPS_CAP = "iops-cap", "a cap on IOPS", "the number of requests per second is limited, whatever their size"
    BANDWIDTH_CAP = "bandwidth-cap", "a cap on bytes", "the number of bytes per second is limited, and no wire is full"
    STALLS = "stalls", "stalls", "again and again no request completes for a while; in between it is as fast as before"
    SLOW_PHASES = "slow-phases", "slow phases", "the layer alternates between fast and slow phases"
    SLOW_FLUSH = "slow-flush", "slow flushes", "a commit waits long for the medium to make it durable"
    WRITE_CACHE_FULL = (
        "write-cache-full",
        "a full write cache",
        "writes are fast until a cache is full, then as fast as it drains",
    )
    COLD_CACHE = "cold-cache", "a cold or small cache", "reads that a cache answered before go to the medium"
    CACHE_FLATTERS = (
        "cache-flatters",
        "a cache that hides the medium",
        "a cache answers, so the figures are not those of the medium",
    )
    NOISY_DEVICE = "noisy-device", "a neighbour on the device", "another workload uses the same device"
    MISALIGNED = (
        "misaligned",
        "misalignment",
        "requests are not aligned to the blocks of the medium: more blocks are accessed, or read before a write",
    )
    SPLITS = "splits", "split requests", "requests are split into smaller ones, and each has the cost of a request"
    HOLES = "holes", "holes", "parts of the data were never written, and reading them needs no medium"
    WRONG_FILE = "wrong-file", "the wrong file", "a layer accesses other data than the layer it is compared with"
    WIRE_BANDWIDTH = "wire-bandwidth", "wire bandwidth", "bytes per second of the connection"
    WIRE_LATENCY = "wire-latency", "wire latency", "the round trip of the connection"
    WIRE_LOSS = (
        "wire-loss",
        "loss on the wire",
        "segments are lost and retransmitted on a wire that is not full",
    )
    SMALL_WINDOW = (
        "small-window",
        "a small TCP window",
        "reads wait until the TCP window of the receiver has room, while the wire is idle",
    )
    WRONG_CARD = (
        "wrong-card",
        "the wrong network card",
        "one network card of several carries all traffic, or the slow one does",
    )
    NOISY_WIRE = "noisy-wire", "a neighbour on the wire", "other traffic fills the same wire"
    PROCESSORS = "processors", "processors", "CPUs of client or server are busy"
    QUOTA = (
        "processor-quota",
        "a quota of CPU time",
        "a control group lets a server, or the load generator, run only part of the time",
    )
    SINGLE_THREAD = (
        "single-thread",
        "one thread",
        "one thread or core of a server does all the work and is fully busy",
    )
    CLIENT_PROCESSORS = (
        "client-processors",
        "the client's CPUs",
        "the client has too little CPU time to issue more I/O",
    )
    PER_REQUEST_COST = (
        "per-request-cost",
        "cost per request",
        "a constant time for each request that is not the wire's round trip",
    )
    REORDERING = (
        "reordering",
        "order of the requests",
        "sequential requests reach the device out of order, and it takes longer for each",
    )
    REDIRECTED = "redirected-path", "a redirected path", "requests are sent through another node, which owns the data"
    MIRROR_COPIES = "mirror-copies", "copies", "each write goes to several nodes, over one wire"
    FEW_QUEUES = "few-queues", "too few queues", "one queue or virtual disk is used where several would give more"
    FEW_NODES = "few-nodes", "too few nodes", "the data lies on fewer nodes or members than there are"
    GENERATOR = "generator", "the load generator", "the figures show the load generator, not the storage"
    IMPOSSIBLE = "impossible", "an impossible figure", "a figure cannot be true"
    UNEXPLAINED = "unexplained", "cause not explained", "the layer is slower than expected and no rule explains it"
    NONE = "none", "no cause", "no limit was found"

    @classmethod
    def _missing_(cls, value: object) -> Cause | None:
        # What earlier versions called it, in runs that are kept.
        return cls.IOPS_CAP if value == "remote-cap" else None
