"""What a watching that goes on keeps of each slice, and which changes it tells."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from strata.app import watch_every
from strata.errors import UsageError
from strata.host.ring import LINE_MOST, Ring
from strata.model.finding import Cause, VerdictKind
from strata.model.live import LiveLayer
from strata.model.watch import Slice, SliceIssuer, WatchedLayer

NS = 10**9


def slice_(number: int, *rows: WatchedLayer) -> Slice:
    return Slice(
        at_unix_ns=number * 10 * NS, seconds=10, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM,
        confidence=0.6, headline="full", layers=rows,
    )  # fmt: skip


def test_more_places_than_a_line_has_room_for_end_no_watching(tmp_path: Path) -> None:
    """A host of containers: the busiest of its cards are kept, each other layer is, and it is said."""
    cards = [
        WatchedLayer(layer="share", what=f"veth{n:08x}", kind="card", bytes_per_second=1e9 - n, node=None)
        for n in range(2000)
    ]
    disk = WatchedLayer(layer="disk", what="sda", kind="device", iops=7.0)
    whole = slice_(1, *cards, disk)
    assert len(whole.model_dump_json(exclude_none=True)) > LINE_MOST
    ring = Ring(tmp_path / "r")
    ring.append(whole.at_unix_ns, watch_every._line(whole))
    ((_, line),) = ring.lines(0, 10**18)
    kept = Slice.model_validate_json(line)
    shown = kept.layers[:-1]
    assert kept.layers[-1] == disk and 100 < len(shown) < 2000 and list(shown) == cards[: len(shown)]
    assert kept.absent == (f"{2000 - len(shown)} more places were counted and are not kept",)
    small = slice_(1, disk)
    assert Slice.model_validate_json(watch_every._line(small)) == small


def test_names_of_any_length_and_nodes_without_number_end_no_watching(tmp_path: Path) -> None:
    """A user may name a control group of 4 KiB of control characters, each of which is six bytes of JSON; a stack may
    have a thousand nodes, all gone with their scheduler."""
    hostile = SliceIssuer(label="app/7", kind="process", group="/" + "\x01" * 4000)
    lost = tuple(f"n{n} (layer {n}) after 3.2 s: cannot ask node n{n}: the scheduler is gone" for n in range(1000))
    layers = tuple(LiveLayer(name=f"layer {n}", endpoint=f"file:/srv/{n}", node=f"n{n}") for n in range(1000))
    ring = Ring(tmp_path / "r")
    for number, more in enumerate(({"issuers": (hostile,) * 4}, {"absent": lost}, {"stack": layers})):
        whole = slice_(number + 1).model_copy(update=more)
        assert len(whole.model_dump_json(exclude_none=True)) > LINE_MOST
        ring.append(whole.at_unix_ns, watch_every._line(whole))
    kept = [Slice.model_validate_json(line) for _, line in ring.lines(0, 10**18)]
    assert [one.headline for one in kept] == ["full"] * 3
    assert [i.label for i in kept[0].issuers] == ["app/7"] * 4 and kept[0].issuers[0].group.startswith("/\x01")
    assert kept[1].absent[0].startswith("n0 (layer 0)") and kept[1].absent[-1] == "and 980 more"


def test_a_change_of_level_is_told_once_though_its_beginning_is_found_anew() -> None:
    """Slices between two levels: with the first three of the new one the change begins at them, with more behind."""
    rates = [102, 100, 98, 101, 98, 100, 102, 99, 98, 100, 99, 150, 150, 180, 301, 300, 297, 301, 297, 298, 300, 298]
    newest: list[Slice] = []
    told = []
    for number, rate in enumerate(rates):
        row = WatchedLayer(layer="disk", what="sda", kind="device", iops=rate)
        newest = watch_every._with_next(newest, slice_(number, row))
        told += [(number, event.at_unix_ns // (10 * NS)) for event in newest[-1].events]
    assert len(told) == 1, told


def test_only_the_newest_slices_are_looked_at() -> None:
    newest: list[Slice] = []
    for number in range(watch_every.NEWEST + 20):
        newest = watch_every._with_next(newest, slice_(number))
    assert len(newest) == watch_every.NEWEST
    assert all(after.at_unix_ns > before.at_unix_ns for before, after in pairwise(newest))


def test_a_path_that_leads_nowhere_is_an_error_that_says_so(tmp_path: Path) -> None:
    """As it comes from the address of a page, too."""
    (loop := tmp_path / "loop").symlink_to(loop)
    for where in (str(loop / "x"), "file:" + "a" * 300, "file:~there-is-no-such-user/x"):
        with pytest.raises(UsageError):
            watch_every.newest(where, 60)


def test_a_watching_too_short_for_a_single_slice_is_refused(tmp_path: Path) -> None:
    """Once it ended after its time with nothing said, as if all were well."""
    with pytest.raises(UsageError) as refused:
        watch_every.watch_on(str(tmp_path), 10.0, print, 3.0)
    assert "every 10 s" in refused.value.why and "--for 10s" in refused.value.hint
