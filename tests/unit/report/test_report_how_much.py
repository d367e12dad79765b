"""By how much a layer is slow, and what the remedy brings at most: from the comparison, else from the references."""

from __future__ import annotations

from typing import Any

import pytest
from sample_cells import estimate
from sample_diagnosis import two_at_once, wire_limits
from sample_report import build

from strata.diagnose.opinion import Opinion, ruled_out
from strata.model.analysis import Analysis, Check
from strata.model.finding import Cause, Diagnosis, VerdictKind
from strata.model.reference import Reference, ReferenceSource
from strata.report import answer
from strata.report.paragraph import gain, loss, paragraph


def said(finding: dict[str, Any], **verdict: Any) -> Diagnosis:
    """The sample's diagnosis with another finding and another verdict."""
    told = wire_limits()
    return told.model_copy(
        update={
            "findings": (told.findings[0].model_copy(update=finding),),
            "verdict": told.verdict.model_copy(update=verdict),
        }
    )


def of_the_disk(source: ReferenceSource, of: str, *ratios: float) -> Analysis:
    """The sample's analysis, with references of the disk's first cells."""
    analysis = build().analysis
    cells = [c for c in analysis.cells if c.layer == "disk"]
    return analysis.model_copy(
        update={
            "references": tuple(
                Reference(
                    layer="disk", workload_key=cell.workload.key, source=source, of=of, iops=cell.iops,
                    ratio=estimate(ratio, 0.04, "ratio"), allowance=0.15,
                )
                for cell, ratio in zip(cells, ratios, strict=False)
            )
        }
    )  # fmt: skip


DISK: dict[str, Any] = {
    "layer": "disk", "cause": Cause.SLOW_MEDIUM, "title": "disk takes twice as long", "worst": None, "rows": (),
    "effect": None, "outcome": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "of", "words"),
    [
        (ReferenceSource.SPECIFICATION, "expect.iops", "of the IOPS in its specification"),
        (ReferenceSource.BASELINE, "run 20261120-1", "of its IOPS in run 20261120-1"),
    ],
)
def test_a_medium_is_held_against_what_it_should_give_or_gave(source: ReferenceSource, of: str, words: str) -> None:
    analysis = of_the_disk(source, of, 0.97, 0.48)
    about = {"layer": "disk", "cause": Cause.SLOW_MEDIUM, "headline": "disk · disk takes twice as long"}
    told = loss(analysis, said(DISK, **about))
    assert told == (
        f"disk gives 48 % {words} (46–50 %) at random read · 4 KiB · depth 1, and is slow in 1 of 2 workloads."
    )
    whole = paragraph(analysis, said(DISK, **about, explanation="disk is slow by itself."))
    assert "The cause: it takes twice as long (confidence 0.96). It is slow by itself." in whole
    assert whole.count("disk ") == 1 + wire_limits().verdict.next_step.count("disk ")
    as_expected = said(DISK, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM)
    assert (loss(analysis, as_expected) or "").endswith("and is slow in 1 of 2 workloads.")
    assert loss(build().analysis, as_expected) is None


def test_the_gain_is_of_what_the_finding_explains_and_never_of_what_is_not_known() -> None:
    analysis, told = build().analysis, wire_limits()
    row = told.findings[0].rows[0]
    assert "at most 4.6 times" in (gain(analysis, told) or "")
    half = said({"rows": (row.model_copy(update={"share": 0.5}),)})
    assert "at most 2.2 times" in (gain(analysis, half) or "")
    assert gain(analysis, said({"rows": (row.model_copy(update={"share": 0.0}),)})) is None
    assert "at most" not in (gain(analysis, said({"lifts": False})) or "")
    unknown = {"cause": Cause.UNEXPLAINED}
    assert gain(analysis, said(unknown, **unknown)) is None
    assert gain(analysis, said({}, kind=VerdictKind.INCONCLUSIVE)) is None
    assert paragraph(analysis, told).count("at most") == 1


ALIKE: dict[str, Any] = {"kind": VerdictKind.MEDIUM, "layer": "disk", "cause": Cause.MEDIUM}


