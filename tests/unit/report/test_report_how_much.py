"""By how much a layer is slow, and what the remedy brings at most: from the comparison, else from the references."""

from __future__ import annotations

from typing import Any

import pytest
from sample_cells import estimate
from sample_diagnosis import wire_limits
from sample_report import build

from strata.diagnose.opinion import Opinion, ruled_out
from strata.model.analysis import Analysis
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
    assert gain(analysis, said({"lifts": False})) is None
    unknown = {"cause": Cause.UNEXPLAINED}
    assert gain(analysis, said(unknown, **unknown)) is None
    assert gain(analysis, said({}, kind=VerdictKind.INCONCLUSIVE)) is None
    assert paragraph(analysis, told).count("at most") == 1


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
