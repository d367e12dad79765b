"""Asked against in force: which differences are said, and which states are refused."""

from __future__ import annotations

import pytest

from strata.model.caching import Caching, Residency, compare, refusal, sync_in_effect
from strata.model.endpoint import Endpoint
from strata.model.workload import Cache, Workload
from strata.plan.words import workload_from_words

PAGE = 4096


def pages(resident: int, of: int = 1000) -> Residency:
    return Residency(pages=of, resident=resident, unwritten=0, page_bytes=PAGE)


def asked(cache: str | None = None, rw: str = "randread", **more: object) -> Workload:
    return workload_from_words(rw, cache=cache, **more)  # type: ignore[arg-type]


def held(workload: Workload, before: int, after: int, *, read_pages: int = 0, sync: str = "none") -> Caching:
    return compare(
        workload,
        direct=workload.direct,
        sync=sync,
        before=pages(before),
        after=pages(after),
        unknown=None,
        read_bytes=read_pages * PAGE,
    )


@pytest.mark.parametrize(
    ("cache", "before", "after", "read_pages", "said"),
    [
        ("cold", 0, 300, 300, None),
        ("cold", 10, 300, 300, None),
        ("cold", 400, 700, 300, "40 % of 1\u202f000 pages were in memory at the start"),
        # 300 pages came from the medium, 600 were read.
        ("cold", 0, 300, 600, "50 % of the bytes read had been read before"),
        # Read ahead: more came than was asked for.
        ("cold", 0, 900, 300, None),
        ("warm", 1000, 1000, 5000, None),
        ("warm", 990, 990, 5000, None),
        ("warm", 600, 600, 500, "60 % of 1\u202f000 pages were in memory at the start"),
        ("warm", 1000, 700, 500, "70 % of 1\u202f000 pages were in memory at the end"),
        (None, 400, 900, 5000, "O_DIRECT was requested, but the page cache grew from 40 % to 90 %"),
        (None, 400, 400, 5000, None),
    ],
)
def test_reads(cache: str | None, before: int, after: int, read_pages: int, said: str | None) -> None:
    found = held(asked(cache), before, after, read_pages=read_pages).departures
    assert len(found) == (said is not None)
    assert all(said in text for text in found if said), found


def test_buffered_as_found_promises_nothing_and_is_counted() -> None:
    found = held(asked(direct=False), 400, 900, read_pages=5000)
    assert found.departures == ()
    assert (found.in_force.cache, found.before and found.before.fraction) == ("mixed", 0.4)


@pytest.mark.parametrize(("before", "state"), [(0, "cold"), (10, "cold"), (11, "mixed"), (989, "mixed"), (990, "warm")])
def test_the_state_at_the_start_has_a_name(before: int, state: str) -> None:
    assert held(asked(direct=False), before, before).in_force.cache == state


def test_a_cache_that_cannot_be_read_back_is_not_taken_for_what_was_asked() -> None:
    found = compare(
        asked("cold"), direct=False, sync="none", before=None, after=None, unknown="not permitted", read_bytes=1
    )
    assert found.in_force.cache == "unknown"
    assert "could not be verified: not permitted" in found.departures[0]


def test_durability_that_is_refused_is_not_in_force() -> None:
    assert sync_in_effect("rwf_dsync", refused=False) == "rwf_dsync"
    assert sync_in_effect("dsync", refused=True) == "dsync"
    lost = sync_in_effect("rwf_dsync", refused=True)
    found = held(asked(rw="write", sync="rwf_dsync"), 0, 0, sync=lost)
    assert found.departures == ("sync=rwf_dsync was requested, but sync=none was in effect",)


def test_an_end_without_a_page_cache_departs_from_nothing() -> None:
    found = compare(
        asked(), direct=False, sync="none", before=None, after=None, unknown=None, read_bytes=1, local=False
    )
    assert (found.departures, found.in_force.cache) == ((), "none")


@pytest.mark.parametrize(
    ("uri", "cache", "said"),
    [
        ("file:/x/y", "cold", None),
        ("file:/x/y", "warm", None),
        ("block:/dev/x", "warm", None),
        ("block:/dev/x", "cold", "BLKFLSBUF"),
        ("nbd://host:1/x", "cold", "no cache"),
        ("nbd://host:1/x", "warm", "no cache"),
        ("null:", "cold", "no cache"),
        ("nbd://host:1/x", None, None),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_reason(uri: str, cache: str | None, said: str | None) -> None:
    why = refusal(Endpoint.parse(uri), asked(cache))
    assert (why is None) == (said is None)
    assert said is None or said in (why or "")


def test_a_cache_state_means_buffered_and_has_its_own_key() -> None:
    cold, warm = asked("cold"), asked("warm")
    assert not cold.direct and cold.cache is Cache.COLD
    assert len({cold.key, warm.key, asked().key, asked(direct=False).key}) == 4
    assert cold.label.endswith("buffered · cold")
    with pytest.raises(ValueError, match="bypasses it"):
        asked().model_copy().__class__(**(asked().model_dump() | {"cache": "cold"}))
