"""A report with every part a report can have: three layers, eight workloads, five rounds, a wire that limits.

The figures are made up, but they obey the laws the checks ask for: rate × latency = depth, nothing is faster
than what is below it, and the share stops at 110 MiB/s.
"""

from __future__ import annotations

import random
from itertools import product
from math import exp

from strata.model.analysis import (
    Analysis,
    CellSummary,
    Check,
    Comparison,
    Equivalence,
    Generator,
    NoiseFloor,
    Remote,
)
from strata.model.ends import CycleCost, Flow, LatencySplit, PercentileSplit
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, Outcome, Prediction, Told
from strata.model.finding import Cause, Diagnosis, Evidence, EvidenceKind, Finding, Row, RuledOut, Verdict, VerdictKind
from strata.model.plan import Cell, Plan, Segment, Step, StepKind
from strata.model.result import CellResult, Direction, EngineResult
from strata.model.run import DataSet, Environment, NoiseProbe, Report, Run, RunStatus
from strata.model.stack import Expect, Layer, Node, Stack
from strata.model.survey import Cpu, Device, FileSystem, Load, Memory, Notice, Severity, Survey
from strata.model.workload import ClosedLoop, Rw, Workload

GIB = 1 << 30
MADE = 1_773_480_360_000_000_000
RAW = "a raw device is only read"
LAYERS = ("disk", "file system", "share")


def workload(rw: Rw, bs: int, depth: int, mix: int | None = None) -> Workload:
    return Workload(rw=rw, bs=bs, arrival=ClosedLoop(iodepth=depth), rwmixread=mix)


# workload → IOPS at disk, file system, share
FIGURES: dict[Workload, tuple[float | None, float, float]] = {
    workload(Rw.READ, 128 << 10, 8): (4212, 4198, 878),
    workload(Rw.WRITE, 128 << 10, 8): (None, 3874, 871),
    workload(Rw.RANDREAD, 4 << 10, 1): (9812, 9731, 5103),
    workload(Rw.RANDREAD, 4 << 10, 32): (88120, 86410, 27920),
    workload(Rw.RANDWRITE, 4 << 10, 1): (None, 21240, 7190),
    workload(Rw.RANDWRITE, 4 << 10, 32): (None, 71330, 27790),
    workload(Rw.RANDREAD, 64 << 10, 8): (7912, 7870, 1757),
    workload(Rw.RANDRW, 8 << 10, 8, 70): (None, 33120, 13890),
}
CONFIRM = workload(Rw.RANDREAD, 1 << 10, 32)


def estimate(value: float, share: float, unit: str, n: int = 5) -> Estimate:
    return Estimate(value=value, low=value * (1 - share), high=value * (1 + share), n=n, unit=unit)


def _curve(mean: float, tail: float) -> tuple[tuple[float, float], ...]:
    points = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
    spread = (-1.1, -0.8, -0.55, -0.42, -0.2, -0.03, 0.16, 0.36, 0.52, 1.0, 1.25, 1.9, 2.2, 2.9)
    return tuple((p, mean * exp(s * tail)) for p, s in zip(points, spread, strict=True))


