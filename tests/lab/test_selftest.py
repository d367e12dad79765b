"""The lab's self-test: every trial by itself, what the whole covers, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strata.errors import InconclusiveError, RunFailed, UsageError
from strata_lab import shipped, where
from strata_lab.ledger import names
from strata_lab.selftest import SelftestCase, TrialVerdict, selftest, trials
from strata_lab.truth import InjectionSeverity

FULL = trials(quick=False)


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("trial", FULL, ids=lambda trial: trial.what.replace(" ", "-"))
def test_it_is_as_promised_and_leaves_nothing(trial: SelftestCase) -> None:
    (outcome,) = selftest([trial], print)
    print("\n".join(outcome.said))
    if outcome.verdict is TrialVerdict.NOT_TOLD:
        pytest.skip(f"{outcome.verdict}: {outcome.said[0]}")
    assert outcome.verdict is TrialVerdict.AS_PROMISED, outcome.said


@pytest.mark.root
def test_the_whole_is_every_form_of_every_stack_and_every_injection_in_every_severity() -> None:
    if not where.is_root():
        pytest.skip("without root it is the reduced one")
    tried = {t.what for t in FULL}
    assert {f"{c}:{s.value}" for c in shipped.injections() for s in InjectionSeverity} <= tried
    assert {t.stack for t in FULL} == set(shipped.stacks())
    forms = {(t.stack, tuple(t.options.items())) for t in FULL}
    assert {("mirrored", (("engine", "ceph"),)), ("mirrored", (("engine", "btrfs"), ("copies", "3")))} <= forms
    assert {"qos-iops:mild on vm-disks", "qos-bandwidth:severe on vm-disks"} <= tried
    quick = trials(quick=True)
    assert {t.what for t in quick} < tried


def test_a_pattern_takes_some_and_one_that_names_nothing_is_refused() -> None:
    assert [t.what for t in trials(True, ["local*"])] == ["local fs=ext4"]
    with pytest.raises(UsageError, match="no trial matches moon"):
        trials(False, ["moon"])


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (None, TrialVerdict.AS_PROMISED),
        (RunFailed("broken"), TrialVerdict.FAILED),
        (InconclusiveError("busy"), TrialVerdict.NOT_TOLD),
    ],
)
def test_what_is_raised_becomes_a_verdict_and_the_next_one_is_tried(
    error: Exception | None, verdict: TrialVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    def do(_: object) -> tuple[str, ...]:
        if error is not None:
            raise error
        return ("seen",)

    class Up:
        name = token = "t"

    monkeypatch.setattr("strata_lab.selftest.up", lambda *_: Up())
    monkeypatch.setattr("strata_lab.selftest.down", lambda _: 0)
    monkeypatch.setattr("strata_lab.selftest.leftovers", lambda *_: ())
    outcomes = list(selftest([SelftestCase("x", "local", {}, do)] * 2, lambda _: None))
    assert [o.verdict for o in outcomes] == [verdict, verdict]
    # Whatever it was, what stays behind is a failure.
    monkeypatch.setattr("strata_lab.selftest.leftovers", lambda *_: ("mount /x",))
    (left,) = selftest([SelftestCase("x", "local", {}, do)], lambda _: None)
    assert (left.verdict, left.said[-1]) == (TrialVerdict.FAILED, "left behind: mount /x")


@pytest.mark.ci
@pytest.mark.root
def test_it_ends_with_a_count() -> None:
    words = [sys.executable, "-m", "strata", "lab", "selftest", "--only", "local fs=ext4"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as asked:
        said, _ = asked.communicate(timeout=200)
    assert asked.returncode == 0
    assert said.splitlines()[-1].startswith("1 of 1 as promised, ")
    assert f"st{asked.pid % 10**8}" not in names()
    assert not Path(f"/var/tmp/strata-lab-st{asked.pid % 10**8}").exists()
