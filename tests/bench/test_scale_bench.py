"""The table of predictions and of what then happened, from records without a lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scalebench.labs import GROUPS
from scalebench.table import judged, table
from scalebench.trial import Record, named

KEPT = Path(__file__).parents[2] / "benches" / "scale" / "records"


def record(gain: float, before: float, after: float, spread: float = 0.1) -> Record:
    told = {"value": gain, "low": gain * (1 - spread), "high": gain * (1 + spread)}
    change = {"asked": "cards=2x@8", "before": before, "after": after, "predicted": told, "refused": ""}
    unasked = {"asked": "copies=3@8", "before": 1.0, "after": 1.0, "predicted": None, "refused": "no card was full"}
    return {"group": "share, cards", "stack": "share", "changes": [change, unasked]}


def test_an_error_is_of_the_gain_and_an_interval_holds_the_real_one() -> None:
    good, bad = judged([record(2.0, 100, 200), record(2.0, 100, 150)])
    assert good.error == pytest.approx(0.0) and good.covered
    assert bad.error == pytest.approx(1 / 3) and not bad.covered


def test_bars_are_met_or_missed_and_what_was_refused_is_told() -> None:
    text, met = table([record(2.0, 100, 150)])
    assert not met and "worst error 33.3% (at most 15%): MISSED" in text and "no card was full" in text
    assert table([])[1] is False


def test_a_change_whose_equal_measurements_differ_judges_no_prediction() -> None:
    """What it gained is not known; how far the prediction lies from that has no say in it."""
    unsteady, steady = record(2.0, 100, 150), record(2.0, 100, 200)
    unsteady["changes"][0]["spread"], steady["changes"][0]["spread"] = 0.06, 0.04
    text, met = table([unsteady, steady], whole=False)
    assert met and "| unsteady |" in text and "changes 1 (a part of the set)" in text
    assert "differ by more than 5% from their mean: 1" in text
    assert table([unsteady], whole=False)[1] is False, "nothing that judges is no proof"
    unsteady["changes"][0]["spread"] = 0.04
    assert table([unsteady, steady], whole=False)[1] is False


def test_a_part_of_the_set_says_how_much_it_has_and_is_judged_by_its_errors_alone() -> None:
    good, bad = [record(2.0, 100, 200)], [record(2.0, 100, 150)]
    text, met = table(good, whole=False)
    assert met and "changes 1 (a part of the set)" in text and "MISSED" not in text
    assert table(good)[1] is False and table(bad, whole=False)[1] is False


def test_every_change_says_where_it_is_measured_and_every_group_has_a_record_of_its_own() -> None:
    assert len({named(g) for g in GROUPS}) == len(GROUPS)
    assert sum(len(g.changes) for g in GROUPS) >= 40 and len({g.stack for g in GROUPS}) >= 4
    assert all(c.at for g in GROUPS for c in g.changes)


def test_the_quick_part_is_one_lab_of_each_kind_and_takes_less_than_ten_minutes() -> None:
    """By what the kept records took; busy processors made it a third longer."""
    quick = [g for g in GROUPS if g.quick]
    assert sorted(g.stack for g in quick) == sorted({g.stack for g in GROUPS})
    assert sum(json.loads((KEPT / f"{named(g)}.json").read_text())["seconds"] for g in quick) < 450


def test_the_kept_records_are_of_changes_that_are_still_asked() -> None:
    known = {g.name: {c.asked for c in g.changes} for g in GROUPS}
    for path in KEPT.glob("*.json"):
        kept = json.loads(path.read_text())
        assert {c["asked"] for c in kept["changes"]} <= known[kept["group"]], path.name
