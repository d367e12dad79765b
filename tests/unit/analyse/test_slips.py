"""Slips that people make in tables: each is found by the law that is named, and the same table without it by none."""

from __future__ import annotations

from typing import Any

import pytest

from strata.analyse.laws import check_table
from strata.formats.table import numbers_not_read, read_table

W = "pattern,size [B],depth"
SLIPS: dict[str, tuple[Any, ...]] = {
    "a column nobody knows hides no law": (
        "scaling",
        "layer,pattern,size [B],depth,threads,iops,wombat",
        "a,random read,4096,1,1,1000,17;a,random read,4096,1,8,16000,93;a,random read,4096,1,4,4100,5",
        ("16000", "7600"),
        ("4100", "3900"),
    ),
    "percentiles that add up": (
        "subtracted",
        f"{W},iops,client p99 [ms],server p99 [ms],wire p99 [ms]",
        "random read,4096,8,8000,3.0,1.2,1.8;random read,8192,8,4000,5.0,2.2,2.8;random read,16384,8,2000,7.0,3.1,3.9",
        ("7.0", "6.2"),
    ),
    "I/Os and seconds": (
        "counted",
        f"{W},ios,seconds [s],iops",
        "random read,4096,8,600000,60,20000",
        ("20000", "10000"),
    ),
    "bytes and seconds": (
        "counted",
        f"{W},bytes,seconds [s],MB/s",
        "random read,4096,8,6000000000,60,200",
        ("200", "100"),
    ),
    "failed I/Os": ("errors", f"{W},iops,errors", "random read,4096,8,8000,120", ("120", "0")),
    "short I/Os": ("errors", f"{W},iops,short", "random read,4096,8,8000,17", ("17", "0")),
    "a mean above what its maximum allows": (
        "mean",
        f"{W},mean [ms],p50 [ms],p99 [ms],max [ms]",
        "random read,4096,8,9.0,1.0,2.0,10.0",
        ("9.0", "1.1"),
    ),
    "more than the link": ("linked", f"{W},MB/s,link [Gb/s]", "sequential read,65536,8,1638,10", ("1638", "1138")),
    "microseconds called milliseconds": (
        "little",
        f"{W},iops,mean [ms]",
        "random write,4096,8,8000,1000",
        ("1000", "1.000"),
    ),
    "one cell twice": (
        "repeated",
        f"layer,{W},iops",
        "a,random read,4096,8,8000;a,random read,4096,8,3000",
        ("3000", "7900"),
    ),
    "a block that was copied": (
        "copied",
        f"{W},iops,mean [ms]",
        "random read,4096,8,8012,0.9985;random read,8192,8,8012,0.9985",
        ("8192", "4096"),
    ),
    "planned and never measured": (
        "execution",
        f"role,{W},iops,test",
        "planned,random read,4096,8,,1;planned,random write,4096,8,,2;measured,random read,4096,8,8000,1",
        ("planned,random write,4096,8,,2;", ""),
    ),
    "a spread as large as the mean": (
        "spread",
        f"{W},iops,IopsStdDev",
        "random read,4096,8,8000,6000",
        ("6000", "600"),
    ),
    "larger and faster": (
        "larger",
        f"{W},iops",
        "random read,4096,8,8000;random read,65536,8,16000",
        ("16000", "4000"),
    ),
    "faster than the platter turns": (
        "rotation",
        f"{W},mean [ms],rpm",
        "random read,4096,1,1.1,7200",
        ("1.1", "8.1"),
    ),
    "called equal": (
        "equal",
        f"layer,below,{W},iops,claim",
        "disk,,random read,4096,8,8000,;share,disk,random read,4096,8,5000,equal",
        ("5000", "7900"),
    ),
    "hosts that are forgotten": (
        "little",
        f"{W},threads,hosts,iops,mean [ms]",
        "random write,4096,8,4,10,32000,1.0",
        ("32000", "320000"),
    ),
    "integers that end in .0": (
        "little",
        f"{W},iops,mean [ms]",
        "random read,4096.0,8.0,16000.0,1.0",
        ("16000.0", "8000.0"),
    ),
    "no pattern": ("little", "layer,size [B],depth,iops,mean [ms]", "a,4096,8,16000,1.0", ("16000", "8000")),
}


def asked(head: str, rows: str) -> set[str]:
    table = read_table("\n".join([head, *rows.split(";")]), "slip.csv")
    return {flag.law for flag in check_table(table)}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found_by_its_law_and_the_table_without_it_is_not(slip: str) -> None:
    law, head, rows, *mended = SLIPS[slip]
    assert law in asked(head, rows)
    for wrong, right in mended:
        assert wrong in rows
        rows = rows.replace(wrong, right)
    assert law not in asked(head, rows)


def test_a_column_of_settings_that_nobody_knows_still_tells_rows_apart() -> None:
    """Values that come again are a setting; a column that the user calls a label is one."""
    head = "pattern,size [B],depth,iops,nodes"
    rows = ["random read,4096,8,8000,1", "random read,4096,8,4000,2", "random write,4096,8,8000,1"]
    rows.append("random write,4096,8,4000,2")
    table = read_table("\n".join([head, *rows]), "nodes.csv")
    assert {f.law for f in check_table(table)}.isdisjoint({"repeated"})
    assert numbers_not_read(table) == ("nodes",)
    named = read_table("\n".join([head, *rows[:3]]), "nodes.csv", {"nodes": ""})
    assert all("nodes" in row.words for row in named.rows)
