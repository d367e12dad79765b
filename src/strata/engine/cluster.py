"""Endpoints of clusters outside a measurement: what their client library is asked, in a process of its own."""

from __future__ import annotations

from typing import Any

from strata import units
from strata.host.libraries import asking
from strata.model import cluster_uri
from strata.model.endpoint import Endpoint, EndpointKind


def ask(endpoint: Endpoint, what: str, patience_ns: int, **words: Any) -> tuple[dict[str, Any], bytes]:
    """Raises `OSError` as `strata.host.libraries.asking.ask`."""
    there = cluster_uri.rbd if endpoint.kind is EndpointKind.RBD else cluster_uri.gluster
    return asking.ask(
        endpoint.kind.value,
        there(endpoint.uri)._asdict(),
        what,
        netns=endpoint.netns,
        patience_s=patience_ns / units.NS_PER_S,
        **words,
    )
