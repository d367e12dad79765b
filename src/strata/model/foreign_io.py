"""What a device did while nothing of ours ran: somebody else's I/O, which every measurement there has beside it."""

from __future__ import annotations

from strata.model.base import Value


class ForeignIo(Value):
    """One block device over ``seconds``, before anything was measured. Rates per second.

    ``busy`` is the share of the time in which at least one request was under way, ``in_flight`` their mean number. A
    file system that was just written to adds a few writes of its journal.
    """

    device: str
    seconds: float
    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    busy: float | None = None
    in_flight: float | None = None
