"""The same requests over one queue more.

What it changes
    Two threads ask where one did, each with half of the depth: as many requests are outstanding, over two queues of
    this machine or two connections of the protocol.
What it tells apart
    Too few queues give a quarter more, or up to twice as much. A limit that lies behind the queues gives as much as
    before. One thread of a server may serve one connection or all; flows of a lossy or a shared wire may each get more.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.expected import SAME, Range, asked, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.workload import ClosedLoop

ABOUT = frozenset({Cause.FEW_QUEUES, Cause.SINGLE_THREAD})
GAIN, DOUBLE = 1.3, 2.4
LEAST_DEPTH = 4


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where too few queues or a single thread stand, on small reads of several at once."""
    found = station_of(case, standing, ABOUT)
    cell = None if found is None else random_read(found[1], found[0])
    if found is None or cell is None:
        return None
    workload, arrival = cell.workload, cell.workload.arrival
    if not isinstance(arrival, ClosedLoop) or arrival.iodepth < LEAST_DEPTH or arrival.iodepth % 2:
        return None
    half = arrival.model_copy(update={"iodepth": arrival.iodepth // 2})
    many = (SAME[0], DOUBLE)
    said: dict[Cause, Range] = {
        Cause.FEW_QUEUES: (GAIN, DOUBLE),
        Cause.SINGLE_THREAD: many,
        Cause.WIRE_LOSS: many,
        Cause.NOISY_WIRE: many,
        # Two threads of the client may do what one had no time for, or take the time from the server.
        Cause.CLIENT_PROCESSORS: (0.5, DOUBLE),
        Cause.GENERATOR: (0.5, DOUBLE),
        Cause.PROCESSORS: (0.5, SAME[1]),
    }
    return asked(
        found[1].layer.name,
        workload,
        workload.model_copy(update={"threads": 2 * workload.threads, "arrival": half}),
        f"as many requests over {2 * workload.threads} queues",
        told(standing, said),
        otherwise="a limit behind the queues gives as much as before",
    )
