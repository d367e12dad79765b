"""The page cache of the machine on which clients run: into the state asked before they begin, and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strata.engine.cell import CACHED_HERE, Spans, into_state, residency_of_all, spans_of
from strata.engine.native import said
from strata.errors import RunFailed
from strata.model.caching import Residency
from strata.model.plan import Segment
from strata.model.workload import Cache

Words = Sequence[Mapping[str, Any]]


def make_ready(words: Words, cache: Cache) -> None:
    """Of all that these clients drive. Raises `RunFailed`."""
    for path, spans in _driven(words):
        try:
            into_state(path, spans, cache)
        except OSError as e:
            raise RunFailed("cannot prepare the page cache for", path, said(e)) from e


def seen(words: Words) -> tuple[Residency | None, str | None]:
    """Pages of all that these clients drive that are in memory, or why that is not known."""
    return residency_of_all(_driven(words))


def _driven(words: Words) -> list[tuple[str, Spans]]:
    """Each path with all blocks of it, as the jobs of the clients have them."""
    found: dict[str, list[Segment]] = {}
    kinds = {kind.value for kind in CACHED_HERE}
    for job in (one["job"] for one in words):
        alone = [{"target": job["target"], "segments": job["workload"]["segments"]}] if "target" in job else []
        for aim in alone or job["targets"]:
            if aim["target"]["kind"] in kinds:
                found.setdefault(aim["target"]["path"], []).extend(Segment(**s) for s in aim["segments"])
    return [(path, spans_of(segments)) for path, segments in found.items()]
