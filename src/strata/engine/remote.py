"""Remote endpoints outside a measurement: how far away they are, how large, and what stands at their beginning."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

from strata import _core, units
from strata.engine.cluster import ask
from strata.engine.native import said
from strata.errors import RunFailed
from strata.host import netns, signatures
from strata.host.mark import MARK_BYTES, Mark, parse_header
from strata.host.shutdown import at_most
from strata.model.analysis import Remote
from strata.model.endpoint import CLUSTER, Endpoint
from strata.model.estimate import Estimate

PATIENCE_NS = 30 * units.NS_PER_S
"""How long a remote endpoint is waited for unless told otherwise; at most 10 s to connect and for each answer."""


def probe_remote(layer: str, endpoint: Endpoint, rounds: int = 16) -> Remote:
    """Round trips that touch no data. Raises `RunFailed` when it does not answer."""
    probe = _probed(endpoint, rounds, PATIENCE_NS)
    rtts = sorted(probe["rtt_ns"])
    median = statistics.median(rtts)
    # Order-statistic interval of a median (binomial, 95 %): ranks n/2 ± 0.98·√n.
    reach = math.ceil(0.98 * math.sqrt(len(rtts)))
    low = rtts[max(0, len(rtts) // 2 - reach)]
    high = rtts[min(len(rtts) - 1, len(rtts) // 2 + reach)]
    return Remote(
        layer=layer,
        rtt_ns=Estimate(value=median, low=low, high=high, n=len(rtts), unit="ns"),
        min_rtt_ns=rtts[0],
        multi_conn=bool(probe["multi_conn"]),
        connections=endpoint.connections,
    )


def remote_size(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> int:
    """Its bytes. Raises `RunFailed`, also when no answer comes within ``patience_ns``."""
    return int(_probed(endpoint, 1, patience_ns)["size_bytes"])


def read_remote(endpoint: Endpoint, offset: int, length: int, patience_ns: int = PATIENCE_NS) -> bytes:
    """A plain read, for showing that it holds the same data.

    Raises `RunFailed`, also when no answer comes within ``patience_ns``.
    """
    patience_ns = at_most(patience_ns)
    try:
        if endpoint.kind in CLUSTER:
            return ask(endpoint, "read", patience_ns, offset=offset, length=length)[1]
        return _core.remote_read(endpoint.uri, offset, length, patience_ns, endpoint.netns, endpoint.password)
    except (OSError, ValueError) as e:
        raise unreachable("cannot read", endpoint, e) from e


def claim(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> tuple[Mark | None, str]:
    """Whether Strata made what is there: its mark, or None and why it is not Strata's. Raises `RunFailed`.

    The one rule for whatever a server holds. A mark states the size of what it was made for, so that one which was
    copied to another volume, or whose volume has grown around it, claims nothing.
    """
    size = remote_size(endpoint, patience_ns)
    mark = parse_header(read_remote(endpoint, 0, MARK_BYTES, patience_ns)) if size >= MARK_BYTES else None
    if mark is None:
        return None, "it does not carry Strata's mark, so Strata did not create it"
    if mark.size != size:
        return (
            None,
            f"its mark is for {mark.size} bytes, but it has {size} ({units.size(size)}): it is a copy",
        )
    return mark, ""


def own_mark(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> Mark | None:
    """The mark of what Strata made; None for anything else. Raises `RunFailed`."""
    return claim(endpoint, patience_ns)[0]


def content(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> tuple[str, ...]:
    """The names of everything that is recognised on it: file systems, volumes, swap. Raises `RunFailed`."""
    size = remote_size(endpoint, patience_ns)

    def read(offset: int, count: int) -> bytes:
        return read_remote(endpoint, offset, count, patience_ns)

    return signatures.find(signatures.in_pieces(read, size), size)


def unreachable(what: str, endpoint: Endpoint, error: OSError | ValueError) -> RunFailed:
    """The client's own words, and what to look at next."""
    words = said(error).removeprefix(f"{endpoint.uri}: ")
    # What cannot be entered says its own next step.
    hint = "" if endpoint.scheme is None or netns.closed(endpoint.netns) else endpoint.scheme.hint
    if hint and isinstance(error, ConnectionRefusedError):
        hint = "no server is listening there; start it first"
    return RunFailed(what, endpoint.uri, words, hint)


def _probed(endpoint: Endpoint, rounds: int, patience_ns: int) -> dict[str, Any]:
    patience_ns = at_most(patience_ns)
    try:
        if endpoint.kind in CLUSTER:
            return dict(ask(endpoint, "probe", patience_ns, rounds=rounds)[0])
        told = _core.remote_probe(endpoint.uri, rounds, patience_ns, endpoint.netns, endpoint.password)
        return dict(json.loads(told))
    except (OSError, ValueError) as e:
        raise unreachable("cannot reach", endpoint, e) from e