def _summary(
    layer: str, w: Workload, iops: float, rng: random.Random, steps: dict[tuple[str, int], int]
) -> CellSummary:
    mean = w.outstanding / iops * 1e9
    curve = _curve(mean, {"disk": 0.8, "file system": 0.85, "share": 0.55}[layer])
    at = dict(curve)
    latency = {
        key: estimate(at[float(key)], 0.03 if key != "99.9" else 0.09, "ns") for key in ("50", "90", "99", "99.9")
    }
    timeline = []
    for r in range(5):
        begin = steps[f"{layer}/{w.key}", r + 1] * 2.5
        timeline += [(r, begin + 0.5 + i * 0.25, iops * rng.gauss(1 - 0.01 * r, 0.035)) for i in range(8)]
    busy = min(0.95, 0.06 + iops / 240_000 + (0.14 if layer == "share" else 0))
    return CellSummary(
        layer=layer,
        workload=w,
        rounds=5,
        ios=round(iops * 10),
        iops=estimate(iops, rng.uniform(0.006, 0.02), "IOPS"),
        bytes_per_second=estimate(iops * w.bs, 0.012, "bytes/s"),
        mean_ns=estimate(mean, 0.013, "ns"),
        latency_ns=latency,
        curve=curve,
        outstanding=w.outstanding * rng.uniform(0.985, 1.0),
        cpu_busy=busy,
        cpu_busiest=min(1.0, busy * 1.7),
        cpu_steal=0.004,
        engine_cpu_ns_per_io=2_140 if layer != "share" else 5_870,
        device_read_bytes_per_byte=(1.0 if w.rw.reads else 0.0) if layer != "share" else None,
        device_in_flight=w.outstanding * (0.98 if layer == "disk" else 0.95 if layer == "file system" else 0.31),
        device_busy_ns_per_io=mean * 0.97,
        wire_bytes_per_byte=1.012 + 60 / w.bs if layer == "share" else None,
        counters={
            "blockdev_reads{device=sda}": iops,
            "net_bytes{direction=tx,interface=lo}": iops * w.bs,
            "pressure_seconds{kind=some,resource=io}": 0.42,
            **({"tcp_rtt_seconds{connection=0,end=client,peer=10.0.7.2:10809}": 8.1e-5} if layer == "share" else {}),
        },
        flows=_flows(layer, w),
        cycles=_cycles(layer, w, iops),
        splits=_splits(layer, w, mean),
        notes=(
            "sda moved 1.31 bytes per byte written: journal, copies, whole blocks for parts, or somebody else's I/O",
        )
        if layer == "file system" and w.rw is Rw.RANDWRITE
        else (),
        absent=("cycles: no cycles: the processor has no counters, or the hypervisor hides them",),
        timeline=tuple(timeline),
    )


def _flows(layer: str, w: Workload) -> tuple[Flow, ...]:
    of = "write" if w.rw in (Rw.WRITE, Rw.RANDWRITE) else "read"
    found = [
        Flow(place="device sda", direction=of, of=of, per_byte=estimate(1.31 if of == "write" else 1.0, 0.01, "1"))
    ]
    if layer == "share":
        towards = "tx" if of == "write" else "rx"
        found.append(
            Flow(place="wire eth0", node="node-1", direction=towards, of=of, per_byte=estimate(1.03, 0.01, "1"))
        )
    return tuple(found)


def _cycles(layer: str, w: Workload, iops: float) -> tuple[CycleCost, ...]:
    source = "processor time × clock (2.70 GHz, as cpufreq reads it)"
    ends = {"machine": 52_000.0, "server smbd": 31_000.0} if layer == "share" else {"machine": 21_000.0}
    return tuple(
        CycleCost(
            end=end,
            node="node-2" if end.startswith("server") else None,
            kernel_per_byte=estimate(each / w.bs, 0.02, "cycles/B"),
            user_per_byte=estimate(each / w.bs / 4, 0.02, "cycles/B"),
            kernel_per_io=estimate(each, 0.02, "cycles"),
            user_per_io=estimate(each / 4, 0.02, "cycles"),
            clock_hz=2.7e9,
            source=source,
        )
        for end, each in ends.items()
    )


def _splits(layer: str, w: Workload, mean: float) -> tuple[LatencySplit, ...]:
    if layer != "share":
        return ()
    return (
        LatencySplit(
            direction="write" if w.rw in (Rw.WRITE, Rw.RANDWRITE) else "read",
            server="target",
            client_ns=estimate(mean, 0.013, "ns"),
            server_ns=estimate(mean * 0.4, 0.02, "ns"),
            wire_ns=estimate(mean * 0.6, 0.03, "ns"),
            percentiles=tuple(
                PercentileSplit(
                    percentile=p,
                    client_ns=estimate(mean * factor, 0.03, "ns"),
                    server_ns=estimate(mean * factor * 0.3, 0.03, "ns"),
                    difference_ns=estimate(mean * factor * 0.7, 0.03, "ns"),
                )
                for p, factor in (("50", 0.9), ("99", 2.7))
            ),
        ),
    )


