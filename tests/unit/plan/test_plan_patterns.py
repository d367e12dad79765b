"""Patterns in words: what they become, that every one is in the workload's name, and fio's job files both ways."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.app.profiles import read_jobs
from strata.errors import UsageError
from strata.formats.fio import fio_command
from strata.model.access import BsShare, BsSplit, ByteRange, Interlocked, Once, Strided, WriteData, Zipf, Zone, Zones
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Limits, OpenLoop, Sync, Workload
from strata.plan.words import workload_from_words
from strata.plan.workloads import DIAGNOSE
from strata.units import GIB, KIB, MIB

SPECIAL = (
    {"random_distribution": "zipf:1.2"},
    {"random_distribution": "zipf:1.25"},
    {"random_distribution": "zoned:90/10:10/90"},
    {"random_distribution": "zoned_abs:90/1g"},
    {"randommap": True},
    {"bssplit": "4k/60:64k/40"},
    {"bssplit": "4k/61:64k/39"},
    {"bssplit": "4k/60:64k/40,64k"},
    {"rwmix_run": 8},
    {"blockalign": "512"},
    {"misalign": "1536"},
    {"range": "1g"},
    {"range": "1g:3m"},
    {"fsync": 1},
    {"fdatasync": 1},
    {"refill": True},
    {"compress_percent": 30},
    {"dedupe_percent": 30},
    {"limit_iops": 1000},
    {"limit_bytes": "1000"},
    {"thinktime": "1ms"},
    {"thinktime": "1ms", "thinktime_blocks": 8},
    {"shares": (1, 2)},
)
SEQUENTIAL = ({"interlocked": True}, {"stride": "64k"}, {"offset_increment": "64k"}, {"gap": "12k"})


def made(rw: str = "randrw", **words: object) -> Workload:
    return workload_from_words(rw, "4k", iodepth=4, **words)


def test_every_special_word_is_in_key_and_label_and_survives_saving() -> None:
    asked = [made(), *(made(**words) for words in SPECIAL), made("rw"), *(made("rw", **words) for words in SEQUENTIAL)]
    asked += [workload_from_words("randread", rate_iops=5, burst=n) for n in (1, 10)]
    assert len({w.key for w in asked}) == len(asked)
    # Shares of a percent more are told apart by the key alone.
    assert len({w.label for w in asked}) >= len(asked) - 1
    for workload in asked:
        assert Workload.model_validate_json(workload.model_dump_json()) == workload
        assert not set(workload.key) & set(" /")


def test_names_of_what_was_stored_before_have_not_changed() -> None:
    assert [w.key for w in DIAGNOSE] == [
        "randread-8KiB-qd1",
        "randread-8KiB-qd8",
        "randread-8KiB-qd32",
        "read-8KiB-qd8",
        "read-128KiB-qd8",
        "randwrite-8KiB-qd1-dsync",
        "randwrite-8KiB-qd8-dsync",
        "write-8KiB-qd8-dsync",
        "write-128KiB-qd8-dsync",
    ]
    paced = Workload(rw=Rw.RW, bs=4096, arrival=OpenLoop(iops=500), threads=2, rwmixread=70, direct=False)
    assert paced.key == "rw70-4KiB-500iops-constant-t2-buffered"
    assert paced.label == "sequential 70/30 · 4 KiB · 500 IOPS requested · 2 threads · buffered"


def test_a_stored_workload_loads_and_is_written_as_it_was() -> None:
    stored = (
        '{"rw":"randwrite","bs":8192,"arrival":{"kind":"closed","iodepth":8},"threads":1,"rwmixread":null,'
        '"direct":true,"sync":"dsync","seed":1}'
    )
    [same] = [w for w in DIAGNOSE if w.key == "randwrite-8KiB-qd8-dsync"]
    assert Workload.model_validate_json(stored) == same
    assert same.model_dump_json() == stored
    opened = '{"kind":"open","iops":5.0,"process":"poisson","iodepth":16}'
    assert OpenLoop.model_validate_json(opened).model_dump_json() == opened


def test_words_become_values() -> None:
    split = made(bssplit="4k/20:16k:64k,8k/100").bssplit
    assert split == BsSplit(
        read=(BsShare(bs=4 * KIB, weight=1), BsShare(bs=16 * KIB, weight=2), BsShare(bs=64 * KIB, weight=2)),
        write=(BsShare(bs=8 * KIB, weight=1),),
    )
    assert made(bssplit="4k/20:64k").bs == 64 * KIB
    assert made("randread", bssplit="4k/20:64k").bssplit == BsSplit(
        read=(BsShare(bs=4 * KIB, weight=1), BsShare(bs=64 * KIB, weight=4))
    )
    assert made(random_distribution="random").order is None
    assert made(random_distribution="zoned:60/10:30/20").order == Zones(
        zones=(Zone(access_percent=60, range_percent=10), Zone(access_percent=30, range_percent=20))
    )
    assert made("read", gap="8k").order == Strided(stride=12 * KIB)
    assert made(range="1g:512m").range == ByteRange(start=GIB, length=512 * MIB)
    assert made(thinktime="2ms", limit_bytes="1m").arrival == ClosedLoop(
        iodepth=4, limits=Limits(bytes_per_s=MIB, think_ns=2_000_000)
    )


def test_moments_of_a_split() -> None:
    mean, deviation = made(bssplit="4k/50:12k/50,8k").bs_moments
    assert mean == 8192
    # Half of the I/Os are reads, which differ from the mean by 4 KiB, the writes not at all.
    assert deviation == pytest.approx((0.5 * 4096**2) ** 0.5)
    assert made().bs_moments == (4096, 0)


@pytest.mark.parametrize(
    ("rw", "words", "said"),
    [
        ("read", {"random_distribution": "zipf:1"}, "does not apply to rw=read"),
        ("randread", {"interlocked": True}, "does not apply to rw=randread"),
        ("randread", {"randommap": True, "random_distribution": "zipf:1"}, "one of these orders"),
        ("randread", {"random_distribution": "pareto:1"}, "not random, zipf"),
        ("randread", {"random_distribution": "zipf:0"}, "theta must be above 0"),
        ("randread", {"random_distribution": "zoned:60/10:60/20"}, "up to 100 in total"),
        ("randread", {"random_distribution": "zoned:x/10"}, "'x' is not a number"),
        ("randread", {"bssplit": "4k/50:8k/60"}, "add up to 110"),
        ("randread", {"bssplit": "4k/50:1000/50"}, "1000 is not a multiple of 512"),
        ("randread", {"bssplit": "4k,4k,4k"}, "more than two parts"),
        ("randrw", {"bssplit": "4k/50:8k", "randommap": True}, "a single block size"),
        ("randread", {"fsync": 1}, "apply to writes"),
        ("randwrite", {"fsync": 1, "fdatasync": 1}, "not both"),
        ("randread", {"compress_percent": 10}, "apply to writes"),
        ("randwrite", {"compress_percent": 100}, "compress_percent=100 is not in 0..99"),
        ("read", {"stride": "6k", "blockalign": "4k"}, "multiples of align=4096"),
        ("read", {"misalign": "4k"}, "misalign=4096 must be below"),
        ("read", {"range": "1m:0"}, "is empty"),
        ("read", {"rwmix_run": 3}, "rwmix_run applies to"),
        ("read", {"burst": 3}, "needs rate_iops"),
        ("read", {"thinktime_blocks": 3}, "thinktime_blocks=3 needs thinktime"),
        ("read", {"limit_iops": -1}, "iops=-1"),
        ("read", {"shares": (0, 0)}, "needs a share"),
        ("read", {"deal": "luck"}, "deal=luck"),
        ("read", {"shares": (1, 1), "deal": "thread"}, "2 targets need at least 2 threads"),
    ],
)
def test_what_cannot_be_is_named(rw: str, words: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(rw, **words)
    assert said in caught.value.render()


JOB = """
; what a database was told to be tested with
[global]
ioengine=libaio
direct=1
size=4g
bs = 8k

