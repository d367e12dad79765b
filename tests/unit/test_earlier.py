"""What a store says of the noise of the next measurement."""

from __future__ import annotations

from pathlib import Path

import pytest
from store import store_samples as sample

from strata.app.earlier import RUNS_LOOKED_AT, RUNS_POOLED, earlier_noise, earlier_noise_of
from strata.model.endpoint import Endpoint
from strata.model.noise import PooledNoise
from strata.store import open_store

PLACE = "h · sda · direct"


def noise(between: float = 0.0, df: float = 0.0, seconds: float = 3.0) -> PooledNoise:
    return PooledNoise(
        variance_s=0.001, spread_df=5, correlation_s=0.1, between=between, between_df=df, cells=1, seconds=seconds
    )


def test_many_runs_of_one_start_do_not_hide_the_one_that_says_what_starts_differ_by(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        shown = [noise(0.04, 30), *(noise(seconds=4.0 + i) for i in range(2 * RUNS_POOLED))]
        for n, one in enumerate(shown):
            run = sample.run(f"run-{n:02}", created=n + 1)
            store.create_run(run.model_copy(update={"pooled": one, "pooled_at": PLACE}))
        found = earlier_noise(store, PLACE)
        assert found is not None and found.between == pytest.approx(0.04, rel=0.01) and found.between_df == 30
        assert len(found.runs) == RUNS_POOLED + 1 and "run-00" in found.runs
        assert earlier_noise(store, "h · sdb · direct") is None
        without = earlier_noise(store, PLACE, besides="run-00")
        assert without is not None and without.between_df == 0


def test_no_store_is_no_knowledge_and_none_is_made(tmp_path: Path) -> None:
    assert earlier_noise_of(Endpoint.parse("null:"), True, str(tmp_path / "none.db")) is None
    assert not (tmp_path / "none.db").exists()


def test_its_own_runs_are_known_however_many_of_other_places_came_after(tmp_path: Path) -> None:
    url = str(tmp_path / "s.db")
    with open_store(url) as store:
        for n, ops in enumerate((1000, 1100, 1050)):
            run = sample.run(f"own-{n}", created=n + 1).model_copy(update={"pooled": noise(), "pooled_at": PLACE})
            store.create_run(run)
            store.save_cell(run.id, sample.cell(0, ops=ops))
        (cell,) = store.series()
        for n in range(RUNS_LOOKED_AT):
            store.create_run(sample.run(f"other-{n}", created=100 + n))
    found = earlier_noise_of(Endpoint.parse("null:"), True, url, cell)
    assert found is not None and found.between_df == 2 and 0.02 < found.between < 0.08
