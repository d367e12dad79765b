"""Profiles from what was recorded or ran already."""

from __future__ import annotations

from pathlib import Path

import pytest
from traces import text as blkparse

from strata.app.derive import derive, write_profile
from strata.app.profiles import find_profile
from strata.errors import SafetyRefusal, UsageError
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Sync

JOB = "[global]\ndirect=1\nioengine=libaio\n[a]\nrw=randread\nnorandommap\nbs=8k\niodepth=4\n[b]\nrw=write\nbs=64k\n"


def keys(asked: str | Path) -> list[str]:
    return [w.workload.key for w in derive(str(asked)).profile.workloads]


def test_the_text_of_blkparse(tmp_path: Path) -> None:
    path = tmp_path / "recorded.txt"
    path.write_text(blkparse([("R" if n % 4 else "WFS", n * 7919 % 5000) for n in range(200)]))
    derived = derive(str(path))
    (one,) = derived.profile.workloads
    assert (one.workload.rw, one.workload.rwmixread, one.workload.bs) == (Rw.RANDRW, 75, 8192)
    assert one.workload.arrival == ClosedLoop(iodepth=1)
    assert (one.workload.direct, one.workload.sync, one.goals) == (True, Sync.DSYNC, ())
    said = "\n".join(derived.notes)
    assert "can change what the application issued" in said and "the depth is the number" in said
    # One I/O of 0.1 ms each millisecond: a closed loop would ask ten times as much.
    assert "use rate_iops = 100" in said and "0.10 I/Os in flight" in said


def test_a_fio_job_a_script_and_a_result(tmp_path: Path) -> None:
    job, script, result = tmp_path / "job.fio", tmp_path / "run.cmd", tmp_path / "8k.txt"
    job.write_text(JOB)
    assert keys(job) == ["randread-8KiB-qd4", "write-64KiB-qd1"]
    assert [w.name for w in derive(str(job)).profile.workloads] == ["a", "b"]
    script.write_text("echo begin\ndiskspd -b8K -r -Sh x > a.txt\ndiskspd -b8K -r -Sh -z7 y\nfio --name=n --rw=read\n")
    assert keys(script) == ["randread-8KiB-qd2", "read-4KiB-qd1-buffered"]
    assert any("1 of 3 workloads are duplicates" in note for note in derive(str(script)).notes)
    # As a shell of Windows redirects it.
    result.write_text("\nCommand Line: diskspd.exe -b8K -w100 -Su t.dat\n\nResults:\n", encoding="utf-16")
    assert keys(result) == ["write-8KiB-qd2"]


def test_a_command_line_itself() -> None:
    fio = "fio --rw=randread --bs=8k --direct=1 --iodepth=8 --ioengine=libaio --norandommap --runtime=60"
    assert keys(fio) == ["randread-8KiB-qd8"]
    assert keys("diskspd -b64K \\\n -Su x\nfio --name=a --rw=read") == ["read-64KiB-qd2", "read-4KiB-qd1-buffered"]
    derived = derive("diskspd.exe -b8K -d60 -o8 -t4 -r -w30 -Sh -Z1M file")
    assert [w.workload.key for w in derived.profile.workloads] == ["randrw70-8KiB-qd8-t4-dsync"]
    assert derived.notes == ("not part of the workload, ignored: -d60",)
    assert derived.profile.workloads[0].why.startswith("diskspd.exe -b8K")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nothing.trace", "neither a file nor"),
        ("dd if=/dev/sda", "neither a file nor"),
        ("diskspd -rs50 -Sm x", "-Sm"),
        ("diskspd -o9999 x", "iodepth=9999"),
        ("fio --name=x --rw=randtrim --verify=md5", "verify=md5"),
        ("fio other.job", "other.job"),
    ],
)
def test_what_cannot_be_is_said_with_the_next_step(asked: str, said: str) -> None:
    with pytest.raises(UsageError) as e:
        derive(asked)
    assert said in e.value.render() and "hint: " in e.value.render()


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    for name, content in (("a", b"\xff\x00binary"), ("b", b"just words\n"), ("c", b""), ("d", b"[a]\nverify=md5\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError) as e:
            derive(str(tmp_path / name))
        assert str(tmp_path / name) in e.value.render() and "hint: " in e.value.render()
    with pytest.raises(UsageError, match="it is a directory"):
        derive(str(tmp_path))


def test_a_written_profile_is_found_and_others_files_are_left(tmp_path: Path) -> None:
    own, others = tmp_path / "ours.toml", tmp_path / "others.toml"
    derived = derive("diskspd -b8K -r -w30 -Sh x", "ours")
    with pytest.raises(UsageError, match=r"only if its name ends in \.toml"):
        write_profile(tmp_path / "ours", derived)
    write_profile(own, derived)
    assert find_profile(str(own)) == derived.profile
    write_profile(own, derived)
    own.write_text(own.read_text().partition("\n")[2])
    for path in (own, others):
        others.write_text('title = "mine"\n')
        before = path.read_text()
        with pytest.raises(SafetyRefusal):
            write_profile(path, derived)
        assert path.read_text() == before
