"""The judging bench of watchings: its cases are kept small and judged again alike, and its truths are held."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from diagnosisbench import split
from diagnosisbench.kept import ENDING, Said, Verdict
from diagnosisbench.trial import Kind, Put, Trial
from watchbench import case as kept
from watchbench import judged, loads
from watchbench.case import WatchCase

from strata.model.finding import Cause, VerdictKind

ROOT = Path(__file__).resolve().parents[2]
RULES = split.read(ROOT / "benches/watch/split.toml", ROOT / "benches/watch/looked.txt")
FILES = sorted(kept.FOLDER.glob(f"*{ENDING}"))
SAMPLE = FILES[::6]


def _case(what: str | None, load: str = "small") -> WatchCase:
    put = () if what is None else (Put(what=what, position=0.3, value=1.0),)
    kind = Kind.HEALTHY if what is None else Kind.ONE
    trial = Trial(seed=6100001, kind=kind, setup="local-ext4", stack="local", options={}, put=put)
    return WatchCase(trial=trial, load=load, revision="r", failed=None, seconds=1.0)


def _said(kind: VerdictKind, layer: str | None, cause: Cause, confidence: float = 0.9) -> Verdict:
    return Verdict(kind=kind, headline="", said=(Said(layer=layer, cause=cause, confidence=confidence),))


def _held(case: WatchCase, verdict: Verdict) -> judged.Judged:
    return judged.held(case, verdict, RULES)


def test_what_is_put_in_is_right_and_its_neighbour_is_not() -> None:
    right = _said(VerdictKind.LAYER, "disk", Cause.LIMITED_QUEUE)
    assert _held(_case("one-queue"), right).right_cause
    assert not _held(_case("one-queue"), _said(VerdictKind.LAYER, "disk", Cause.IOPS_CAP)).right_cause
    assert _held(_case("one-queue"), _said(VerdictKind.LAYER, "disk", Cause.IOPS_CAP)).wrong


def test_a_full_medium_is_the_right_layer_and_not_the_right_cause() -> None:
    one = _held(_case("one-queue"), _said(VerdictKind.MEDIUM, "disk", Cause.MEDIUM, 0.6))
    assert judged.right_layer(one)
    assert not one.right_cause


def test_healthy_labs_may_be_full_and_loads_may_limit_themselves() -> None:
    full = _said(VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    itself = _said(VerdictKind.APPLICATION, "application", Cause.GENERATOR)
    assert not _held(_case(None), full).blamed
    assert _held(_case(None), itself).blamed
    assert _held(_case(None, "serial"), itself).right_cause
    assert not _held(_case(None, "serial"), full).right_cause


def test_idle_is_held_against_the_load() -> None:
    idle = _said(VerdictKind.IDLE, None, Cause.NONE)
    assert judged.missaid(_case(None, "small"), idle)
    assert not judged.missaid(_case(None, "idle"), idle)
    assert judged.missaid(_case(None, "idle"), _said(VerdictKind.MEDIUM, "disk", Cause.MEDIUM))


def test_every_load_is_a_command_of_fio_that_is_understood() -> None:
    from strata.formats.fio_job import outstanding_of_fio_line

    known = {
        load.name: outstanding_of_fio_line(loads.fio(load, "file:/x", 1, "o")[1:]) for load in loads.LOADS.values()
    }
    assert known | {"idle": None} == {
        "small": 16, "mixed": 12, "large": 8, "whole": 8, "writes": 8, "commit": 1, "commits": 4, "serial": 1,
        "thinking": 1, "paced": 8, "idle": None,
    }  # fmt: skip


def test_the_row_is_the_same_whenever_it_is_drawn() -> None:
    sys.path.insert(0, str(ROOT / "benches/watch"))
    import run  # type: ignore[import-not-found]

    first, again = run.trials(61, RULES), run.trials(61, RULES)
    assert [t.name for t in first] == [t.name for t in again]
    assert {t.setup for t in first} == set(run.SETUPS)
    apart = sum(bool(t.kept(RULES)) for t in first)
    assert 0.3 < apart / len(first) < 0.7


@pytest.mark.skipif(not FILES, reason="no case is kept")
@pytest.mark.parametrize("path", SAMPLE, ids=lambda p: p.name.removesuffix(ENDING))
def test_a_kept_case_is_small_and_judged_again(path: Path) -> None:
    assert path.stat().st_size <= 40 << 10
    case = kept.load(path)
    assert judged.replayed(case) == judged.replayed(case)
    assert case.failed is None or case.verdict is None


@pytest.mark.skipif(not FILES, reason="no case is kept")
def test_truths_that_are_swapped_fail() -> None:
    """The canary: what is right of one lab is wrong of another."""
    cases = [c for c in map(kept.load, SAMPLE) if c.trial.put and not c.failed]
    said = [judged.replayed(c) for c in cases]
    turned = [judged.held(c, v, RULES).right_cause for c, v in zip(cases, [*said[1:], *said[:1]], strict=True)]
    assert sum(turned) < sum(judged.held(c, v, RULES).right_cause for c, v in zip(cases, said, strict=True))
