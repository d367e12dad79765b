"""The scoring of verdicts, with made-up ones; the kept cases are replayed in `test_kept_cases`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from diagnosisbench import confusion, kept, replay, score
from diagnosisbench.judge import Judged, Limit
from diagnosisbench.kept import Said
from diagnosisbench.trial import Kind
from made_up_cases import CLIENT, DISK_STALLS, SLOW, WIRE, case, made_up

from strata.model.cause import Cause
from strata.model.finding import VerdictKind


@pytest.mark.parametrize(
    ("judged", "layer", "cause", "wrong"),
    [
        (case((SLOW,), ("disk", Cause.SLOW_MEDIUM, 0.9)), True, True, False),
        # A medium that is slower than its specification says is the limit, and not as expected.
        (case((SLOW,), ("disk", Cause.MEDIUM, 0.9)), True, True, False),
        (case((SLOW,), ("disk", Cause.MEDIUM, 0.9), kind=VerdictKind.MEDIUM), False, False, True),
        (case((SLOW,), ("disk", Cause.MEDIUM, 0.9), kind=VerdictKind.MEDIUM, of=Kind.OUTSIDE), True, True, False),
        (case((SLOW,), ("disk", Cause.STALLS, 0.9)), True, False, True),
        (case((SLOW,), ("share", Cause.SLOW_MEDIUM, 0.9)), False, False, True),
        (case((SLOW,), (None, Cause.NONE, 0.9), kind=VerdictKind.HEALTHY), False, False, True),
        (case((SLOW,), ("disk", Cause.UNEXPLAINED, 0.4)), True, False, False),
        (case((SLOW,), ("disk", Cause.STALLS, 0.3), kind=VerdictKind.INCONCLUSIVE), False, False, False),
        # A part of it is neither right nor wrong where it is, and wrong elsewhere.
        (case((WIRE,), ("share", Cause.WIRE_BANDWIDTH, 0.9)), True, False, False),
        (case((WIRE,), ("disk", Cause.WIRE_BANDWIDTH, 0.9)), False, False, True),
        # That all is as expected at a layer that was slowed down is no right layer, unless the truth calls it so.
        (case((DISK_STALLS,), ("disk", Cause.MEDIUM, 0.9), kind=VerdictKind.MEDIUM), False, False, True),
        # What the truth rules out is wrong however unsure, and of whatever limits the lab by its nature.
        (case((WIRE,), ("share", Cause.WIRE_LATENCY, 0.2), kind=VerdictKind.INCONCLUSIVE), False, False, True),
        (
            case((WIRE,), ("share", Cause.WIRE_LATENCY, 0.9), natural=(("share", Cause.WIRE_LATENCY),)),
            *(True, False, True),
        ),
        # Unless another limit of the two is just that.
        (case((WIRE, SLOW), ("disk", Cause.MEDIUM, 0.9)), True, True, False),
        (case((CLIENT,), (None, Cause.GENERATOR, 0.9), kind=VerdictKind.GENERATOR), True, True, False),
        # What lies at no layer is found by its cause, at no layer by chance.
        (case((CLIENT,), ("share", Cause.WIRE_LATENCY, 0.9)), False, False, True),
        (case((), (None, Cause.NONE, 0.9), kind=VerdictKind.HEALTHY), False, True, False),
        (case((), ("disk", Cause.MEDIUM, 0.9), kind=VerdictKind.MEDIUM), False, True, False),
        (case((), ("share", Cause.WIRE_LATENCY, 0.9)), False, False, True),
        (case((), ("share", Cause.UNEXPLAINED, 0.3)), False, False, False),
        (case((), ("share", Cause.WIRE_LATENCY, 0.3), kind=VerdictKind.INCONCLUSIVE), False, False, False),
        (case((), ("share", Cause.NONE, 0.0), kind=VerdictKind.INCONCLUSIVE), False, True, False),
        (
            case((), ("share", Cause.WIRE_BANDWIDTH, 0.9), natural=(("share", Cause.WIRE_BANDWIDTH),)),
            False,
            True,
            False,
        ),
        (case((), ("disk", Cause.WIRE_BANDWIDTH, 0.9), natural=(("share", Cause.WIRE_BANDWIDTH),)), False, False, True),
        # The lab's own limit before what was put in: two limits. Without what was put in it is a miss, and true.
        (
            case(
                (SLOW,),
                ("share", Cause.WIRE_BANDWIDTH, 0.9),
                ("disk", Cause.SLOW_MEDIUM, 0.7),
                natural=(("share", Cause.WIRE_BANDWIDTH),),
            ),
            *(True, True, False),
        ),
        (
            case((SLOW,), ("share", Cause.WIRE_BANDWIDTH, 0.9), natural=(("share", Cause.WIRE_BANDWIDTH),)),
            *(False, False, False),
        ),
    ],
)
def test_what_is_right_and_what_is_wrong(judged: Judged, layer: bool, cause: bool, wrong: bool) -> None:
    assert (judged.right_layer, judged.right_cause, judged.wrong) == (layer, cause, wrong)


def test_a_share_says_how_little_few_cases_show() -> None:
    assert score.clopper_pearson(0, 10) == (0.0, pytest.approx(0.3085, abs=1e-4))
    assert score.clopper_pearson(10, 10) == (pytest.approx(0.6915, abs=1e-4), 1.0)
    # R: binom.test(47, 50)$conf.int
    assert score.clopper_pearson(47, 50) == (pytest.approx(0.8345, abs=1e-4), pytest.approx(0.9875, abs=1e-4))


def test_a_bar_is_missed_when_chance_cannot_have_done_it() -> None:
    good, bad = case((SLOW,), ("disk", Cause.MEDIUM, 0.9)), case((SLOW,), ("disk", Cause.STALLS, 0.9))
    rows = {r.name: r for r in score.table([*[good] * 8, bad])}
    assert rows["right cause, first named"].word == "below, within chance"
    rows = {r.name: r for r in score.table([*[good] * 20, *[bad] * 20])}
    assert rows["right cause, first named"].missed and rows["wrong at ≥ 0.8"].missed
    # 40 of 40 end at 91 %: that 95 % are reached is not shown by them. 80 of 80 end at 95.5 %.
    assert rows["right layer, first named"].word == "not yet shown"
    rows = {r.name: r for r in score.table([good] * 80)}
    assert (rows["right layer, first named"].word, rows["right layer, worst stack: share"].word) == ("must", "aim")
    assert (rows["wrong at ≥ 0.8"].word, rows["seconds to the verdict, median"].word) == ("not yet shown", "aim")
    healthy = case((), (None, Cause.NONE, 0.9), kind=VerdictKind.HEALTHY)
    rows = {r.name: r for r in score.table([healthy] * 500)}
    words = [rows[f"healthy blamed at {where}"].word for where in ("any layer", "≥ 0.8")]
    assert words == ["must", "none so far"]
    rows = {r.name: r for r in score.table([good] * 2)}
    assert (rows["cases: all"].value, rows["cases: all"].word) == (2, "to come") and not rows["cases: all"].missed
    rows = {r.name: r for r in score.table([])}
    assert rows["right cause, first named"].word == "no cases" and not rows["right cause, first named"].missed


def test_the_worst_stack_is_told_beside_the_pool() -> None:
    good = [case((SLOW,), ("disk", Cause.MEDIUM, 0.9), stack="local") for _ in range(30)]
    bad = [case((SLOW,), ("disk", Cause.STALLS, 0.9), stack="share") for _ in range(5)]
    row = next(r for r in score.table([*good, *bad]) if "worst stack" in r.name and "cause" in r.name)
    assert (row.name, row.value, row.n) == ("right cause, worst stack: share", 0.0, 5)
    # While a stack has too few cases, the worst one is not known.
    few = [case((SLOW,), ("disk", Cause.STALLS, 0.9), stack="mirrored")]
    row = next(r for r in score.table([*good * 9, *few]) if "worst stack" in r.name and "cause" in r.name)
    assert (row.name, row.word) == ("right cause, worst stack: local (1 stacks have too few)", "not yet shown")


def test_healthy_two_and_outside_have_measures_of_their_own() -> None:
    said = ("share", Cause.WRONG_CARD, 0.9), ("disk", Cause.MEDIUM, 0.5)
    two = [case((SLOW, WIRE), *said), case((SLOW, WIRE), *said[:1])]
    stranger = Limit("frozen-server", frozenset({Cause.STALLS}), frozenset({"share"}))
    away = [case((stranger,), ("share", c, 0.6), of=Kind.OUTSIDE) for c in (Cause.STALLS, Cause.WIRE_LOSS)]
    healthy = [
        case((), ("share", Cause.WIRE_LOSS, 0.7)),
        case((), (None, Cause.NONE, 0.9), kind=VerdictKind.HEALTHY),
        case((), ("share", Cause.UNEXPLAINED, 0.3)),
        case((), ("disk", Cause.MEDIUM, 0.9), kind=VerdictKind.MEDIUM),
    ]
    rows = {r.name: r.value for r in score.table([*two, *away, *healthy])}
    assert rows["healthy: a layer blamed without a cause"] == 0.25
    assert rows["two limits: both of the first three"] == 0.5
    assert rows["outside: wrongly named at ≥ 0.5"] == 0.5
    assert (rows["healthy blamed at any layer"], rows["healthy blamed at ≥ 0.8"]) == (0.5, 0.0)


def test_every_finding_that_is_told_is_scored_and_not_only_the_first() -> None:
    first = ("disk", Cause.SLOW_MEDIUM, 0.9)
    one = case((SLOW,), first, ("share", Cause.WIRE_LATENCY, 0.85), holds=True)
    assert one.right_cause and not one.wrong
    unsure = case((SLOW,), first, ("share", Cause.WIRE_LATENCY, 0.5))
    true = case((SLOW, WIRE), first, ("share", Cause.WIRE_BANDWIDTH, 0.85), holds=True)
    # What is left of a withdrawn verdict is still told, with the confidence that the finding has by itself.
    told = Said(layer="share", cause=Cause.WIRE_LATENCY, confidence=0.4, as_finding=0.9)
    hidden = case((SLOW,), ("share", Cause.WIRE_LATENCY, 0.4), kind=VerdictKind.INCONCLUSIVE)
    hidden = dataclasses.replace(hidden, verdict=hidden.verdict.model_copy(update={"said": (told,)}))
    away = case((SLOW,), first, ("share", Cause.WIRE_LATENCY, 0.85), of=Kind.OUTSIDE)
    ruled_out = case((WIRE,), ("share", Cause.WRONG_CARD, 0.9), ("share", Cause.WIRE_LATENCY, 0.1))
    for judged, sure, confirmed, forbidden in (
        (one, 1, 1, 0),
        (unsure, 0, 0, 0),
        (true, 0, 0, 0),
        (hidden, 1, 0, 0),
        (away, 1, 0, 0),
        (ruled_out, 0, 0, 1),
    ):
        rows = {r.name: r.value for r in score.table([judged])}
        assert rows["any finding: wrong cause at ≥ 0.8"] == sure
        assert rows["any finding: wrong and confirmed"] == confirmed
        assert rows["any finding: what the truth rules out"] == forbidden
    # A healthy lab is blamed by whatever is told of it.
    natural = case((), ("share", Cause.QUOTA, 0.9), ("disk", Cause.STALLS, 0.9), natural=(("share", Cause.QUOTA),))
    assert natural.blamed and not natural.wrong and score.table([natural])[-1].n == 0


def test_the_confidence_of_a_finding_is_kept_where_the_verdict_is_less_sure() -> None:
    said = replay.diagnosed(made_up("slow-wire"))
    assert said.findings and kept.verdict_of(said).first.most == said.verdict.confidence
    humble = said.verdict.model_copy(update={"confidence": 0.4})
    first = kept.verdict_of(said.model_copy(update={"verdict": humble})).first
    assert (first.confidence, first.most) == (0.4, said.findings[0].confidence)


def test_confidence_is_held_against_how_often_the_cause_is_right() -> None:
    assert score.calibration_error([(0.75, True)] * 3 + [(0.75, False)]) == pytest.approx(0)
    assert score.calibration_error([(0.75, False)] * 4) == pytest.approx(0.75)
    assert score.calibration_error([]) is None
    right, partly = ("share", Cause.WRONG_CARD, 0.9), ("share", Cause.WIRE_BANDWIDTH, 0.9)
    # Half of what is told at 0.9 is right in each half of the seeds; to name a part of it is not.
    cases = [case((WIRE,), right if seed % 4 < 2 else partly, seed=seed) for seed in range(80)]
    rows = {r.name: r for r in score.table(cases)}
    raw, fit = rows["calibration error, odd seeds"], rows["as a fit on even seeds would have it"]
    assert (raw.n, raw.value, fit.value) == (40, pytest.approx(0.4), pytest.approx(0))
    assert raw.missed and raw.low is not None and 0.2 < raw.low < 0.4
    # The other half fits nothing when it is small.
    few = [c for c in cases if c.seed % 2 or c.seed < 20]
    rows = {r.name: r for r in score.table(few)}
    assert {rows[name].word for name in (raw.name, fit.name)} == {"too few cases"}


def test_what_is_lost_on_what_was_kept_has_an_interval() -> None:
    good, bad = case((SLOW,), ("disk", Cause.MEDIUM, 0.9)), case((SLOW,), ("disk", Cause.STALLS, 0.9))
    row = score.lost([good] * 50, [good] * 5 + [bad] * 5)
    assert row.value == pytest.approx(0.5) and row.missed
    assert not score.lost([good] * 50, [good] * 10).missed


def test_truths_that_are_swapped_fail() -> None:
    cases = [case((SLOW,), ("disk", Cause.MEDIUM, 0.95)), case((WIRE,), ("share", Cause.WRONG_CARD, 0.95))] * 20
    assert not any(r.missed for r in score.table(cases))
    missed = {r.name for r in score.table(replay.swapped(cases)) if r.missed}
    assert {"right layer, first named", "right cause, first named", "wrong at ≥ 0.8"} <= missed


def test_the_matrix_tells_what_was_said_instead(tmp_path: Path) -> None:
    cases = [case((SLOW,), ("disk", Cause.MEDIUM, 0.9))] * 3 + [case((SLOW,), ("disk", Cause.STALLS, 0.9))] * 2
    assert confusion.text(cases).split() == ["slow-medium", "5", "3", "right", "stalls", "2"]
    picture = confusion.svg(cases)
    assert picture.count(confusion.RIGHT_INK) == 1 and picture.count(confusion.WRONG_INK) == 1


def test_who_does_not_know_and_does_not_say_what_is_missing_fails_a_bar() -> None:
    known = case((SLOW,), ("disk", Cause.SLOW_MEDIUM, 0.9))
    unsure = case((SLOW,), ("disk", Cause.STALLS, 0.3), kind=VerdictKind.INCONCLUSIVE)
    assert (known.decided, unsure.decided) == (True, False)
    wrong, silent = score.withheld([known, unsure, unsure], [True, True, True])
    assert (wrong.n, silent.value, silent.n, silent.missed, silent.word) == (3, 0, 2, False, "none so far")
    _, silent = score.withheld([known, unsure, unsure], [True, True, False])
    assert (silent.value, silent.missed) == (0.5, True)
    _, silent = score.withheld([known], [True])
    assert (silent.value, silent.missed, silent.word) == (None, False, "no cases")
