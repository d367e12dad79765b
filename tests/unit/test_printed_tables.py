"""The tables that the method's authors printed, column for column as they stand: what check, import and diagnose make
of each. Thirteen hold no results in rows but statements, plans, rules or shares: none of them is guessed at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from invoked import said
from tiers import rest_in_ci

from strata.errors import Exit

TABLES = Path(__file__).resolve().parents[1] / "data" / "printed"
# By file: what `strata check` ends with, and of how many rows `strata import` makes cells (0: it refuses the file).
MADE_OF_IT = {
    "csv-ladder": (Exit.GATE, 28),
    "csv-matrix-280cells": (Exit.INCONCLUSIVE, 0),
    "csv-numeric-rules": (Exit.INCONCLUSIVE, 0),
    "csv-reorder-evidence": (Exit.INCONCLUSIVE, 0),
    "diskspd-cpu": (Exit.FINE, 0),
    "diskspd-guidance": (Exit.INCONCLUSIVE, 0),
    "diskspd-percentiles": (Exit.INCONCLUSIVE, 0),
    "diskspd-plan": (Exit.FINE, 0),
    "diskspd-total": (Exit.FINE, 3),
    "nutanix-jetstress": (Exit.INCONCLUSIVE, 0),
    "nutanix-rules": (Exit.INCONCLUSIVE, 0),
    "s2d-traffic": (Exit.INCONCLUSIVE, 0),
    "smb3-conclusions": (Exit.INCONCLUSIVE, 0),
    "smb3-large-read": (Exit.FINE, 10),
    "smb3-mixed-60r40w": (Exit.FINE, 10),
    "smb3-single-io-latency": (Exit.USAGE, 0),
    "smb3-small-read-scaling": (Exit.FINE, 10),
    "smb3-wip": (Exit.USAGE, 0),
}


@pytest.mark.parametrize("name", rest_in_ci(MADE_OF_IT, every_day=6))
def test_a_printed_table_is_read_as_it_stands_or_refused_in_words(name: str) -> None:
    code, rows = MADE_OF_IT[name]
    path = TABLES / f"{name}.csv"
    ended, text = said("check", path)
    assert ended == code and text
    ended, text = said("import", "--dry-run", "--json", path)
    (file,) = json.loads(text)["files"]
    made = file.get("imported") or {"cells": []}
    assert len(made["cells"]) == rows and (ended == 0) is (rows > 0)
    assert (file["problem"] is None) is (rows > 0)


def test_every_table_is_here() -> None:
    assert {path.stem for path in TABLES.glob("*.csv")} == set(MADE_OF_IT)


def test_a_digit_too_many_in_the_ladder_is_found() -> None:
    _, text = said("check", TABLES / "csv-ladder.csv")
    assert "17\u202f788 would match, one digit less" in text


STACK = """
[stack]
name = "printed"
[[layer]]
name = "below"
measured = "{path}"
of = "{below}"
set = {{ direct = true, runtime = "60s" }}
[[layer]]
name = "above"
measured = "{path}"
of = "{above}"
set = {{ direct = true, runtime = "60s" }}
on = ["below"]
"""
DISK, SHARE = "B1_ntfs_local", "B2_smb_node_to_node"
COSTS, NOTHING = ("inconclusive", "above"), ("medium", "below")


@pytest.mark.parametrize(
    ("below", "above", "said_of_it"),
    rest_in_ci(
        [
            (DISK, "C1_csv_direct_coord", NOTHING),
            (DISK, SHARE, COSTS),
            (DISK, "C2_fsredir_coord", COSTS),
            (DISK, "C4_blockredir_noncoord", COSTS),
            (SHARE, "C3_fsredir_noncoord", NOTHING),
        ],
        every_day=2,
    ),
)
def test_the_ladder_is_diagnosed_without_a_figure_typed_again(
    tmp_path: Path, below: str, above: str, said_of_it: tuple[str, str]
) -> None:
    stack = tmp_path / "stack.toml"
    stack.write_text(STACK.format(path=TABLES / "csv-ladder.csv", below=below, above=above))
    _, text = said("diagnose", stack, "--json", "--store", tmp_path / "runs.db")
    verdict = json.loads(text)["verdict"]
    assert (verdict["kind"], verdict["layer"]) == said_of_it
