"""A read that is larger than a request of the device.

What it changes
    Reads of the largest block that was measured become reads a little larger than the largest request of the device
    (by up to 4 KiB), with as many outstanding.
What it tells apart
    Where the queue splits them, each costs as much as several requests; else it costs one request and the time of its
    bytes. What a request and a byte cost comes from the reads that were measured. It is asked where the survey says
    that the device takes no request of 256 KiB, and where the two would differ. A limit of bytes takes next to nothing
    of a read that is hardly larger.
"""

from __future__ import annotations

import math

from strata import units
from strata.diagnose.case import Case
from strata.diagnose.expected import asked, station_of, told
from strata.diagnose.largest import larger
from strata.diagnose.opinion import Opinion
from strata.diagnose.variants import reshape
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.SPLITS})
OFF = 1.5
"""What either may be off, as a factor, on the side that the other is not."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where split requests stand that no workload was large enough for."""
    blamed = station_of(case, standing, ABOUT)
    found = None if blamed is None else larger(case, blamed[1])
    if found is None:
        return None
    between = math.sqrt(found.whole * found.split)
    whole = between, OFF * found.whole
    said = {Cause.SPLITS: (found.split / OFF, between), Cause.MEDIUM: whole, Cause.PER_REQUEST_COST: whole}
    return asked(
        found.cell,
        f"reads of {units.size(found.size)}, larger than a request of {found.device},",
        told(standing, said, others=None),
        changed=reshape(found.cell.workload, blocks=found.size / found.cell.workload.bs),
        otherwise="where they are not split, each costs one request and the time of its bytes",
    )
