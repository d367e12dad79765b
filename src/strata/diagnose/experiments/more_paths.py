"""The same requests over one more virtual disk or path.

What it changes
    Half of the requests go to another layer of the same node, which reaches the same data by a device or connections
    of its own: as many are outstanding as before, over both at once.
What it tells apart
    Too few queues give a sixth more at least, up to three times as much. A limit behind both gives the same IOPS: the
    store, its medium, a wire that both use. A cap, or a thread of a server, may be one of each path or of both.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import SAME, Range, asked, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.expect import Faster
from strata.model.experiment import Condition, Experiment
from strata.model.stack import Layer
from strata.model.workload import ClosedLoop, Workload

ABOUT = frozenset({Cause.FEW_QUEUES})
GAIN, MOST = 1.15, 3.0
"""Times the IOPS. The other path may be the quicker one of both."""
MAYBE = (
    *(Cause.LIMITED_QUEUE, Cause.SINGLE_THREAD, Cause.IOPS_CAP, Cause.BANDWIDTH_CAP, Cause.SMALL_WINDOW),
    *(Cause.PER_REQUEST_COST, Cause.WIRE_LOSS, Cause.NOISY_WIRE, Cause.WRONG_CARD),
)
"""Of each path, or of what lies behind both."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where too few queues stand at a layer beside which another way to its data was measured."""
    found = station_of(case, standing, ABOUT)
    if found is None:
        return None
    opinion, station = found
    cell, other = random_read(station, opinion), _beside(case, station)
    workload = None if cell is None else dealt(cell.workload)
    if cell is None or other is None or workload is None:
        return None
    maybe: dict[Cause, Range] = dict.fromkeys(MAYBE, (SAME[0], MOST))
    gains: dict[Cause, Range] = dict.fromkeys(ABOUT, (GAIN, MOST))
    # Two clients may do what one had no time for, or take the time from the server.
    busy: dict[Cause, Range] = dict.fromkeys((Cause.CLIENT_PROCESSORS, Cause.GENERATOR), (0.5, MOST))
    said = maybe | gains | busy | {Cause.PROCESSORS: (0.5, SAME[1])}
    return asked(
        cell,
        f"the same number of requests over {station.layer.name} and {other.layer.name} at once",
        told(standing, said),
        changed=workload,
        beside=other.layer.name,
        condition=Condition.MORE_PATHS,
        otherwise="with a limit behind both the IOPS stay the same",
    )


def dealt(workload: Workload) -> Workload | None:
    """Two clients, one for each path, with half of the outstanding requests each; None where these cannot be halved."""
    arrival = workload.arrival
    if not isinstance(arrival, ClosedLoop) or workload.clients > 1 or workload.shares or arrival.iodepth % 2:
        return None
    half = arrival.model_copy(update={"iodepth": arrival.iodepth // 2})
    return workload.model_copy(update={"clients": 2, "shares": (1, 1), "deal": "client", "arrival": half})


def _beside(case: Case, station: Station) -> Station | None:
    """A measured layer of that node and kind over the same layers, by another address or device."""
    mine = station.layer

    def alike(one: Layer) -> bool:
        here, there = mine.target, one.target
        another = here.path != there.path if here.path else here.uri != there.uri
        same = (one.node, one.on, there.kind, there.scheme) == (mine.node, mine.on, here.kind, here.scheme)
        return bool(one.on) and same and another and one.expect.faster is not Faster.CACHE

    return next((s for s in case.stations if s.layer.name != mine.name and alike(s.layer)), None)
