"""The same reads after Strata's own file was dropped from memory.

What it changes
    The pages of this run's own file, and no others, are dropped from this machine's page cache before each
    measurement.
What it tells apart
    A figure that the page cache made falls by a quarter or more. Where the reads went to the medium before, nothing
    changes. Other causes make no prediction: whatever the limit, reads from memory may have been faster.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from strata.diagnose.case import Case, Station
from strata.diagnose.causes.wrong_file import moved
from strata.diagnose.expected import FALLS, SAME, asked, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind, is_loopback
from strata.model.experiment import Condition, Experiment
from strata.model.stack import Stack

ABOUT = frozenset({Cause.CACHE_FLATTERS})
LEFT, REACHED = 0.75, 0.5
"""Times the IOPS at most, where reads that memory answered go to the device. Bytes there for each byte read, at most:
more is asked of the device, whose own cache is not ours to empty."""
MEDIUM = (Cause.MEDIUM, Cause.SLOW_MEDIUM, Cause.COLD_CACHE)
"""Causes that say that reads go to the medium already."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a cache that flatters stands, and it is this machine's memory: reads do not reach the device here."""
    found = station_of(case, standing, ABOUT)
    cell = None if found is None else random_read(found[1], found[0])
    if found is None or cell is None or not _through_memory(case.stack, found[1], cell.workload.direct):
        return None
    reached = moved(cell)
    if reached is None or reached > REACHED:
        return None
    return asked(
        cell,
        "the same reads after Strata's own file was dropped from memory",
        told(standing, {Cause.CACHE_FLATTERS: (FALLS, LEFT), **dict.fromkeys(MEDIUM, SAME)}, others=None),
        condition=Condition.COLD,
        otherwise="reads that went to the medium take as long as before",
    )


def _through_memory(stack: Stack, station: Station, direct: bool) -> bool:
    """A file that is read buffered, or a server that runs on this machine, in a namespace of it or behind its loopback.

    The memory of another machine is not ours to empty, and emptying ours would tell nothing about it.
    """
    target = station.layer.target
    if target.kind is EndpointKind.FILE:
        return not direct
    if target.scheme is None or target.scheme.library:
        return False
    host = urlsplit(target.uri).hostname
    return host is None or is_loopback(host) or any(n.name == station.layer.node and n.netns for n in stack.nodes)
