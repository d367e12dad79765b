"""A load under which a number changed, as the terminal has it."""

from __future__ import annotations

import pytest

from strata.model.axis import Axis
from strata.model.elastic import ElasticRun, LoadChange, VerifiedBeside
from strata.model.estimate import Estimate
from strata.model.verify import Integrity
from strata.report.elastic_text import elastic_text

MIB = 1 << 20


def iops(value: float) -> Estimate:
    return Estimate(value=value, low=value * 0.95, high=value * 1.05, n=5, unit="IOPS")


JOINED = LoadChange(
    before_value=2, value=3, began_s=10.0, ended_s=16.0, before=iops(1600), after=iops(2400), dip=0.62, recovered_s=8.1,
    gain=1.5, data_before={"s1": 214 * MIB, "s2": 214 * MIB}, data_after={"s1": 143 * MIB, "s3": 143 * MIB},
)  # fmt: skip
KEPT = VerifiedBeside(
    endpoint="nbd://h/b", verdict=Integrity.SOUND, why="every block holds what was acknowledged", writes=8367,
    acknowledged=1920, faulty=0,
)  # fmt: skip


def told(*changes: LoadChange, verified: VerifiedBeside | None = KEPT) -> str:
    found = ElasticRun(
        where="nbd://h/a", label="random read", axis=Axis.STORAGE_NODES, changes=changes, verified=verified, series=()
    )
    return elastic_text(found, 160).replace("\u202f", " ")


def test_a_change_is_a_row_and_below_it_stands_where_the_data_was_and_is() -> None:
    text = told(JOINED)
    row, data = (line for line in text.splitlines() if "2 → 3" in line)
    assert text.startswith("nbd://h/a · random read · 1 change of storage-nodes under load")
    for word in ("6.00 s", "1 600 IOPS", "62 %", "8.1 s", "2 400 IOPS", "1.50×"):
        assert word in row, word
    assert data.strip() == "2 → 3: the data was on s1 214 MiB, s2 214 MiB; then s1 143 MiB, s3 143 MiB"
    assert "Nothing was lost: 8 367 writes to nbd://h/b meanwhile, 1920 blocks read back at the end." in text


def test_what_nobody_asked_for_is_left_out_and_what_is_not_known_is_said() -> None:
    plain = JOINED.model_copy(update={"data_before": {}, "data_after": {}, "recovered_s": None})
    text = told(plain, verified=None)
    assert "the data was" not in text and "not until the next" in text
    assert "Not checked whether data was lost: --verify names an endpoint for it." in text
    unknown = LoadChange(before_value=3, value=2, began_s=1.0, ended_s=9.0, refused="too few intervals")
    text = told(JOINED, unknown)
    assert "3 → 2: no figures: too few intervals; give a larger --budget" in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [(Integrity.FAULTS, "DATA WAS LOST: 3 faults"), (Integrity.INCONCLUSIVE, "Inconclusive whether data was lost:")],
)
def test_what_was_lost_or_not_seen_is_said(verdict: Integrity, words: str) -> None:
    assert words in told(JOINED, verified=KEPT.model_copy(update={"verdict": verdict, "faulty": 3}))
