"""The data fits a cache, or a cache answered.

What it claims
    A test of the storage uses more data than every cache that may answer for it, and its unbuffered reads reach the
    device.
Why it matters
    With less data than the cache it is a test of the cache: fine on purpose, misleading by accident.
Evidence
    The size of the file and of a cache that is in use; or the bytes the device read for each byte requested (below one
    half, a cache or a hole in the file answered).
What rules it out
    Caching turned off, for caches of the host. It cannot be true only for the layer that has the device itself, with
    nothing in between. For a layer above one whose same reads reached the device it is a caveat, because something in
    between may hold the data; it is not reported where the stack declares a cache (`expect.faster`).
Source
    SNIA Solid State Storage Performance Test Specification (active range against cache).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, value
from strata.model.figures import Role, Table

NAME, TITLE, ORDER = "cache", "cache", 170
SAYS = "the data fits a cache, or a cache answered"
SHARE = 0.5
OWN, BELOW, NONE = "own", "below", "none"
"""Whose the device is that was read: the layer's own, that of a layer below which did read it, or neither is known."""


def check(table: Table) -> Answers:
    for row in table.of(Role.MEASURED):
        file, cache = value(table, row, "file"), value(table, row, "cache")
        caching = table.word(row, "caching")
        if not file or not cache or not caching:
            continue
        yield None
        if file < cache and caching == "on":
            text = f"the file of {units.size(file)} fits the cache of {units.size(cache)}, and caching is on"
            step = "Use a larger file, or turn caching off."
            yield flag(row, text, step, column="file", numbers={"file": file, "cache": cache})
    for row in measured(table, "reached"):
        yield None
        share = row.figures["reached"].base
        witness = table.word(row, "witness") or OWN
        if share >= SHARE or table.word(row, "caching") == "on" or witness == NONE:
            continue
        what = "by a cache, or from parts of the file that were never written"
        text = f"the device read {units.significant(share)} bytes per byte requested, unbuffered: the reads were "
        text += f"answered {what if witness == OWN else 'by a cache on the way to it, or took another path'}"
        step = "Use a larger file, drop the cache, and make sure that the file is written before it is read."
        yield flag(row, text, step, broken=witness == OWN, column="reached", numbers={"reached": share})
