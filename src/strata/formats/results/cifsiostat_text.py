"""cifsiostat's text: SMB shares as the client saw them, in reports like iostat's.

``rB/s`` are bytes, with -k and -m 2^10 and 2^20 of them; ``fo/s``, ``fc/s`` and ``fd/s`` are files that were opened,
closed and deleted.
"""

from __future__ import annotations

from strata.formats.results import iostat_text
from strata.formats.results.source import Source, begins
from strata.model.imported import Imported

NAME, TITLE, ORDER = "cifsiostat-text", "cifsiostat's text", 112


def recognise(head: str) -> bool:
    return begins(head, r"^Filesystem:?\s.*\brops/s\s")


def read(source: Source) -> Imported:
    """Series for each column of each share."""
    return iostat_text.reports(source, "cifsiostat")
