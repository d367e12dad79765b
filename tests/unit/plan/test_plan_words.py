from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.errors import UsageError
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, OpenLoop, Sync, Workload
from strata.plan.words import workload_from_words


def test_fio_words():
    found = workload_from_words("randread", "8k", iodepth=32, threads=4, sync="none", seed=9)
    assert found == Workload(rw=Rw.RANDREAD, bs=8192, arrival=ClosedLoop(iodepth=32), threads=4, seed=9)


@pytest.mark.parametrize("word", ["rw", "readwrite", "randrw", "RANDRW"])
def test_mixed_patterns_default_to_half_and_half(word):
    assert workload_from_words(word).rwmixread == 50
    assert workload_from_words(word, rwmixread=70).rwmixread == 70


def test_a_rate_makes_an_open_loop_with_room_in_flight():
    assert workload_from_words("write", rate_iops=500).arrival == OpenLoop(iops=500, iodepth=256)
    assert workload_from_words("write", iodepth=16, rate_iops=5, process="poisson").arrival == OpenLoop(
        iops=5, iodepth=16, process="poisson"
    )


def test_depth_defaults_to_one_as_in_fio():
    assert workload_from_words("read").arrival == ClosedLoop(iodepth=1)


def test_write_through_and_buffered():
    found = workload_from_words("randwrite", "4096", direct=False, sync="dsync")
    assert (found.sync, found.direct, found.bs) == (Sync.DSYNC, False, 4096)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"rw": "sideways"}, "rw=sideways"),
        ({"rw": "trimwrite"}, "rw=trimwrite is not one of"),
        ({"rw": "randtrim", "sync": "dsync"}, "has none"),
        ({"rw": "trim", "fdatasync": 1}, "apply to writes"),
        ({"rw": "trim", "refill": True}, "apply to writes"),
        ({"rw": "read", "zero_buffers": True}, "zero_buffers applies to writes, and rw=read has none"),
        ({"rw": "write", "zero_buffers": True, "compress_percent": 40}, "zero_buffers contradicts a share"),
        ({"rw": "write", "zero_buffers": 1}, "zero_buffers=1 is not a flag"),
        ({"rw": "trim", "rwmixread": 50}, "not to rw=trim"),
        ({"rw": "read", "bs": "4kb"}, "4KiB"),
        ({"rw": "read", "bs": "4k,8k"}, "several sizes"),
        ({"rw": "read", "bs": "1k-8k"}, "several sizes"),
        ({"rw": "read", "bs": 1000}, "multiple of 512"),
        ({"rw": "read", "bs": "256"}, "512 B..64 MiB"),
        ({"rw": "read", "bs": "1g"}, "512 B..64 MiB"),
        ({"rw": "read", "iodepth": 0}, "iodepth=0"),
        ({"rw": "read", "iodepth": 5000}, "iodepth=5000"),
        ({"rw": "read", "threads": 0}, "threads=0"),
        ({"rw": "read", "rate_iops": 0}, "rate_iops=0"),
        ({"rw": "read", "rate_iops": float("nan")}, "rate_iops=nan"),
        ({"rw": "read", "rwmixread": 50}, "not to rw=read"),
        ({"rw": "randrw", "rwmixread": 101}, "rwmixread=101"),
        ({"rw": "read", "sync": "dsync"}, "has none"),
        ({"rw": "write", "sync": "sync"}, "time stamps"),
        ({"rw": "write", "sync": "maybe"}, "sync=maybe"),
        ({"rw": "read", "seed": -1}, "seed=-1"),
    ],
)
def test_nonsense_is_named(words, said):
    with pytest.raises(UsageError) as caught:
        workload_from_words(**words)
    assert said in caught.value.render()
    assert caught.value.exit_code == 2
    assert caught.value.problems


def test_all_problems_come_together():
    with pytest.raises(UsageError) as caught:
        workload_from_words("up", "4kb", iodepth=0, threads=0, rate_iops=-1, sync="maybe", seed=-1)
    assert len(caught.value.problems) == 7


WORDS = st.fixed_dictionaries(
    {
        "rw": st.one_of(st.sampled_from([*Rw, "readwrite"]), st.text(max_size=8)),
        "bs": st.one_of(st.text(max_size=8), st.integers(-10, 1 << 30)),
        "iodepth": st.one_of(st.none(), st.integers(-5, 10_000)),
        "threads": st.integers(-5, 500),
        "rate_iops": st.one_of(st.none(), st.floats()),
        "rwmixread": st.one_of(st.none(), st.integers(-5, 105)),
        "sync": st.one_of(st.sampled_from(["none", "dsync"]), st.text(max_size=5)),
    }
)


@given(WORDS)
def test_any_words_give_a_workload_or_a_usage_error(words):
    try:
        found = workload_from_words(**words)
    except UsageError as e:
        assert e.problems
    else:
        assert isinstance(found, Workload)
