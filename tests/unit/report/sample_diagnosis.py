"""What is said of the sample report: the wire limits; or two causes at once; or nothing that could be told."""

from __future__ import annotations

from sample_cells import CONFIRM, estimate

from strata.model.experiment import Experiment, ExperimentRecord, Outcome, Prediction, Refusal
from strata.model.finding import (
    Cause,
    Diagnosis,
    Evidence,
    EvidenceKind,
    Finding,
    FindingRow,
    RuledOut,
    Verdict,
    VerdictKind,
)


def wire_limits(share: str = "share") -> Diagnosis:
    predictions = tuple(
        Prediction(metric="iops", low=low, high=high, unit="IOPS", cause=cause.value, layer=share)
        for cause, low, high in ((Cause.WIRE_BANDWIDTH, 98_000, 118_000), (Cause.IOPS_CAP, 25_000, 31_000))
    )
    experiment = Experiment(
        layer=share,
        workload=CONFIRM,
        reference="randread-4KiB-qd32",
        changes="a quarter of the block size at the same depth",
        prediction=predictions[0],
        predictions=predictions,
        otherwise="with a cap on requests the rate would stay near 28 000 IOPS",
    )
    outcome = Outcome(
        experiment=experiment,
        measured=estimate(108_400, 0.011, "IOPS"),
        holds=True,
        statement="a quarter of the block size gives 108\u202f400 IOPS (before: 27\u202f920), "
        "predicted 98\u202f000–118\u202f000 IOPS",
    )
    finding = Finding(
        id="7f3a-1",
        layer=share,
        cause=Cause.WIRE_BANDWIDTH,
        title="the wire carries no more than 110 MiB/s",
        explanation="Every pattern that asks for more than 110 MiB/s stops there, whatever its block size.",
        effect=estimate(0.209, 0.012, "ratio"),
        worst="share/read-128KiB-qd8",
        confidence=0.96,
        evidence=(
            Evidence(
                kind=EvidenceKind.DIFFERENTIAL,
                statement="patterns of four block sizes end at the same 109 to 110 MiB/s; only depth 1 stays below",
                cells=("share/read-128KiB-qd8", "share/randread-64KiB-qd8"),
            ),
            Evidence(
                kind=EvidenceKind.OPERATIONAL,
                statement="of 8 requests in flight 2.5 are at the disk; the others wait on the way",
                value=estimate(115.3e6, 0.01, "bytes/s"),
            ),
            Evidence(
                kind=EvidenceKind.INTERVENTIONAL, statement="a quarter of the block size gives four times the rate"
            ),
        ),
        ruled_out=(RuledOut(cause=Cause.IOPS_CAP, because="the rate in IOPS differs 32-fold between sizes"),),
        next_step="give the share a faster link, or a second one",
        experiment=experiment,
        outcome=outcome,
        rows=(
            FindingRow(cell=f"{share}/read-128KiB-qd8", measured=878, low=840, high=920, share=0.97),
            FindingRow(cell=f"{share}/randread-64KiB-qd8", measured=1757, low=1690, high=1830, share=0.95),
        ),
        left=(f"{share}/randread-4KiB-qd1",),
    )
    return Diagnosis(
        verdict=Verdict(
            kind=VerdictKind.LAYER,
            layer=share,
            cause=Cause.WIRE_BANDWIDTH,
            confidence=0.96,
            headline=f"{share} · the wire carries no more than 110 MiB/s",
            explanation=(
                "Sequential reads fall to 21 % of what the file system gives, and every pattern that asks for more than"
                " 110 MiB/s stops at that rate whatever its block size. The disk is idle two thirds of the time and the"
                " CPUs are below 35 %. Depth 1 loses 94 µs to the round trip, which is a second, smaller cost."
            ),
            next_step=(
                "Give the share a second link or a faster one: expect sequential reads near 500 MiB/s,"
                " then the disk is the limit."
            ),
        ),
        findings=(finding,),
        ruled_out=(
            RuledOut(
                cause=Cause.WIRE_LATENCY,
                because="94 µs explain depth 1, not depth 32",
                detail="at random read · 4 KiB · depth 32",
            ),
            RuledOut(cause=Cause.IOPS_CAP, because="IOPS differ 32-fold at equal MiB/s"),
            RuledOut(cause=Cause.PROCESSORS, because="the busiest is at 58 %"),
            RuledOut(cause=Cause.GENERATOR, because="1.1 million IOPS against the null endpoint"),
        ),
        story=(ExperimentRecord(outcome=outcome, agreed=(f"{share}: wire-bandwidth",), fell=(f"{share}: iops-cap",)),),
    )