def _comparison(above: CellSummary, below: CellSummary, allowed: float) -> Comparison:
    value = above.iops.value / below.iops.value
    verdict = Equivalence.WITHIN if value > 1 - allowed else Equivalence.ABOVE
    added = above.mean_ns.value - below.mean_ns.value
    return Comparison(
        layer=above.layer,
        below=below.layer,
        workload_key=above.workload.key,
        iops=estimate(value, 0.012, "ratio"),
        latency={k: estimate(v.value / below.latency_ns[k].value, 0.03, "ratio") for k, v in above.latency_ns.items()},
        added_ns=Estimate(
            value=added, low=added - above.mean_ns.value * 0.02, high=added + above.mean_ns.value * 0.02, n=5, unit="ns"
        ),
        expected_overhead=allowed,
        allowance=allowed,
        verdict=verdict,
    )


def stack(share: str = "share") -> Stack:
    return Stack(
        name="build-volume",
        nodes=(Node(name="node-2", owner=True), Node(name="node-1")),
        layers=(
            Layer(name="disk", node="node-2", endpoint="block:/dev/disk/by-id/ata-Lab_SSD_1T"),
            Layer(
                name="file system",
                node="node-2",
                endpoint="file:/srv/build/strata-7f3a.dat",
                on=("disk",),
                expect=Expect(overhead_max=0.05, source="default for a local file system"),
            ),
            Layer(
                name=share,
                node="node-1",
                endpoint="nbd://10.0.7.2:10809/build",
                on=("file system",),
                expect=Expect(overhead_max=0.15, source="stack file"),
            ),
        ),
    )


def survey() -> Survey:
    return Survey(
        path="/srv/build",
        hostname="node-2",
        kernel="6.12.9",
        os="Debian GNU/Linux 13",
        taken_unix_ns=MADE,
        file_system=FileSystem(
            kind="ext4",
            source="/dev/mapper/vg0-build",
            mount_point="/srv/build",
            options=("rw", "noatime", "data=ordered"),
            device="dm-3",
            block_size=4096,
            size=800 * GIB,
            free=322 * GIB,
            available=281 * GIB,
        ),
        devices=(
            Device(
                name="dm-3",
                path="/dev/mapper/vg0-build",
                devno="253:3",
                kind="lvm",
                size=800 * GIB,
                detail={"type": "linear"},
            ),
            Device(
                name="sda2", path="/dev/sda2", devno="8:2", kind="partition", size=930 * GIB, partition_start=1 << 20
            ),
            Device(
                name="sda",
                path="/dev/sda",
                devno="8:0",
                kind="disk",
                size=1_000_204_886_016,
                model="Lab SSD 1T",
                firmware="RVT04B6Q",
                transport="sata",
                rotational=False,
                write_cache="write back",
                scheduler="mq-deadline",
                logical_block=512,
                physical_block=4096,
                nr_requests=64,
                queues=1,
            ),
        ),
        cpu=Cpu(
            model="Example 8-core 3.4 GHz",
            logical=16,
            usable=16.0,
            numa_nodes=1,
            mhz=3400,
            governor="powersave",
            turbo=True,
            clocksource="tsc",
        ),
        memory=Memory(total=32 * GIB, available=27 * GIB, cached=9 * GIB, dirty=3 << 20, swap_total=0),
        load=Load(seconds=0.5, load1=0.31, cpu_busy=0.021, cpu_steal=0.0, disk_iops={"sda": 3.0}),
        privileged=True,
        notices=(
            Notice(
                severity=Severity.WARNING,
                code="governor",
                what="the processors run under the powersave governor",
                why="short requests wait for a clock that has yet to rise: latency at depth 1 reads too high",
                next_step="cpupower frequency-set -g performance, and measure again",
            ),
            Notice(
                severity=Severity.INFO,
                code="write-cache",
                what="the disk has a volatile write cache",
                why="writes that are not asked to be durable end in it",
            ),
        ),
        unreadable=("/sys/kernel/debug/block",),
    )


