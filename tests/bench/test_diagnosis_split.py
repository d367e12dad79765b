"""What the bench of verdicts keeps from tuning: a third of the severities, a fifth of the seeds, two whole stacks."""

from __future__ import annotations

import pytest
from diagnosisbench.split import Why, read

SPLIT = read()


def test_a_third_of_the_severities_and_a_fifth_of_the_seeds_are_kept() -> None:
    assert sum(b - a for a, b in SPLIT.ranges) / (SPLIT.high - SPLIT.low) == pytest.approx(1 / 3)
    kept = [s for s in range(1000) if SPLIT.kept((), s, "local", {})]
    assert len(kept) == 200


def test_the_values_that_have_a_name_are_there_to_learn_from_but_the_middle_one() -> None:
    names = {p: SPLIT.kept((p,), 1, "local", {}) for p in (0.0, 0.5, 1.0)}
    assert names == {0.0: frozenset(), 0.5: {Why.SEVERITY}, 1.0: frozenset()}


def test_one_kept_limit_of_two_keeps_the_trial() -> None:
    assert SPLIT.kept((0.2, 1.2), 1, "local", {}) == {Why.SEVERITY}


def test_two_whole_stacks_are_kept() -> None:
    assert SPLIT.kept((), 1, "share", {"protocol": "nfs"}) == {Why.STACK}
    assert SPLIT.kept((), 5, "block-share", {"protocol": "iscsi"}) == {Why.STACK, Why.SEED}
    assert SPLIT.kept((), 1, "share", {"protocol": "smb"}) == frozenset()
