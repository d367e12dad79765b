"""What the page cache and the reclaim of memory did.

Reads    /proc/vmstat.
Makes    ``pages{event=dirtied|written|read_in|written_out|major_fault|reclaimed|scanned|swapped_in|swapped_out|
         workingset_refault}`` (pages, counter). ``read_in`` and ``written_out`` are what the block layer moved for the
         page cache and everybody else; ``dirtied`` and ``written`` are the page cache's.
Costs    154 µs per sample.
Needs    nothing.
Blind to which file or process; direct I/O in ``dirtied`` and ``written`` (it does not pass the cache).
"""

from __future__ import annotations

from strata.model.counters import memory
from strata.probes.port import ProbeScope, TableProbe, Told

# (event, the kernel's names added together, pages in one of the kernel's units): pgpgin counts KiB.
_EVENTS = (
    ("dirtied", (b"nr_dirtied",), 1.0),
    ("written", (b"nr_written",), 1.0),
    ("read_in", (b"pgpgin",), 0.25),
    ("written_out", (b"pgpgout",), 0.25),
    ("major_fault", (b"pgmajfault",), 1.0),
    ("reclaimed", (b"pgsteal_kswapd", b"pgsteal_direct"), 1.0),
    ("scanned", (b"pgscan_kswapd", b"pgscan_direct"), 1.0),
    ("swapped_in", (b"pswpin",), 1.0),
    ("swapped_out", (b"pswpout",), 1.0),
    ("workingset_refault", (b"workingset_refault_anon", b"workingset_refault_file"), 1.0),
)


class PagingProbe(TableProbe):
    """Of the whole machine."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._file = self.keep("/proc/vmstat", scope)
        self.begin()

    def told(self) -> Told:
        found = self._file.pairs()
        return {
            (memory.PAGES, (event,)): sum(int(found[name]) for name in names) * factor
            for event, names, factor in _EVENTS
            if all(name in found for name in names)
        }


open_probe = PagingProbe
