"""What fio must be told otherwise than we say it, for whoever writes its words: ranges, rates, addresses. Pure."""

from __future__ import annotations

from strata.model import cluster_uri
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import Segment
from strata.model.workload import OpenLoop, Workload

_OURS = ("connections=", "replies=")


def grid(segment: Segment, bs: int) -> tuple[int, int]:
    """Where at the target the first block begins that lies on a multiple of ``bs`` of the data, and how many fit."""
    first = -(-segment.start // bs) * bs
    blocks = max(0, (segment.start + segment.length - first) // bs)
    return segment.target + first - segment.start, blocks


def escaped(path: str) -> str:
    """A file's name as fio takes it: it splits names at colons."""
    return path.replace(":", "\\:")


def rates_of(workload: Workload) -> tuple[int, int] | None:
    """Reads and writes a second of one thread of an open loop: fio's rate is of each. None where they are not whole."""
    assert isinstance(workload.arrival, OpenLoop), "a closed loop has no rate"
    share = workload.rwmixread if workload.rw.mixed else None
    each = workload.arrival.iops / workload.threads
    read = each if share is None else each * share / 100
    write = each if share is None else each - read
    if any(abs(x - round(x)) > 1e-9 for x in (read, write)) or round(read) < 1 or round(write) < 1:
        return None
    return round(read), round(write)


def entering(endpoint: Endpoint) -> list[str]:
    """What stands before a command so that it runs where the endpoint's node is; nothing on the machine itself."""
    return [] if endpoint.netns is None else ["nsenter", f"--net={endpoint.netns}", "--"]


def said_first(endpoint: Endpoint) -> list[str]:
    """Where Ceph's library finds its configuration: fio has no word for it."""
    conf = cluster_uri.rbd(endpoint.uri).conf if endpoint.kind is EndpointKind.RBD else None
    return [] if conf is None else ["env", f"CEPH_CONF={conf}"]


def plain_uri(uri: str) -> str:
    """The NBD URI without the number of connections and the kind of replies, which are words of ours."""
    head, _, query = uri.partition("?")
    kept = "&".join(part for part in query.split("&") if part and not part.startswith(_OURS))
    return f"{head}?{kept}" if kept else head
