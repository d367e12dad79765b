"""The fio command that repeats a cell says the same as the cell."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from strata.formats.fio import fio_command, job_options
from strata.formats.fio_job import section_of
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words

MIB = 1 << 20
WHOLE = (Segment(start=MIB, length=15 * MIB, target=MIB),)


def command(
    where: str, rw: str = "randread", bs: int = 4096, segments: tuple[Segment, ...] = WHOLE, **more: object
) -> list[str] | None:
    workload = workload_from_words(rw, bs, **more)  # type: ignore[arg-type]
    said = fio_command(Endpoint.parse(where), workload, segments, 0.5, 2)
    return None if said is None else shlex.split(said)


def test_a_plain_read_of_a_file() -> None:
    said = command("file:/mnt/a b", iodepth=8)
    assert said is not None and said[0] == "fio"
    assert {"--filename=/mnt/a b", "--direct=1", "--iodepth=8", "--ramp_time=500ms", "--runtime=2000ms"} <= set(said)
    assert {f"--offset={MIB}", f"--size={15 * MIB}", "--norandommap"} <= set(said)


def test_sequential_threads_have_a_part_each() -> None:
    said = command("file:/a", "read", threads=3)
    assert said is not None
    assert {f"--size={5 * MIB}", f"--offset_increment={5 * MIB}"} <= set(said)


def test_the_range_is_of_whole_blocks() -> None:
    crooked = (Segment(start=MIB + 4096, length=5 * MIB, target=9 * MIB),)
    said = command("file:/a", bs=MIB, segments=crooked)
    assert said is not None
    assert {f"--offset={10 * MIB - 4096}", f"--size={4 * MIB}"} <= set(said)


def test_a_rate_is_told_for_each_thread_and_direction() -> None:
    said = command("file:/a", "randrw", rwmixread=70, rate_iops=2000, threads=2)
    assert said is not None and "--rate_iops=700,300" in said
    assert command("file:/a", rate_iops=1000, threads=3) is None


def test_connections_are_a_word_of_ours() -> None:
    said = command("nbd://host:10809/x?connections=4")
    assert said is not None and "--uri=nbd://host:10809/x" in said


@pytest.mark.parametrize(("where", "rw"), [("null:", "read"), ("block:/dev/x", "write")])
def test_what_fio_is_not_asked(where: str, rw: str) -> None:
    assert command(where, rw) is None


@pytest.mark.parametrize("words", [{"rw": "randread"}, {"rw": "write"}, {"rw": "randrw", "rwmixread": 70}])
def test_an_open_loop_that_fio_is_told_is_read_again(words: dict[str, Any]) -> None:
    meant = workload_from_words(**words, rate_iops=2000, process="poisson", threads=2, iodepth=8)
    told = job_options(Endpoint.parse("file:/a"), meant, (Segment(start=0, length=15 * MIB, target=0),), 0.0, 1.0)
    assert told is not None and "," in told["rate_iops"]
    _, read, complaints = section_of("a", told)
    assert complaints == [] and workload_from_words(**read).key == meant.key
