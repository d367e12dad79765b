"""Values: a copy with other fields tells nothing of the old ones."""

from __future__ import annotations

from strata.plan.workloads import DIAGNOSE


def test_a_changed_copy_has_a_key_of_its_own() -> None:
    one = DIAGNOSE[0]
    assert one.key == one.model_copy().key == "randread-8KiB-qd1"
    other = one.model_copy(update={"bs": 2 * one.bs})
    assert other.key == "randread-16KiB-qd1"
    assert other == one.resized(2)
    assert "key" not in other.model_dump()
