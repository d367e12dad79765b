"""The load generator on another CPU.

What it changes
    The threads of the load generator run on a single CPU that they did not use before: the last one of those
    they may use.
What it tells apart
    A client that shares a busy CPU, while others are idle, gains. A limit behind the client stays the same.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.expected import MOST, Range, asked, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment

ABOUT = frozenset({Cause.CLIENT_PROCESSORS})
BUSIEST, ROOM = 0.9, 0.3
"""Share of the time of the busiest CPU, and how much less busy all of them are on average."""
HELD = 0.05
"""Of the periods of a quota of the load generator's own: that goes with it to any CPU."""
GAIN, AS_BEFORE = 1.2, (0.7, 1.15)
OPEN: Range = (0.5, MOST)
"""Of who cannot say whether it shares that CPU: the generator's own threads, or the server's."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where the client's CPUs stand, and one is busy while others are not."""
    found = station_of(case, standing, ABOUT)
    cell = None if found is None else random_read(found[1], found[0])
    if found is None or cell is None or cell.cpu_busiest is None or cell.cpu_busy is None:
        return None
    if cell.cpu_busiest < BUSIEST or cell.cpu_busiest - cell.cpu_busy < ROOM:
        return None
    if any(q.own and q.share >= HELD for q in cell.resources.quotas):
        return None
    said: dict[Cause, Range] = {
        Cause.CLIENT_PROCESSORS: (GAIN, MOST),
        Cause.GENERATOR: OPEN,
        Cause.PROCESSORS: OPEN,
        Cause.SINGLE_THREAD: OPEN,
    }
    return asked(
        cell,
        "the same load from another CPU",
        told(standing, said, AS_BEFORE),
        condition=Condition.PINNED,
        otherwise="with a limit behind the client the IOPS stay the same",
    )