[data]
rw=randrw:1
readwrite=randrw
rwmixwrite=30
iodepth=16
numjobs=2
norandommap
bssplit=4k/20:8k/80
random_distribution=zipf:1.2
rate_iops=1000
refill_buffers=1
buffer_compress_percentage=40

[cover]
rw=randread
offset=1g

[log]
rw=write:4k
bs=4k
fdatasync=1
thinktime=100
sync=dsync
ioengine=psync
iodepth=8

[paced]
rw=randread
norandommap=1
rate_iops=250
numjobs=4
rate_process=poisson
"""


def jobs(tmp_path: Path, text: str) -> tuple[Workload, ...]:
    path = tmp_path / "jobs.fio"
    path.write_text(text)
    return read_jobs(path)


def test_a_fio_job_file(tmp_path: Path) -> None:
    data, cover, log, paced = jobs(tmp_path, JOB)
    assert data == Workload(
        rw=Rw.RANDRW,
        bs=8192,
        arrival=ClosedLoop(iodepth=16, limits=Limits(iops=2000)),
        threads=2,
        rwmixread=70,
        order=Zipf(theta=1.2),
        bssplit=BsSplit(
            read=(BsShare(bs=4096, weight=1), BsShare(bs=8192, weight=4)),
            write=(BsShare(bs=4096, weight=1), BsShare(bs=8192, weight=4)),
        ),
        data=WriteData(compress_percent=40),
    )
    assert (cover.order, cover.range) == (Once(), ByteRange(start=GIB, length=4 * GIB))
    assert (log.order, log.arrival) == (
        Strided(stride=8192),
        ClosedLoop(iodepth=1, limits=Limits(think_ns=100_000)),
    )
    assert (log.fdatasync, log.sync, log.direct) == (1, Sync.DSYNC, True)
    assert paced.arrival == OpenLoop(iops=1000, process="poisson", iodepth=1)
    assert paced.order is None


def test_what_a_job_file_asks_and_cannot_have_is_named_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        jobs(tmp_path, "bs=4k\n[a]\nrw=randread:8\nverify=crc32c\nbs=10%\n[b]\nrw=read\nfsync=1\nrate=1m,2m\n")
    text = caught.value.render()
    parts = (
        "bs=4k: is outside of any section",
        "[a] rw=randread:8",
        "[a] verify=crc32c",
        "[a] bs=10%",
        "[b] rate=1m,2m",
    )
    assert [part for part in parts if part not in text] == []
    with pytest.raises(UsageError, match="cannot read the job file"):
        read_jobs(tmp_path / "none.fio")
    with pytest.raises(UsageError) as caught:
        jobs(tmp_path, "[global]\nrw=read\n")
    assert "no section" in caught.value.render()


@given(
    words=st.sampled_from([{}, *SPECIAL, *SEQUENTIAL]),
    threads=st.sampled_from([1, 3]),
    rw=st.sampled_from(["randrw", "randwrite", "rw", "write"]),
)
def test_what_is_written_for_fio_is_read_back_as_the_same(
    tmp_path_factory: pytest.TempPathFactory, words: dict[str, object], threads: int, rw: str
) -> None:
    try:
        asked = workload_from_words(rw, "4k", iodepth=4, threads=threads, **words)
    except UsageError:
        return
    segments = [Segment(start=0, length=16 * GIB, target=0)]
    command = fio_command(Endpoint.parse("file:/x"), asked, segments, 0, 1)
    if command is None:
        assert asked.shares or asked.rwmix_run > 1 or asked.key.endswith("interlocked")
        return
    # Where (offset, size) and the generator's own way of filling are of the place, not of the workload.
    aside = ("offset", "size", "refill_buffers", "ioengine", "blockalign", "name")
    lines = [w.removeprefix("--") for w in shlex.split(command)[1:]]
    if rw in ("rw", "write") and threads > 1 and "offset_increment" not in words:
        aside += ("offset_increment",)
    kept = [line for line in lines if line.partition("=")[0] not in aside]
    align = [line for line in lines if line.startswith("blockalign=")]
    text = "[x]\nioengine=libaio\n" + "\n".join(kept + align)
    (found,) = jobs(tmp_path_factory.mktemp("job"), text)
    changes: dict[str, object] = {"misalign": 0, "range": None, "seed": 1}
    if asked.data == WriteData():
        changes["data"] = None
    expected = asked.model_copy(update=changes)
    if isinstance(asked.order, Interlocked):
        # One thread alone is a plain sequence.
        expected = expected.model_copy(update={"order": None})
    if isinstance(asked.order, Zones):
        # What the zones leave is written out as one more.
        assert isinstance(found.order, Zones)
        assert found.order.zones[: len(asked.order.zones)] == asked.order.zones
        found = found.model_copy(update={"order": asked.order})
    if isinstance(asked.arrival, ClosedLoop) and asked.arrival.limits and threads > 1:
        # fio's rates are whole numbers of each job.
        assert isinstance(found.arrival, ClosedLoop)
        assert found.arrival.limits is not None
        near = (found.arrival.limits.iops or found.arrival.limits.bytes_per_s or 1000) / 1000
        assert near == pytest.approx(1, rel=0.01)
        found = found.model_copy(update={"arrival": asked.arrival})
    if asked.bssplit is not None:
        assert found.bssplit is not None
        found = found.model_copy(update={"bssplit": asked.bssplit})
    assert found == expected
