"""Counters of another machine, from whoever exports them there as OpenMetrics or Prometheus text.

Reads    one http:// address (node_exporter's is ``http://host:9100/metrics``), at most once a second.
Makes    node_exporter's metrics under our names: ``cpu_seconds`` (s, counter), ``blockdev_…`` (requests, B, s),
         ``net_…`` (B, packets), ``memory_bytes`` (B, gauge), ``pressure_seconds`` (s, counter), ``cpu_frequency_hz``
         (Hz, gauge), ``tcp_retransmitted_segments`` (segments, counter), with the labels our
         own probes use.
Costs    2400 µs per sample of 1 500 lines; what the exporter spends there is its own (tens of milliseconds).
Needs    the exporter; a way through to it.
Blind to when the exporter read its counters within the time its answer took; what it caches. An answer that is late
         (2 s), broken or of another kind gives nothing: a gap, not zeroes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from strata.errors import UsageError
from strata.parsing.exposition import MalformedMetrics, Parser
from strata.probes.openmetrics.names import of_node_exporter
from strata.probes.port import Column, Probe, ProbeScope

if TYPE_CHECKING:
    from http.client import HTTPResponse

OF_NODE = True
REMOTE = True

TIMEOUT_S = 2.0
MOST_BYTES = 16 << 20
MOST_COLUMNS = 1 << 15
"""Of one exporter: a machine of 1,000 CPUs and 1,000 disks has fewer. Names that come later are passed over."""
_ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"

_Key = tuple[str, tuple[tuple[str, str], ...]]


class OpenMetricsProbe(Probe):
    def __init__(self, url: str) -> None:
        super().__init__()
        if not url.startswith("http://"):
            raise UsageError("cannot read counters from", url, "only http:// is supported", "http://host:9100/metrics")
        self._url = url
        self._places: dict[_Key, int] = {}
        self._parser = Parser()
        self._ours: dict[str, tuple[_Key, Column] | None] = {}
        first = self._fetch()
        if isinstance(first, str):
            self.absent = (first,)
        elif not first:
            self.absent = (f"{url} has no metric that Strata knows",)
        self._learn({} if isinstance(first, str) else first)
        if len(self.columns) == MOST_COLUMNS:
            self.absent = (f"{url} has too many metrics; only {MOST_COLUMNS} of them are read",)

    def read(self) -> Sequence[float | None]:
        found = "closed" if self.closed else self._fetch()
        values: list[float | None] = [None] * len(self.columns)
        if isinstance(found, str):
            return values
        # An exporter that was away at the start, or a device that came later.
        self._learn(found)
        values += [None] * (len(self.columns) - len(values))
        for key, (_, value) in found.items():
            if key in self._places:
                values[self._places[key]] = value
        return values

    def _learn(self, found: Mapping[_Key, tuple[Column, float]]) -> None:
        new = [(key, column) for key, (column, _) in found.items() if key not in self._places]
        del new[MOST_COLUMNS - len(self.columns) :]
        self._places |= {key: place for place, (key, _) in enumerate(new, len(self.columns))}
        self.columns += tuple(column for _, column in new)

    def _fetch(self) -> dict[_Key, tuple[Column, float]] | str:
        """The known samples, or why there are none. Samples that are one of ours (user and nice) are added."""
        # Here, not above: what fetches pages takes longer to load than all other probes together.
        import urllib.request
        from http.client import HTTPException

        if self._parser.full:
            self._parser.forget()
            self._ours.clear()
        request = urllib.request.Request(self._url, headers={"Accept": _ACCEPT})
        until = time.monotonic() + TIMEOUT_S
        try:
            # No proxy: a counter's way must not depend on the shell it was started from.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                raw = _all(answer, until)
            lines = list(self._parser.values(raw.decode()))
        except (OSError, HTTPException, MalformedMetrics, UnicodeDecodeError) as e:
            return f"{self._url}: {e}"
        found: dict[_Key, tuple[Column, float]] = {}
        for head, value in lines:
            if head not in self._ours:
                column = of_node_exporter(*self._parser.heads[head])
                self._ours[head] = None if column is None else (_key(column), column)
            ours = self._ours[head]
            if ours is not None and math.isfinite(value):
                key, column = ours
                found[key] = column, value + (found[key][1] if key in found else 0.0)
        return found


def _all(answer: HTTPResponse, until: float) -> bytes:
    """Everything, as long as it comes in time: a server that trickles must not hold the recording up."""
    parts, size = [], 0
    while part := answer.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES or time.monotonic() > until:
            raise OSError("the answer is too long" if size > MOST_BYTES else "the answer is too slow")
    return b"".join(parts)


def _key(column: Column) -> _Key:
    return column.metric, tuple(sorted(column.labels.items()))


def open_probe(scope: ProbeScope) -> Probe:
    """Of ``scope.url``; nothing without one."""
    return OpenMetricsProbe(scope.url) if scope.url else Probe()