@pytest.mark.parametrize("verdict", [ALIKE, {"layer": "disk", "cause": Cause.SLOW_MEDIUM}])
@pytest.mark.parametrize(
    ("source", "of", "words"),
    [
        (ReferenceSource.SPECIFICATION, "expect.iops", "the IOPS in its specification"),
        (ReferenceSource.BASELINE, "run 20261120-1", "its IOPS in run 20261120-1"),
    ],
)
def test_what_mending_a_medium_gains_is_told_from_its_reference(
    verdict: dict[str, Any], source: ReferenceSource, of: str, words: str
) -> None:
    about = said({**DISK, "cause": verdict["cause"]}, **verdict)
    told = gain(of_the_disk(source, of, 0.97, 0.48), about)
    assert told == f"With {words} it gives 2.1 times as much (2.0–2.2) at random read · 4 KiB · depth 1."
    fine = gain(of_the_disk(source, of, 1.2, 1.3), about)
    assert fine is not None
    assert fine.startswith(f"Mending has nothing to gain: disk gives 120 % of {words} (115–125 %) at ")
    # Though it may give a little less: "0.98 times as much" is no gain.
    alike = gain(of_the_disk(source, of, 1.02), about)
    assert alike is not None and alike.startswith("Mending has nothing to gain: disk gives 102 % of")


def test_what_a_layer_loses_by_itself_is_gained_where_it_is_as_its_reference_has_it() -> None:
    """Without the layer below it is there, too: what that gives is no measure of the gain."""
    own = {**DISK, "worst": "share/read-128KiB-qd8", "lifts": False}
    about = said(own, layer="disk", cause=Cause.SLOW_MEDIUM)
    told = gain(of_the_disk(ReferenceSource.SPECIFICATION, "expect.iops", 0.48), about)
    assert (told or "").startswith("With the IOPS in its specification it gives 2.1 times as much")


def test_what_makes_figures_too_good_is_mended_for_true_figures_and_for_no_speed() -> None:
    about = said({**DISK, "cause": Cause.HOLES}, layer="disk", cause=Cause.HOLES)
    broken = Check(kind="cache", layer="disk", workload_key=None, impossible=True, message="0.3 bytes per byte")
    analysis = of_the_disk(ReferenceSource.SPECIFICATION, "expect.iops", 1.2).model_copy(update={"checks": (broken,)})
    assert gain(analysis, about) == "Mending brings no speed, but figures that are those of disk."


def test_without_a_reference_it_is_said_what_is_not_known() -> None:
    told = gain(build().analysis, said({**DISK, "cause": Cause.MEDIUM}, **ALIKE))
    assert told == (
        "What mending disk gains is not known: "
        "there is no specification (expect) and no earlier run to compare it with."
    )
    stalls = {**DISK, "own_loss": 0.693, "cause": Cause.STALLS}
    by_itself = gain(build().analysis, said(stalls, layer="disk", cause=Cause.STALLS))
    assert (by_itself or "").startswith("Without this limit, disk gives about 2.0 times the IOPS by its own figures")
    assert (by_itself or "").endswith("no specification and no earlier run gives an interval.")


def test_two_at_once_are_both_named_the_larger_first_with_their_shares() -> None:
    told = two_at_once()
    text = paragraph(build().analysis, told)
    assert "(73 % of the explained loss, confidence 0.96)" in text
    assert "Also found: each request waits 88.0 µs for the wire (27 % of the explained loss, confidence 0.81)." in text
    small, third = told.findings[1], {"id": "3", "cause": Cause.STALLS, "title": "share stalls", "share": 0.3}
    more = told.model_copy(update={"findings": (*told.findings, small.model_copy(update=third))})
    assert [f.share for f in answer.further(more)] == [0.3, 0.27]
    refuted = small.outcome or told.findings[0].outcome
    assert refuted is not None
    fell = small.model_copy(update={"outcome": refuted.model_copy(update={"holds": False})})
    assert answer.further(told.model_copy(update={"findings": (told.findings[0], fell)})) == ()
    alone = said({"share": 1.0})
    assert "of the loss" not in paragraph(build().analysis, alone)


def test_what_was_ruled_out_comes_the_nearest_first() -> None:
    some = [
        Opinion(False, "far", strength=0.02, cause=Cause.WIRE_LOSS),
        Opinion(False, "near", detail="at depth 8", strength=0.7, cause=Cause.IOPS_CAP),
        Opinion(strength=1.0, cause=Cause.PROCESSORS),
        Opinion(None, "not seen", cause=Cause.QUOTA),
    ]
    assert [(r.cause, r.whole) for r in ruled_out(some)] == [
        (Cause.IOPS_CAP, "near; at depth 8"),
        (Cause.WIRE_LOSS, "far"),
    ]


@pytest.mark.parametrize(
    ("title", "told"),
    [("disk stalls", "disk stalls"), ("a disk-like queue", "disk · a disk-like queue"), ("disks", "disk · disks")],
)
def test_a_layer_is_named_once_and_always(title: str, told: str) -> None:
    verdict = wire_limits().verdict.model_copy(update={"layer": "disk", "headline": f"disk · {title}"})
    assert answer.line(verdict) == answer.of_layer("disk", title) == told
