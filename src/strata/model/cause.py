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

    MEDIUM = "medium", "the medium itself", "nothing above the medium costs more than expected, and the medium is full"
    SLOW_MEDIUM = "slow-medium", "a slow medium", "each request takes the medium longer than it did or should"
    SLOW_MEMBER = (
        "slow-member",
        "one slow member",
        "one member or path of several is slower, and the others wait for it",
    )
    LIMITED_QUEUE = (
        "limited-queue",
        "a queue or lock",
        "so many requests are served at once, however many are outstanding",
    )
    IOPS_CAP = "iops-cap", "a cap on IOPS", "so many requests per second are admitted, whatever their size"
    BANDWIDTH_CAP = "bandwidth-cap", "a cap on bytes", "so many bytes per second are admitted, and no wire is full"
    STALLS = "stalls", "stalls", "nothing is answered for a while, again and again; between them it is as fast as ever"
    SLOW_PHASES = "slow-phases", "slow phases", "the layer is fast and slow by turns"
    SLOW_FLUSH = "slow-flush", "slow flushes", "a commit waits long until the medium says that it is durable"
    WRITE_CACHE_FULL = (
        "write-cache-full",
        "a full write cache",
        "writes are fast until a cache is full, then as fast as it drains",
    )
    COLD_CACHE = "cold-cache", "a cold or small cache", "reads that a cache answered before go to the medium"
    CACHE_FLATTERS = "cache-flatters", "a cache that flatters", "a cache answers, and the figures are not the medium's"
    NOISY_DEVICE = "noisy-device", "a neighbour on the device", "somebody else uses the same device"
    MISALIGNED = (
        "misaligned",
        "misalignment",
        "requests lie across the blocks of the medium: more are touched, or read before a write",
    )
    SPLITS = "splits", "split requests", "requests are cut into smaller ones, and each pays the cost of a request"
    HOLES = "holes", "holes", "parts of the data were never written, and reading them needs no medium"
    WRONG_FILE = "wrong-file", "the wrong file", "a layer reaches other data than the layer it is compared with"
    WIRE_BANDWIDTH = "wire-bandwidth", "wire bandwidth", "bytes per second of the connection"
    WIRE_LATENCY = "wire-latency", "wire latency", "the round trip of the connection"
    WIRE_LOSS = (
        "wire-loss",
        "loss on the wire",
        "segments are lost on the way and sent again, on a wire that is not full",
    )
    SMALL_WINDOW = (
        "small-window",
        "a small TCP window",
        "what is read waits until the receiver's TCP window has room, on a wire that is idle meanwhile",
    )
    WRONG_CARD = "wrong-card", "the wrong card", "one card of several carries everything, or the slow one does"
    NOISY_WIRE = "noisy-wire", "a neighbour on the wire", "somebody else fills the same wire"
    PROCESSORS = "processors", "processors", "processors of client or server are busy"
    QUOTA = (
        "processor-quota",
        "a quota of processor time",
        "a control group lets a server, or the load generator, run only part of the time",
    )
    SINGLE_THREAD = (
        "single-thread",
        "one thread",
        "one thread or core of a server does all the work and has nothing left",
    )
    CLIENT_PROCESSORS = (
        "client-processors",
        "the client's processors",
        "the client has too little processor time to ask for more",
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
    REDIRECTED = "redirected-path", "a redirected path", "requests go by way of another node, which owns the data"
    MIRROR_COPIES = "mirror-copies", "copies", "each write goes to several nodes, over one wire"
    FEW_QUEUES = "few-queues", "too few queues", "one queue or virtual disk is used where several would give more"
    FEW_NODES = "few-nodes", "too few nodes", "the data lies on fewer nodes or members than there are"
    GENERATOR = "generator", "the load generator", "the figures show the load generator, not the storage"
    IMPOSSIBLE = "impossible", "an impossible figure", "a figure cannot be true"
    UNEXPLAINED = "unexplained", "cause not explained", "the layer is slower than expected and no rule explains it"
    NONE = "none", "no cause", "nothing limits that could be seen"

    @classmethod
    def _missing_(cls, value: object) -> Cause | None:
        # What earlier versions called it, in runs that are kept.
        return cls.IOPS_CAP if value == "remote-cap" else None
