"""The same requests over more queues.

What it changes
    Twice the threads, each with less depth: as many requests are outstanding, over twice the queues of this machine,
    or twice the connections of the protocol.
What it tells apart
    Too few queues give a sixth more, or up to twice as much; so does a small TCP window, as each connection has one.
    A limit behind the queues gives the same IOPS. One thread of a server may serve one connection or all of them;
    flows of a lossy or a shared wire may each get more.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import SAME, Range, asked, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.workload import ClosedLoop

ABOUT = frozenset({Cause.FEW_QUEUES, Cause.SINGLE_THREAD, Cause.SMALL_WINDOW})
GAIN, DOUBLE = 1.15, 2.4
LEAST_DEPTH = 2


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where too few queues or a single thread stand, on small reads of several at once; a window holds large ones."""
    found = station_of(case, standing, ABOUT)
    cell = None if found is None else random_read(found[1], found[0]) or _large_read(*found)
    if found is None or cell is None:
        return None
    workload, arrival = cell.workload, cell.workload.arrival
    # A thread has a connection of its own at least.
    threads = 2 * max(workload.threads, found[1].layer.target.connections)
    depth, left = divmod(workload.outstanding, threads)
    if not isinstance(arrival, ClosedLoop) or depth < LEAST_DEPTH or left:
        return None
    shallow = arrival.model_copy(update={"iodepth": depth})
    many = (SAME[0], DOUBLE)
    said: dict[Cause, Range] = {
        Cause.FEW_QUEUES: (GAIN, DOUBLE),
        Cause.SMALL_WINDOW: (GAIN, DOUBLE),
        Cause.SINGLE_THREAD: many,
        Cause.WIRE_LOSS: many,
        Cause.NOISY_WIRE: many,
        # Two threads of the client may do what one had no time for, or take the time from the server.
        Cause.CLIENT_PROCESSORS: (0.5, DOUBLE),
        Cause.GENERATOR: (0.5, DOUBLE),
        Cause.PROCESSORS: (0.5, SAME[1]),
    }
    return asked(
        cell,
        f"the same number of requests over {threads} queues",
        told(standing, said),
        changed=workload.model_copy(update={"threads": threads, "arrival": shallow}),
        otherwise="with a limit behind the queues the IOPS stay the same",
    )


def _large_read(opinion: Opinion, station: Station) -> CellSummary | None:
    """Of what a small window holds back, whatever its order: the reads with the most bytes outstanding."""
    mine = [c for c in station.cells if c.workload.key in opinion.cells and c.workload.saturates]
    reads = [c for c in mine if opinion.cause is Cause.SMALL_WINDOW and c.workload.range is None]
    return max(reads, key=lambda c: c.workload.outstanding * c.workload.bs, default=None)
