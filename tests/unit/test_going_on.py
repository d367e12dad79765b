"""How a run goes on is said where that can be done, and by the command that does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.app.going_on import next_step
from strata.app.history import save_baseline
from strata.app.kept import load_report
from strata.app.measure import plan_of_one
from strata.app.runner import run_of
from strata.app.stacks import stack_of
from strata.engine import Timing
from strata.errors import InconclusiveError, StrataError
from strata.model.endpoint import Endpoint
from strata.model.run import Label, Run, RunStatus
from strata.model.scale import Axis, ScaleAsk
from strata.plan.words import workload_from_words
from strata.store import open_store


def measured(status: RunStatus, *uris: str) -> Run:
    """A single measurement at these endpoints."""
    stack = stack_of([Endpoint.parse(uri) for uri in uris or ("null:",)])
    plan = plan_of_one(
        stack, workload_from_words("randread"), Timing(ramp_s=0, runtime_s=1, interval_s=1), 1 << 20, None
    )
    return run_of(plan, {"name": "native"}, Label(), status=status)


def sweep(axis: Axis) -> Run:
    run = measured(RunStatus.STOPPED)
    ask = ScaleAsk(axis=axis, values=(1, 2), budget_s=8.0, target=0.05)
    return run.model_copy(update={"plan": run.plan.model_copy(update={"scale": ask})})


def test_a_measurement_that_was_stopped_goes_on_and_one_that_failed_or_had_several_targets_does_not() -> None:
    for status in (RunStatus.STOPPED, RunStatus.RUNNING):
        run = measured(status)
        assert next_step(run) == f"strata measure --resume {run.id}"
        assert "cannot be resumed" in next_step(measured(status, "nbd://a/x", "nbd://b/x"))
    assert "cannot be resumed" in next_step(measured(RunStatus.FAILED))


def test_a_sweep_goes_on_by_its_own_command_with_what_makes_its_points() -> None:
    for axis in Axis:
        run = sweep(axis)
        more = " --make 'COMMAND {}' --now N" if axis.commanded else ""
        assert next_step(run) == f"strata scale --resume {run.id}{more}"
    assert any(axis.commanded for axis in Axis)


@pytest.mark.parametrize("look", ["report", "baseline"])
def test_what_failed_is_not_sent_from_one_command_to_the_other(tmp_path: Path, look: str) -> None:
    """`report` named `measure --resume`, which refuses what has ended and named `report`."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    run = measured(RunStatus.FAILED)
    with open_store(url) as store:
        store.create_run(run)
    with pytest.raises(StrataError) as said:
        if look == "report":
            load_report(run.id, url)
        else:
            save_baseline("main", [run.id], None, "", url, new=True, anyway=False)
    assert isinstance(said.value, InconclusiveError) and said.value.hint == "it cannot be resumed: measure it again"