def _plan(st: Stack, rng: random.Random) -> Plan:
    cells = [
        Cell(layer=layer.name, workload=w, skip=RAW if layer.name == "disk" and w.rw.writes else None)
        for layer, w in product(st.layers, FIGURES)
    ]
    steps = []
    for r in range(1, 6):
        keys = [c.key for c in cells if c.skip is None]
        rng.shuffle(keys)
        steps += [Step(order=len(steps) + i, round=r, cell=key) for i, key in enumerate(keys)]
    confirm = Cell(layer=st.layers[-1].name, workload=CONFIRM)
    steps.append(Step(order=len(steps), round=1, cell=confirm.key, kind=StepKind.CONFIRM))
    return Plan(
        id="plan-7f3a",
        stack=st,
        cells=(*cells, confirm),
        steps=tuple(steps),
        rounds=5,
        seed=42,
        ramp_s=0.5,
        runtime_s=2.0,
        interval_s=0.25,
        file_size=4 * GIB,
        seconds=262.5,
        bytes_written=61 * GIB,
        assumed_write_bps=550e6,
    )


def _diagnosis(share: str) -> Diagnosis:
    foretold = tuple(
        Prediction(metric="iops", low=low, high=high, unit="IOPS", cause=cause.value, layer=share)
        for cause, low, high in ((Cause.WIRE_BANDWIDTH, 98_000, 118_000), (Cause.IOPS_CAP, 25_000, 31_000))
    )
    experiment = Experiment(
        layer=share,
        workload=CONFIRM,
        reference="randread-4KiB-qd32",
        changes="a quarter of the block size at the same depth",
        prediction=foretold[0],
        predictions=foretold,
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
            Row(cell=f"{share}/read-128KiB-qd8", measured=878, low=840, high=920, share=0.97),
            Row(cell=f"{share}/randread-64KiB-qd8", measured=1757, low=1690, high=1830, share=0.95),
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
                " processors are below 35 %. Depth 1 loses 94 µs to the round trip, which is a second, smaller cost."
            ),
            next_step=(
                "Give the share a second link or a faster one: expect sequential reads near 500 MiB/s,"
                " then the disk is the limit."
            ),
        ),
        findings=(finding,),
        ruled_out=(
            RuledOut(cause=Cause.WIRE_LATENCY, because="94 µs explain depth 1, not depth 32"),
            RuledOut(cause=Cause.IOPS_CAP, because="IOPS differ 32-fold at equal MiB/s"),
            RuledOut(cause=Cause.PROCESSORS, because="the busiest is at 58 %"),
            RuledOut(cause=Cause.GENERATOR, because="1.1 million IOPS against the null endpoint"),
        ),
        story=(Told(outcome=outcome, agreed=(f"{share}: wire-bandwidth",), fell=(f"{share}: iops-cap",)),),
    )


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


def build(share: str = "share", profile: str = "release", status: RunStatus = RunStatus.DONE) -> Report:
    """The sample. ``share`` renames the top layer, ``profile`` and ``status`` make what banners speak of."""
    rng = random.Random(7)
    st = stack(share)
    plan = _plan(st, rng)
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
                made = _summary(layer, w, iops, rng, renamed)
                summaries[layer, w.key] = made.model_copy(update={"layer": names[layer]})
    noise = NoiseFloor(between_rounds=0.011, within_bins=0.036, tolerance=0.019, rounds=5, cells=20)
    comparisons = []
    for above, below, allowed in (("file system", "disk", 0.05), ("share", "file system", 0.15)):
        for w in FIGURES:
            if (below, w.key) in summaries:
                comparisons.append(_comparison(summaries[above, w.key], summaries[below, w.key], allowed))
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
        diagnosis=_diagnosis(names["share"]),
        repeat=(
            ("the whole run", "strata diagnose stack.toml --rounds 5 --seed 42"),
            (
                "the worst cell",
                "strata measure nbd://10.0.7.2:10809/build --rw read --bs 131072 --iodepth 8 --runtime 2",
            ),
        ),
    )