def two_at_once(share: str = "share") -> Diagnosis:
    """The wire's bandwidth and its latency: each explains rows of its own."""
    told = wire_limits(share)
    first = told.findings[0]
    also = Finding(
        id="7f3a-2",
        layer=share,
        cause=Cause.WIRE_LATENCY,
        title="each request waits 88.0 µs for the wire",
        explanation="A request has to go there and back. Deep queues hide it, shallow ones pay it in full.",
        effect=estimate(0.52, 0.02, "ratio"),
        worst=f"{share}/randread-4KiB-qd1",
        confidence=0.81,
        evidence=(
            Evidence(
                kind=EvidenceKind.OPERATIONAL,
                statement="the minimum round trip of its connections is 88.0 µs longer than that of file system",
                cells=tuple(f"{share}/{key}" for key in ("randread-4KiB-qd1", "randwrite-4KiB-qd1", "read-128KiB-qd8")),
            ),
        ),
        ruled_out=(RuledOut(cause=Cause.PER_REQUEST_COST, because="88.0 µs of the 94.0 µs are the wire's round trip"),),
        next_step="Ask for more at a time (depth, larger blocks, read-ahead), or shorten the path.",
        rows=(FindingRow(cell=f"{share}/randread-4KiB-qd1", measured=5103, low=4700, high=5400, share=0.88),),
        share=0.27,
    )
    return told.model_copy(update={"findings": (first.model_copy(update={"left": (), "share": 0.73}), also)})


def inconclusive(share: str = "share") -> Diagnosis:
    """Two causes that one experiment did not tell apart, and another that could not be run."""
    told = wire_limits(share)
    first = told.findings[0]
    assert first.outcome is not None
    near = tuple(
        p.model_copy(update={"low": 95_000.0, "high": 130_000.0}) for p in first.outcome.experiment.predictions
    )
    alike = first.outcome.experiment.model_copy(update={"predictions": near, "prediction": near[0]})
    other = alike.model_copy(update={"changes": "with the threads pinned to other CPUs", "key": "pinned"})
    verdict = told.verdict.model_copy(
        update={
            "kind": VerdictKind.INCONCLUSIVE,
            "confidence": 0.38,
            "headline": f"inconclusive · {share} is slow, cause uncertain",
            "explanation": f"{first.explanation} This is not certain.",
            "next_step": "Run the proposed experiment.",
            "missing": ("workloads that differ in block size and depth: another cause explains these nearly as well",),
        }
    )
    outcome = Outcome(experiment=alike, measured=first.outcome.measured, holds=True, statement=first.outcome.statement)
    causes = (f"{share}: wire-bandwidth", f"{share}: iops-cap")
    return told.model_copy(
        update={
            "verdict": verdict,
            "findings": (first.model_copy(update={"confidence": 0.38, "outcome": None, "experiment": other}),),
            "ruled_out": tuple(r for r in told.ruled_out if r.cause is not Cause.IOPS_CAP),
            "story": (ExperimentRecord(outcome=outcome, agreed=causes),),
            "refused": (Refusal(experiment=other, because="no other CPU is available to this process"),),
        }
    )
