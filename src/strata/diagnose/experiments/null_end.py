"""A remote end that stores nothing.

What it changes
    The same reads go to Strata's own server on the remote node, which answers at once without storage. The path is the
    same.
What it tells apart
    If the path or the client is the limit, the IOPS stay the same: what is saturated stays saturated, and each request
    still waits the same time on the path. The time of the server and its medium is gone.
"""

from __future__ import annotations

from strata.diagnose import far_end
from strata.diagnose.case import Case
from strata.diagnose.expected import random_read
from strata.diagnose.opinion import Opinion
from strata.model.experiment import Condition, Experiment

SIDES = ("path", "far")


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where the cause on the path explains random reads."""
    changes = "the same reads from a remote end that stores nothing"
    return far_end.replaced(case, standing, random_read, changes, Condition.NULL_END)
