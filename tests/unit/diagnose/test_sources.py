"""What others printed, judged by the same rules: their conclusions where the figures carry them, and where not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from strata.analyse.of_table import ladder_of
from strata.diagnose import diagnose, propose
from strata.formats.table import read_table
from strata.model.analysis import Analysis, CellSummary, Equivalence
from strata.model.experiment import Tried
from strata.model.finding import Cause, VerdictKind
from strata.model.stack import Stack

DATA = Path(__file__).parents[2] / "data" / "laws"


def ladder(name: str = "ladder.csv") -> tuple[Stack, Analysis]:
    found = ladder_of(read_table((DATA / name).read_text(), name, {}))
    assert found is not None
    return found


def giving(cell: CellSummary, iops: float) -> CellSummary:
    changed = cell.iops.model_copy(update={"value": iops, "low": iops * 0.95, "high": iops * 1.05})
    return cell.model_copy(update={"iops": changed})


def verdicts(analysis: Analysis, layer: str, below: str) -> dict[str, Equivalence]:
    return {c.workload_key: c.verdict for c in analysis.comparisons if (c.layer, c.below) == (layer, below)}


WRITES = "write-8KiB-qd8"


def test_the_cases_of_a_cluster_volume_are_told_as_their_author_told_them() -> None:
    """Direct is equal to the disk; redirected elsewhere is equal to the share; in order only writes fall."""
    _, analysis = ladder()
    for layer in ("direct, coordinator", "direct, other node"):
        assert set(verdicts(analysis, layer, "baseline 1").values()) == {Equivalence.WITHIN}
    for layer in ("file redirected, other node", "block redirected, other node"):
        assert set(verdicts(analysis, layer, "baseline 2").values()) == {Equivalence.WITHIN}
        fell = {k for k, v in verdicts(analysis, layer, "baseline 1").items() if v is Equivalence.ABOVE}
        assert fell == {WRITES}
    assert verdicts(analysis, "file redirected, coordinator", "baseline 1")[WRITES] is Equivalence.ABOVE


def test_the_row_with_a_digit_too_many_is_left_out_and_said() -> None:
    _, analysis = ladder()
    assert WRITES not in verdicts(analysis, "direct, other node", "baseline 1")
    said = " ".join(c.message for c in analysis.checks)
    assert "left out" in said and "one digit less" in said and not any(c.impossible for c in analysis.checks)


def test_the_author_s_own_experiment_is_proposed_and_its_outcome_names_reordering() -> None:
    """He ran the disk with two threads, "and bingo": the writes fell to the share's."""
    stack, analysis = ladder()
    before = diagnose(stack, analysis).verdict
    assert (before.kind, before.layer) == (VerdictKind.INCONCLUSIVE, "baseline 2")
    experiment = propose(stack, analysis)
    assert experiment is not None
    assert (experiment.layer, experiment.reference, experiment.workload.threads) == ("baseline 1", WRITES, 2)
    reference, share = analysis.summary("baseline 1", WRITES), analysis.summary("baseline 2", WRITES)
    assert reference is not None and share is not None
    tried = Tried(experiment=experiment, reference=reference, changed=giving(reference, share.iops.value))
    after = diagnose(stack, analysis, (tried,)).verdict
    assert (after.kind, after.layer, after.cause) == (VerdictKind.LAYER, "baseline 2", Cause.REORDERING)
    assert after.confidence >= 0.8 and after.next_step.startswith("Use one dispatcher")


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.04])
def test_had_the_disk_kept_its_writes_reordering_would_have_fallen(noise: float) -> None:
    stack, analysis = ladder()
    experiment = propose(stack, analysis)
    assert experiment is not None
    reference = analysis.summary("baseline 1", WRITES)
    assert reference is not None
    changed = giving(reference, reference.iops.value * math.exp(-noise))
    after = diagnose(stack, analysis, (Tried(experiment=experiment, reference=reference, changed=changed),))
    assert after.verdict.cause is not Cause.REORDERING and after.verdict.confidence < 0.8
    assert "baseline 2: reordering" in after.story[0].fell


@pytest.mark.parametrize(("times", "named"), [(1.0, True), (3.0, False), (1 / 3, False)])
def test_only_an_experiment_that_leaves_as_much_names_it_where_the_device_was_not_counted(
    times: float, named: bool
) -> None:
    """The share reads fast and writes slowly: a limit of its writes would look the same, unless that is the very figure
    which two threads leave of the disk."""
    stack, analysis = ladder()
    experiment = propose(stack, analysis)
    reference, share = analysis.summary("baseline 1", WRITES), analysis.summary("baseline 2", WRITES)
    assert experiment is not None and reference is not None and share is not None
    tried = Tried(experiment=experiment, reference=reference, changed=giving(reference, times * share.iops.value))
    after = diagnose(stack, analysis, (tried,)).verdict
    assert (after.kind is VerdictKind.LAYER) is named
    assert (after.confidence >= 0.8) is named
