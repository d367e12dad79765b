"""What a sweep grows: the one table of the axes. Loaded for every ``--help``: it imports nothing that takes time."""

from __future__ import annotations

from enum import StrEnum


class Grows(StrEnum):
    """What more of an axis is."""

    LOAD = "load"
    """More I/Os in flight."""
    SIZE = "size"
    """More bytes."""
    MEANS = "means"
    """More of what the same I/Os go through."""


class Made(StrEnum):
    """How a point of an axis is made."""

    WORKLOAD = "workload"
    """By an option of the workload."""
    REACHED = "reached"
    """The same target is reached in another way."""
    TARGETS = "targets"
    """By the first of several targets."""
    NODES = "nodes"
    """By the first nodes that have joined a scheduler."""
    COMMAND = "command"
    """By a command: Strata does not make it itself."""


class Axis(StrEnum):
    """What grows: a word for ``--over``, what more of it is, how a point is made, the least and the most of its default
    values (None: what there is), and what it is. `strata.app.scale_points` has what is done for a point."""

    IODEPTH = "iodepth", Grows.LOAD, Made.WORKLOAD, 1, 128, "I/Os in flight per thread"
    THREADS = "threads", Grows.LOAD, Made.WORKLOAD, 1, 32, "threads, each with its own connection at a server"
    CLIENTS = "clients", Grows.LOAD, Made.WORKLOAD, 1, 16, "clients, each a process of its own with its threads"
    NODES = "nodes", Grows.LOAD, Made.NODES, 1, None, "nodes of the scheduler of --nodes, a client on each"
    BS = "bs", Grows.SIZE, Made.WORKLOAD, 4096, 1 << 20, "block size; the curve is of bytes per second"
    RANGE = "range", Grows.SIZE, Made.WORKLOAD, 16 << 20, None, "working set, from the start of the data"
    CONNECTIONS = (
        "connections", Grows.MEANS, Made.REACHED, 1, 16, "connections to the server, with the same I/Os in flight"
    )  # fmt: skip
    CORES = "cores", Grows.MEANS, Made.REACHED, 1, None, "CPUs of this machine on which the threads of the load run"
    DISKS = "disks", Grows.MEANS, Made.TARGETS, 1, None, "WHERE and each --target, with the same I/Os in flight"
    QUEUES = "queues", Grows.MEANS, Made.COMMAND, 1, None, "queues of a disk or of its controller"
    CONTROLLERS = "controllers", Grows.MEANS, Made.COMMAND, 1, None, "controllers over which the disks are spread"
    STORAGE_NODES = "storage-nodes", Grows.MEANS, Made.COMMAND, 1, None, "nodes over which the data is spread"

    grows: Grows
    made: Made
    least: int
    most: int | None
    says: str

    def __new__(cls, word: str, grows: Grows, made: Made, least: int, most: int | None, says: str) -> Axis:
        """With its columns."""
        one = str.__new__(cls, word)
        one._value_ = word
        one.grows, one.made, one.least, one.most, one.says = grows, made, least, most, says
        return one

    @property
    def load(self) -> bool:
        """Whether more of it is more I/Os in flight."""
        return self.grows is Grows.LOAD

    @property
    def size(self) -> bool:
        """Whether its values are bytes."""
        return self.grows is Grows.SIZE

    @property
    def means(self) -> bool:
        """Whether the workload stays the same, and what it goes through grows."""
        return self.grows is Grows.MEANS

    @property
    def commanded(self) -> bool:
        """Whether a command makes its points."""
        return self.made is Made.COMMAND
