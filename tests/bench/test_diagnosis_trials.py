"""Trials of the diagnosis: how they are drawn, what is kept of them, and how they end."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from diagnose.traced import seen
from diagnosisbench import draw, explained, kept, live, outside, replay, score, split
from diagnosisbench.setups import LATER, SETUPS, UNTRIED
from diagnosisbench.trial import Kind
from made_up_cases import case, made_up
from tiers import rest_in_ci

from strata.errors import UsageError
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.finding import VerdictKind
from strata_lab import inject, stacks


def test_trials_are_drawn_evenly_and_always_the_same() -> None:
    rules = split.read()
    drawn = list(islice(draw.trials(draw.FIRST_BASE, rules), 400))
    assert drawn[:50] == list(islice(draw.trials(draw.FIRST_BASE, rules), 50))
    assert len({t.name for t in drawn}) == 400
    of = {kind: sum(t.kind is kind for t in drawn) / 400 for kind in Kind}
    assert of == pytest.approx({Kind.ONE: 0.55, Kind.HEALTHY: 0.25, Kind.TWO: 0.1, Kind.OUTSIDE: 0.1}, abs=0.01)
    assert sum(t.neighbour for t in drawn) / 400 == pytest.approx(0.5, abs=0.01)
    low, high = rules.low, rules.high
    assert all(low <= put.position <= high for t in drawn for put in t.put)
    # Everything that is drawn can be built and put in.
    for trial in drawn[:100]:
        stacks.chosen(trial.stack, trial.options)
        for put in trial.put:
            if put.what not in outside.ALL:
                inject.parse(f"{put.what}={put.value}")


def test_a_first_part_of_the_row_is_a_fair_sample() -> None:
    drawn = list(islice(draw.trials(draw.FIRST_BASE, split.read()), 160))
    of = Counter(t.kind for t in drawn)
    assert (of[Kind.ONE], of[Kind.HEALTHY], of[Kind.TWO], of[Kind.OUTSIDE]) == (88, 40, 16, 16)
    # Whatever is put in comes once before anything comes twice.
    everything = {kind: len(draw._labs(kind, draw.FIRST_BASE)) for kind in Kind}
    for kind in (Kind.ONE, Kind.TWO, Kind.OUTSIDE):
        whats = [t.what for t in drawn if t.kind is kind]
        for begin in range(0, len(whats), everything[kind]):
            turn = whats[begin : begin + everything[kind]]
            assert len(set(turn)) == len(turn)
    assert {t.setup for t in drawn if t.kind is Kind.HEALTHY} == set(SETUPS)
    # Half of the trials are of labs that take half the time; each kind is beside a neighbour half of its times.
    assert sum(SETUPS[t.setup].weight > 1 for t in drawn) > 0.8 * len(drawn)
    for kind in Kind:
        assert sum(t.neighbour for t in drawn if t.kind is kind) == pytest.approx(of[kind] / 2, abs=1)
    # Who picks from it has no fair sample any more, which is told.
    assert draw.rows(t.seed for t in drawn) == [(draw.FIRST_BASE, 160, 160)]
    assert draw.rows(t.seed for t in drawn if t.kind is not Kind.HEALTHY)[0][1:] == (
        120,
        max(number for number, t in enumerate(drawn, 1) if t.kind is not Kind.HEALTHY),
    )
    assert draw.rows([300_007, 100_001, 100_002]) == [(1, 2, 2), (3, 1, 7)]
    with pytest.raises(UsageError, match="no such row"):
        next(draw.trials(draw.FIRST_BASE - 1, split.read()))


def test_what_was_added_later_leaves_the_rows_that_were_measured_as_they_are() -> None:
    begin = min(LATER.values())
    before, then = ({w for t in islice(draw.trials(row, split.read()), 200) for w in t.what.split("+")} for row in (
        begin - 1, begin,
    ))  # fmt: skip
    assert not before & set(LATER) and set(LATER) <= then
    # As the row was drawn that was measured last before they came.
    names = [t.name for t in islice(draw.trials(20, split.read()), 7)]
    assert names == [
        *("block-nbd-one-queue-2000001", "cluster-smb-redirected-path-2000002", "local-ext4-cold-cache-2000003"),
        *("local-ext4-sync-commit-2000004", "share-nfs-slow-medium-2000005", "block-iscsi-server-cpu-2000006"),
        "share-smb-qos-iops-2000007",
    ]


def test_every_injection_is_tried_somewhere_and_what_is_outside_of_it_is_no_injection() -> None:
    from strata_lab import shipped

    everywhere = {what for setup in SETUPS.values() for what in setup.one} | set(UNTRIED)
    assert set(shipped.injections()) == everywhere
    assert not set(outside.ALL) & set(shipped.injections())
    assert {what for setup in SETUPS.values() for what in setup.outside} == set(outside.ALL)


@pytest.mark.parametrize("name", rest_in_ci(["healthy", "slow-wire", "far-wire"], every_day=1))
def test_a_case_says_the_same_when_it_was_packed_and_unpacked(name: str, tmp_path: Path) -> None:
    one = made_up(name)
    again = kept.load(kept.save(one, tmp_path))
    assert next(kept.all_cases(tmp_path)) == again
    assert one.verdict is not None
    said = kept.verdict_of(replay.diagnosed(again))
    assert [(s.layer, s.cause) for s in said.said] == [(s.layer, s.cause) for s in one.verdict.said]
    assert said.first.confidence == pytest.approx(one.verdict.first.confidence, abs=0.03)
    assert kept.packed_of(again) == kept.packed_of(one)
    # A case of another version is refused, not misread.
    with pytest.raises(ValueError, match="case"):
        kept.Case.model_validate(one.model_dump() | {"case": 2})


def test_the_order_that_was_traced_is_kept_and_judged_again(tmp_path: Path) -> None:
    one = made_up("reordering")
    analysis, _ = seen("reordering", late=0.4, times=20.0)
    traced = one.model_copy(update={"analysis": analysis})
    traced = traced.model_copy(update={"verdict": kept.verdict_of(replay.diagnosed(traced))})
    assert traced.verdict is not None and traced.verdict.first.cause is Cause.REORDERING
    again = kept.load(kept.save(traced, tmp_path))
    said = kept.verdict_of(replay.diagnosed(again))
    assert (said.first.layer, said.first.cause) == (traced.verdict.first.layer, Cause.REORDERING)
    assert said.first.confidence == pytest.approx(traced.verdict.first.confidence, abs=0.03)


@pytest.mark.ci
def test_a_stack_of_many_layers_is_kept_with_less_detail_and_fits() -> None:
    one = made_up("slow-wire")
    assert one.analysis is not None
    noise = random.Random(1)

    def cell(number: int, of: CellSummary) -> CellSummary:
        counters = {f"cpu_seconds{{cpu={i},mode=user}}": noise.random() for i in range(250)}
        curve = tuple((p / 10, noise.random() * 1e6) for p in range(1000))
        return of.model_copy(update={"layer": f"layer {number}", "counters": counters, "curve": curve})

    cells = tuple(cell(number, c) for number in range(9) for c in one.analysis.cells[:8])
    large = one.model_copy(update={"analysis": one.analysis.model_copy(update={"cells": cells})})
    assert len(kept.packed_of(large)) <= kept.MOST_BYTES
    assert len(kept._packed(large, kept.DETAILS[0])) > kept.MOST_BYTES


def test_counters_are_taken_away_by_kind_and_node_and_the_client_keeps_what_it_saw() -> None:
    one = made_up("slow-wire")
    assert one.analysis is not None
    away, less = next(
        found for seed in range(99) if "everything derived" in (found := replay._without(one, random.Random(seed)))[0]
    )
    assert less.analysis is not None and less.analysis.remotes == ()
    for before, after in zip(one.analysis.cells, less.analysis.cells, strict=True):
        assert after.cpu_busy is None and after.iops == before.iops and after.curve == before.curve
        assert not before.counters or ("cpu" in away) is not any(n.startswith("cpu_") for n in after.counters)
    found = replay.withheld([one], split.read(), times=4)
    assert len(found) == 4 and found == replay.withheld([one], split.read(), times=4)


def test_what_hurts_too_little_is_kept_and_not_scored() -> None:
    one = made_up("slow-wire")
    assert len(replay.replayed([one], split.read())) == 1
    weak = one.model_copy(update={"proofs": (kept.Proof(what="wire-bandwidth", impact=1.2, cell="", line=""),)})
    assert replay.replayed([weak], split.read()) == []


FAILED = {
    "it did not come up": {"proofs": (), "stack": None, "analysis": None, "verdict": None},
    "no verdict in 900 s": {"verdict": None},
}


@pytest.mark.parametrize("why", FAILED)
def test_a_trial_that_failed_is_a_miss_and_proves_nothing(why: str) -> None:
    one = made_up("slow-wire")
    failed = one.model_copy(update={"failed": why, **FAILED[why]})
    (found,) = replay.replayed([failed], split.read())
    assert not found.right_layer and not found.right_cause and not found.wrong and found.seconds == math.inf
    rows = {r.name: r for r in score.table([found])}
    assert (rows["trials without a verdict"].value, rows["cases: all"].value) == (1.0, 0)
    assert (rows["right cause, first named"].value, rows["right cause, first named"].n) == (0.0, 1)
    healthy = dataclasses.replace(case((), (None, Cause.NONE, 0.0), kind=VerdictKind.INCONCLUSIVE), failed=True)
    assert not healthy.right_cause
    assert {r.n for r in score.table([healthy]) if r.name.startswith("healthy blamed")} == {0}
    assert replay.withheld([failed], split.read()) == []


def test_a_trial_leaves_a_record_from_its_beginning_and_is_never_written_over(tmp_path: Path) -> None:
    one = made_up("slow-wire")
    # Killed on the way: what was begun stays, and is a miss.
    begun = kept.begin(one, tmp_path)
    (left,) = kept.all_cases(tmp_path)
    assert not left.ended and left.failed == kept.UNENDED and left.counts
    with pytest.raises(UsageError, match="there is a case"):
        kept.begin(one, tmp_path)
    kept.save(one, tmp_path)
    (first,) = kept.all_cases(tmp_path)
    assert first.ended and first.failed is None and first.verdict == one.verdict
    for attempt in (kept.begin, kept.save):
        with pytest.raises(UsageError, match="there is a case"):
            attempt(one, tmp_path)
    assert list(kept.all_cases(tmp_path)) == [first]
    # Measured again, when that is asked for: the first stays in it.
    again = kept.begin(one.model_copy(update={"verdict": None}), tmp_path, again=True)
    kept.save(again.model_copy(update={"failed": "it did not come up"}), tmp_path)
    (second,) = kept.all_cases(tmp_path)
    assert [e.verdict for e in second.earlier] == [first.verdict] and second.failed == "it did not come up"
    assert begun.earlier == ()


def test_what_was_said_first_is_scored_whatever_was_said_later(tmp_path: Path) -> None:
    made = made_up("slow-wire")
    assert made.verdict is not None and replay.as_said([made], split.read()) == []  # of no frozen row
    frozen = made.trial.model_copy(update={"seed": draw.FROZEN[0] * draw.SEEDS_A_BASE + 1})
    silent = made.verdict.model_copy(update={"kind": VerdictKind.INCONCLUSIVE, "said": ()})
    begun = kept.begin(made.model_copy(update={"trial": frozen, "verdict": silent}), tmp_path)
    kept.save(begun.model_copy(update={"failed": None}), tmp_path)
    again = kept.begin(begun, tmp_path, again=True)
    kept.save(again.model_copy(update={"failed": None, "verdict": made.verdict, "seconds": 1.0}), tmp_path)
    (case,) = kept.all_cases(tmp_path)
    assert case.verdict == made.verdict
    (said,) = replay.as_said([case], split.read())
    assert said.verdict == silent and not said.right_cause and said.seconds == made.seconds
    assert replay.replayed([case], split.read())[0].right_cause
    row = draw.FROZEN[0]
    assert len(replay.as_said([case], split.read(), row)) == 1 and replay.as_said([case], split.read(), row + 1) == []


def test_the_newest_rows_begin_at_a_frozen_row_that_the_split_names() -> None:
    assert split.read().newest in draw.FROZEN


def test_a_live_trial_that_cannot_be_built_is_kept_with_its_reason(tmp_path: Path) -> None:
    said: list[str] = []
    trial = made_up("slow-wire").trial.model_copy(update={"options": {"no-such-option": "1"}})
    one = live.tried(trial, said.append, folder=tmp_path)
    assert one.failed is not None and "no-such-option" in one.failed
    assert kept.load(tmp_path / f"{trial.name}{kept.ENDING}").failed == one.failed and one.ended
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?", one.revision)


def test_a_trial_that_is_stopped_by_hand_stays_as_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live, "up", stopped)
    with pytest.raises(KeyboardInterrupt):
        live.tried(made_up("slow-wire").trial, lambda _: None, folder=tmp_path)
    (left,) = kept.all_cases(tmp_path)
    assert not left.ended and left.counts and left.failed == kept.UNENDED


def test_a_neighbour_runs_for_as_long_as_it_is_asked_to_and_leaves_nothing() -> None:
    with live.neighbour() as running:
        assert [one.poll() for one in running] == [None, None]
        (data,) = (Path(word).parent for one in running for word in map(str, one.args) if word.endswith("/data"))
        assert data.is_dir()
    assert all(one.returncode is not None for one in running) and not data.exists()


def test_a_revision_is_marked_where_what_judges_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    source, case = tmp_path / "src" / "a.py", tmp_path / "benches" / "diagnosis" / "cases" / "a.json.xz"
    for file in (source, case):
        file.parent.mkdir(parents=True)
        file.write_text("1")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "src"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    monkeypatch.setattr(live, "ROOT", tmp_path)
    clean = live.revision()
    assert re.fullmatch(r"[0-9a-f]{7,}", clean)
    source.write_text("2")
    assert live.revision() == f"{clean}-dirty"


def test_a_diagnosis_that_did_not_end_well_has_no_verdict() -> None:
    ended = {
        code: live._run([sys.executable, "-c", f"raise SystemExit({code})"], dict(os.environ)) for code in range(6)
    }
    assert [code for code, why in ended.items() if why is None] == [0, 4]
    assert ended[1] is not None and ended[1].startswith("exit status 1")


def test_a_case_that_is_kept_apart_is_shown_to_who_says_that_he_looks_and_is_kept_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "looked.txt"
    noted.write_text("")
    whole = split.read
    monkeypatch.setattr(split, "read", lambda: whole(looked=noted))
    monkeypatch.setattr(split, "look", functools.partial(split.look, looked=noted))
    apart = made_up("slow-wire", seed=5)
    with pytest.raises(UsageError, match="kept from tuning") as refused:
        explained.case(apart)
    assert "--look" in refused.value.render() and noted.read_text() == ""
    assert "wire-bandwidth" not in explained.line(apart, split.read()).partition(" s ")[2]
    told = explained.case(apart, look=True)
    assert "kept apart" not in told and noted.read_text() == f"{apart.trial.name}\n"
    assert not apart.trial.kept(split.read()) and explained.case(apart) == told
    # What is there to learn from is shown to anybody, and not noted.
    assert "wire-bandwidth" in explained.line(made_up("slow-wire"), split.read())
    explained.case(made_up("slow-wire"))
    assert noted.read_text() == f"{apart.trial.name}\n"
