"""The figures of the five source documents: what does not hold is found, what holds is left alone.

``tests/data/laws`` has their tables in our own form. Each example is named by its table, the law that finds it and its
row ("" where a whole column is meant).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from strata.analyse.laws import check_table
from strata.formats.table import read_table
from strata.model.figures import Flag, Table

DATA = Path(__file__).resolve().parents[2] / "data" / "laws"
TABLES = (
    "cpu",
    "diskspd",
    "guidance",
    "ladder",
    "nearest",
    "nics",
    "nodes",
    "percentiles",
    "pieces",
    "plan",
    "progress",
    "smb",
    "trace",
    "traffic",
)

SIXTEEN: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "E1 177 880 IOPS beside 138 MB/s": (
        ("ladder", "rate", "direct, other node: sequential write", "27 of 28 rows match as MiB/s, truncated"),
    ),
    "E3 4 ms at 17 311 IOPS and depth 8": (("trace", "little", "baseline 1: I/O time (trace)", "69.2 I/Os"),),
    "E5 a time per transfer of 0": (("trace", "quantised", "baseline 1: time per transfer (counter)", "462 µs"),),
    "E9 nearness decides nothing": (
        ("nearest", "nearness", "file redirected, other node: sequential read", "close to both"),
        ("nearest", "nearness", "file redirected, other node: random read", "close to both"),
        ("nearest", "nearness", "file redirected, other node: random write", "close to both"),
        ("nearest", "nearness", "file redirected, other node: sequential write", "used for 0.10 % only"),
        ("nearest", "nearness", "block redirected, other node: sequential read", "close to both"),
        ("nearest", "nearness", "block redirected, other node: random read", "close to both"),
        ("nearest", "nearness", "block redirected, other node: random write", "close to both"),
        ("nearest", "nearness", "block redirected, other node: sequential write", "used for 0.10"),
    ),
    "E10 an order that broken layers keep": (("ladder", "criterion", "the order of patterns", "4 of them broken"),),
    "E12 never split": (("pieces", "pieces", "32K over 64K clusters", "are split into 2 pieces"),),
    "E13 depth 8 is not in the matrix": (("ladder", "execution", "", "depth 8 of 28 measured rows"),),
    "E17 1000 x 1 MiB/s is not 1 GiB/s": (("traffic", "rate", "the cap", "0.9768 GiB/s"),),
    "E18 both directions in one figure": (("traffic", "directions", "write on the other node", "17.2 Gb/s, not 25.8"),),
    "E20 the disk that is called physical": (
        ("traffic", "copies", "write on the owner", "virtual disk"),
        ("traffic", "copies", "write on the other node", "virtual disk"),
    ),
    "E22 half the IOPS for half again the time": (("guidance", "little", "half again the latency", "33.3 %"),),
    "E23 the wrong nine": (("percentiles", "quotes", "the 99.9th in the text", "at most 115 I/Os"),),
    "E29 two threads write one log": (
        ("plan", "interleaved", "command: log 4K", "interleaved"),
        ("plan", "interleaved", "command: log 64K", "interleaved"),
        ("plan", "interleaved", "executed", "interleaved"),
    ),
    "E31 MB/s that are MiB/s": (("diskspd", "unit-label", "", "holds MiB/s"),),
    "E33 near-constant latency": (("smb", "constant", "near-constant latency", "12 times, from 1.63 ms to 19.9 ms"),),
    "E37 512 KB for 512 KiB": (("smb", "quotes", "large reads", "512 000 bytes"),),
}

FURTHER: tuple[tuple[str, str, str, str], ...] = (
    # 177 880 is ten times baseline 1, which the layer stands on: the same slip, seen from another side.
    ("ladder", "faster-than-below", "direct, other node: sequential write", "10.3 times"),
    # 155 beside 19 906 x 8 KiB = 163.1 MB/s = 155.5 MiB/s: this column is binary as well.
    ("ladder", "unit-label", "", "10 of 28 rows match in no other way"),
    # 359 and 273 IOPS are both printed as 2 MB/s.
    ("ladder", "quantised", "", "14 rows look equal"),
    # 17 311 x 0.6 ms = 10.4 at the device, of 8 outstanding.
    ("trace", "little", "baseline 1: disk service time (trace)", "10.4 I/Os"),
    # client = server + wire in every one of eight P90s: one column is a subtraction.
    ("smb", "subtracted", "one read, 1 KiB", "in all 8 rows"),
    # 36.65 % on processor 7; processors 0 and 1 were pinned and have 18 %.
    ("cpu", "pinned", "processor 7", "busiest"),
    # 1 147 971 x 10^-5 = 11 I/Os beyond the fifth nine, 1 beyond the sixth, none beyond the others.
    ("percentiles", "samples", "5-nines", "11 beyond it"),
    ("percentiles", "samples", "6-nines", "1.1 beyond it"),
    ("percentiles", "samples", "7-nines", "0.11 beyond it"),
    ("percentiles", "samples", "8-nines", "0.011 beyond it"),
    # Mean 0.052 ms, and all I/Os up to p99.9 together account for 0.0092 ms of it at most.
    ("percentiles", "tail", "", "slowest 0.1 %"),
    # The list says 512 B, the command says 4K; -h was asked for and left out.
    ("plan", "execution", "command: log 4K", "512 B was planned, 4 KiB was run"),
    ("plan", "execution", "executed", "caching off was planned, on was run"),
    # 6.4 cycles per byte belong to 327 050 IOPS; the row with 375 900 has 7.4.
    ("smb", "quotes", "highest IOPS", "no row has these together"),
    # 16.4 GB/s are 81 % of three links of 54 Gb/s; the server's processors are not printed for these rows.
    ("smb", "limit", "large reads reach the network", "81.0 %"),
    # 4.95 / 2.45 = 2.02, at least 2.01 by rounding; its cost per byte falls from 1.22 to 1.06.
    ("smb", "scaling", "sequential read, 64 KiB, 2 threads", "2.02 times"),
    # One copy on the other node is one byte on the wire; 2 stand there, and 1 for a read that was redirected.
    ("traffic", "copies", "one node mirrors the other", "at least 3"),
    # All four rows were capped at 1000 IOPS.
    ("traffic", "cap", "", "not a capacity"),
)
"""What else does not hold in these tables, each with its arithmetic."""


@cache
def table(name: str) -> Table:
    """One of the tables; the ladder beside the matrix that was recommended for it."""
    found = read_table((DATA / f"{name}.csv").read_text(), name)
    if name != "ladder":
        return found
    plan = read_table((DATA / "matrix.csv").read_text(), "matrix")
    return found.model_copy(update={"rows": found.rows + plan.rows})


@cache
def flags(name: str) -> tuple[Flag, ...]:
    return check_table(table(name))


@pytest.mark.parametrize("example", SIXTEEN)
def test_an_example_is_found_with_its_row_and_its_numbers(example: str) -> None:
    for name, law, row, words in SIXTEEN[example]:
        found = [f for f in flags(name) if (f.law, f.row) == (law, row)]
        assert len(found) == 1, [(f.law, f.row, f.reason) for f in flags(name)]
        assert words in found[0].reason.replace("\u202f", " ")
        assert found[0].next_step


@pytest.mark.parametrize(("name", "law", "row", "words"), FURTHER)
def test_what_else_does_not_hold_is_found(name: str, law: str, row: str, words: str) -> None:
    found = [f for f in flags(name) if (f.law, f.row) == (law, row)]
    assert len(found) == 1
    assert words in found[0].reason.replace("\u202f", " ")


def test_there_are_sixteen() -> None:
    assert len(SIXTEEN) == 16


def test_no_flag_on_any_row_that_holds() -> None:
    known = {one[:3] for some in SIXTEEN.values() for one in some} | {one[:3] for one in FURTHER}
    false = [(n, f.law, f.row, f.reason) for n in TABLES for f in flags(n) if (n, f.law, f.row) not in known]
    assert len(false) == 0, false


def test_rows_are_many_and_flagged_rows_are_few() -> None:
    rows = sum(len(table(n).rows) for n in TABLES)
    flagged = {(n, f.row) for n in TABLES for f in flags(n) if f.row}
    assert (rows, len(flagged)) == (439, 34)


def test_every_table_is_asked() -> None:
    assert {p.stem for p in DATA.glob("*.csv")} == {*TABLES, "matrix"}


def test_flags_that_are_no_contradiction_are_told_after_those_that_are() -> None:
    for name in TABLES:
        order = [f.broken for f in flags(name)]
        assert order == sorted(order, reverse=True)
