"""A workload becomes a diskspd command line that is read back as the same workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_of import read_bytes

from strata.formats.command_line import program_of
from strata.formats.diskspd import diskspd_line, diskspd_words
from strata.formats.diskspd_command import workload_of_diskspd
from strata.model.access import ByteRange
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment, clipped
from strata.model.workload import Workload
from strata.plan.words import workload_from_words

SIZE = 1 << 30
KIB = 1024


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """What diskspd has words for."""
    rw = draw(st.sampled_from(["read", "write", "rw", "randread", "randwrite", "randrw"]))
    bs = 512 * draw(st.integers(1, 4096))
    words: dict[str, Any] = {"rw": rw, "bs": bs, "iodepth": draw(st.integers(1, 64)), "seed": draw(st.integers(1, 9))}
    words["threads"] = threads = draw(st.integers(1, 5))
    if rw.endswith("rw"):
        words["rwmixread"] = draw(st.integers(1, 99))
    words["direct"] = draw(st.booleans())
    if not rw.endswith("read"):
        words["sync"] = draw(st.sampled_from(["none", "dsync"]))
        words |= draw(st.sampled_from([{}, {"refill": True}, {"compress_percent": 99}]))
    if rw.startswith("rand"):
        align = 512 * draw(st.integers(1, 64))
        words |= draw(st.sampled_from([{}, {"blockalign": align} if align != bs else {}]))
        words |= draw(st.sampled_from([{}, {"random_distribution": "zoned:90/10:10/90"}]))
    elif threads > 1:
        apart = {"offset_increment": 64 * KIB * draw(st.integers(1, 99))}
        words |= draw(st.sampled_from([{"interlocked": True}, apart, apart | {"stride": 3 * bs}]))
    elif draw(st.booleans()):
        words["stride"] = 2 * bs
    words |= draw(
        st.sampled_from(
            [{}, {"limit_iops": 100 * threads}, {"limit_bytes": 7000 * threads},
             {"thinktime": "30ms", "thinktime_blocks": 4}]
        )
    )  # fmt: skip
    if draw(st.booleans()):
        words["range"] = f"{bs * 3}:{bs * 1000}"
    return workload_from_words(**words)


@given(workloads())
def test_what_is_written_is_read_as_the_same_workload(workload: Workload) -> None:
    made = diskspd_words(workload, SIZE)
    assert made.complaints == [] and made.notes == []
    again = workload_of_diskspd([*made.words, "file.dat"])
    assert again.complaints == [] and workload_from_words(**again.words) == workload


def test_several_results_in_one_file_are_several_cells() -> None:
    """As a script appends them; both are real outputs of diskspd for Linux."""
    folder = Path(__file__).parents[2] / "data" / "imports"
    one, other = ((folder / name).read_bytes() for name in ("diskspd-linux.txt", "diskspd-linux-plain.txt"))
    together = read_bytes(one + other)
    alone = [cell for content in (one, other) for cell in read_bytes(content).cells]
    assert [c.asked for c in together.cells] == [c.asked for c in alone]
    assert [c.sides for c in together.cells] == [c.sides for c in alone]
    assert [c.name for c in together.cells] == ["result 1, timespan 1", "result 2, timespan 1"]


@given(workloads())
def test_every_size_is_in_plain_bytes(workload: Workload) -> None:
    assert not [w for w in diskspd_words(workload, SIZE).words if w[1] in "bBrsTZ" and w[-1] in "KMGTkmgt"]


@pytest.mark.parametrize(
    "words",
    [
        {"rw": "randread", "bs": 4096, "rate_iops": 100},
        {"rw": "randread", "bs": 4096, "random_distribution": "zipf:1.2"},
        {"rw": "randread", "bs": 4096, "randommap": True},
        {"rw": "randread", "bssplit": "4k/50:8k/50"},
        {"rw": "randwrite", "bs": 4096, "fsync": 1},
        {"rw": "randtrim", "bs": 4096},
        {"rw": "write", "bs": 4096, "compress_percent": 50},
        {"rw": "read", "bs": 4096, "limit_iops": 1, "threads": 2},
        {"rw": "read", "bs": 4096, "direct": False, "cache": "cold"},
    ],
    ids=str,
)
def test_what_diskspd_has_no_words_for_is_said(words: dict[str, Any]) -> None:
    assert diskspd_words(workload_from_words(**words), SIZE).complaints


def test_threads_of_a_sequence_get_their_own_parts_and_that_is_said() -> None:
    made = diskspd_words(workload_from_words(rw="read", bs=64 * KIB, threads=4), SIZE)
    assert f"-T{SIZE // 4}" in made.words and made.notes


WHOLE = (Segment(start=0, length=16 << 20, target=1 << 20),)


@given(workloads())
def test_the_command_of_a_cell_reads_the_bytes_that_the_cell_read(workload: Workload) -> None:
    said = diskspd_line(Endpoint.parse("file:/mnt/a b"), workload, WHOLE, 0.25, 1.0)
    assert said is not None
    program, words = program_of(said) or ("", [])
    again = workload_of_diskspd(words)
    assert program == "diskspd" and again.targets == ("/mnt/a b",) and not again.complaints
    piece = clipped(WHOLE, workload.range)
    expected = ByteRange(start=piece[0].target, length=piece[0].length)
    read = workload_from_words(**again.words)
    assert read.range == expected
    assert read.model_copy(update={"range": None}) == workload.model_copy(update={"range": None})


def test_diskspd_is_asked_of_no_server_and_writes_to_no_device() -> None:
    read, write = (workload_from_words(rw=rw, bs=4096) for rw in ("randread", "randwrite"))
    assert diskspd_line(Endpoint.parse("nbd://host/x"), read, WHOLE, 0, 1) is None
    assert diskspd_line(Endpoint.parse("block:/dev/x"), write, WHOLE, 0, 1) is None
    assert diskspd_line(Endpoint.parse("block:/dev/x"), read, WHOLE, 0, 1) is not None
