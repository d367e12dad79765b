"""A report with every part a report can have: its cells, its machine and its diagnosis put together."""

from __future__ import annotations

import random

import sample_diagnosis
from sample_cells import FIGURES, GIB, LAYERS, MADE, comparison, estimate, summary
from sample_machine import plan_of, stack, survey

from strata.model.analysis import (
    Analysis,
    CellSummary,
    Check,
    Generator,
    NoiseFloor,
    Remote,
)
from strata.model.finding import Diagnosis
from strata.model.plan import Segment
from strata.model.result import CellResult, Direction, EngineResult
from strata.model.run import DataSet, Environment, NoiseProbe, Report, Run, RunStatus
from strata.model.workload import Workload


def _engine(w: Workload, iops: float, profile: str) -> EngineResult:
    ops = round(iops * 2)
    done, none = Direction(ops=ops, bytes=ops * w.bs), Direction(ops=0, bytes=0)
    return EngineResult(
        engine={"name": "io_uring", "build": {"profile": profile}},
        effective={},
        started_unix_ns=MADE,
        ramp_ns=500_000_000,
        measured_ns=2_000_000_000,
        stop_reason="runtime",
        issued=ops,
        completed=ops,
        errored=0,
        stuck=0,
        read=done if w.rw.reads else none,
        write=none if w.rw.reads else done,
        intervals=(),
    )


def saying(diagnosis: Diagnosis) -> Report:
    """The sample with another diagnosis."""
    return build().model_copy(update={"diagnosis": diagnosis})


def build(share: str = "share", profile: str = "release", status: RunStatus = RunStatus.DONE) -> Report:
    """The sample. ``share`` renames the top layer, ``profile`` and ``status`` make what banners speak of."""
    rng = random.Random(7)
    st = stack(share)
    plan = plan_of(st, rng)
    names = dict(zip(LAYERS, (x.name for x in st.layers), strict=True))
    order = {(s.cell, s.round): s.order for s in plan.steps}
    summaries: dict[tuple[str, str], CellSummary] = {}
    for i, layer in enumerate(LAYERS):
        renamed = {
            (f"{layer}/{c.split('/', 1)[-1] if layer != 'share' else c.removeprefix(share + '/')}", r): o
            for (c, r), o in order.items()
        }
        for w, figures in FIGURES.items():
            iops = figures[i]
            if iops is not None:
                made = summary(layer, w, iops, rng, renamed)
                summaries[layer, w.key] = made.model_copy(update={"layer": names[layer]})
    noise = NoiseFloor(between_rounds=0.011, within_bins=0.036, tolerance=0.019, rounds=5, cells=20)
    comparisons = []
    for above, below, allowed in (("file system", "disk", 0.05), ("share", "file system", 0.15)):
        for w in FIGURES:
            if (below, w.key) in summaries:
                comparisons.append(comparison(summaries[above, w.key], summaries[below, w.key], allowed))
    checks = (
        Check(
            kind="unsteady",
            layer="file system",
            workload_key="randwrite-4KiB-qd32",
            impossible=False,
            message="the last third of each round is 6 % below the first: the write cache fills",
        ),
        Check(
            kind="samples",
            layer=names["share"],
            workload_key="read-128KiB-qd8",
            impossible=False,
            message="8 780 I/Os do not carry a 99.99th percentile",
        ),
    )
    generator = Generator(iops={w.key: 1.1e6 for w in FIGURES}, ns_per_io={w.key: 905.0 for w in FIGURES})
    remote = Remote(
        layer=names["share"], rtt_ns=estimate(88_000, 0.06, "ns"), min_rtt_ns=81_000, multi_conn=True, connections=1
    )
    analysis = Analysis(
        noise=noise,
        cells=tuple(summaries.values()),
        comparisons=tuple(comparisons),
        checks=checks,
        generator=generator,
        remotes=(remote,),
    )
    run = Run(
        id="7f3a9c0e",
        created_unix_ns=MADE,
        status=status,
        plan=plan,
        environment=Environment(
            strata_version="0.1.0",
            build={"profile": profile, "revision": "f688f5c", "rustc": "1.92.0"},
            python="3.13.5",
            hostname="node-2",
            kernel="6.12.9",
            command=("strata", "diagnose", "stack.toml"),
        ),
        survey=survey(),
        data=DataSet(
            path="/srv/build/strata-7f3a.dat",
            size=4 * GIB,
            mark="0b9f6f0e",
            segments={x.name: (Segment(start=0, length=4 * GIB, target=0),) for x in st.layers},
            identity={"disk": "extents of the file", names["share"]: "the mark was read through it"},
            filled_bytes=4 * GIB,
        ),
        generator=generator,
        remotes=(remote,),
        noise=NoiseProbe(
            layer="disk",
            workload_key="randread-4KiB-qd32",
            repeats=6,
            seconds=0.5,
            bin_ns=50_000_000,
            between=0.012,
            within_bins=0.036,
            iops=87_900,
        ),
        message="stopped by SIGINT" if status is RunStatus.STOPPED else None,
    )
    results = tuple(
        CellResult(
            order=s.order,
            round=s.round,
            cell=s.cell,
            kind=s.kind.value,
            layer=plan.cell(s.cell).layer,
            workload_key=plan.cell(s.cell).workload.key,
            result=_engine(plan.cell(s.cell).workload, 1000, profile),
        )
        for s in plan.steps
    )
    return Report(
        run=run,
        results=results,
        analysis=analysis,
        diagnosis=sample_diagnosis.wire_limits(names["share"]),
        repeat=(
            ("the whole run", "strata diagnose stack.toml --rounds 5 --seed 42"),
            (
                "the worst cell",
                "strata measure nbd://10.0.7.2:10809/build --rw read --bs 131072 --iodepth 8 --runtime 2",
            ),
        ),
    )
