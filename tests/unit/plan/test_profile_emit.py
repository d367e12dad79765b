"""A profile as text and back."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.errors import UsageError
from strata.host import shipped
from strata.model.access import BsShare, BsSplit
from strata.model.profile import Goal, Profile, ProfileWorkload
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Workload
from strata.plan.profiles import own_profile, profile_of
from strata.plan.profiles.emit import toml_of
from strata.plan.words import workload_from_words

# No file that Strata reads may hold a NUL: it ends every path.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
SHARES = st.integers(1, 9_999).map(lambda n: f"4k/{n / 100!r}:64k")


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    rw = draw(st.sampled_from(list(Rw)))
    threads = draw(st.sampled_from([1, 3]))
    order = {
        True: [{}, {"randommap": True}, {"random_distribution": "zipf:1.05"},
               {"random_distribution": "zoned:90/10:5/20"},
               {"random_distribution": "zoned_abs:90/1g:10/9g"}],
        False: [{}, {"interlocked": True}, {"stride": "64k"}, {"offset_increment": 512}, {"gap": "4k"}],
    }  # fmt: skip
    special = dict(draw(st.sampled_from(order[rw.random])))
    if "randommap" not in special and draw(st.booleans()):
        read, write = draw(SHARES), draw(SHARES)
        special["bssplit"] = f"{read},{write}" if rw.mixed else read
    if draw(st.booleans()):
        special |= draw(st.sampled_from([{"range": "1m"}, {"range": "0:3m"}, {"blockalign": 512}, {"misalign": 512}]))
    if rw.carries:
        special |= draw(
            st.sampled_from([{}, {"fsync": 3}, {"fdatasync": 1}, {"refill": True}, {"dedupe_percent": 5},
                             {"zero_buffers": True},
                             {"compress_percent": 40, "dedupe_percent": 1}])
        )  # fmt: skip
    words: dict[str, object] = draw(st.sampled_from([{}, {"direct": False}, {"cache": "cold"}, {"seed": 7}]))
    if rw.carries:
        words |= draw(st.sampled_from([{}, {"sync": "dsync"}, {"sync": "rwf_dsync"}]))
    if rw.mixed:
        words |= {"rwmixread": draw(st.integers(0, 100))}
        special["rwmix_run"] = draw(st.sampled_from([1, 4]))
    if draw(st.booleans()):
        words |= {"rate_iops": draw(st.floats(1e-6, 1e9)), "process": draw(st.sampled_from(["constant", "poisson"]))}
        special["burst"] = draw(st.sampled_from([1, 8]))
    else:
        special |= draw(
            st.sampled_from([{}, {"limit_iops": 12.5}, {"limit_bytes": "10m"}, {"thinktime": "1500ns"},
                             {"thinktime": "2s", "thinktime_blocks": 9}])
        )  # fmt: skip
        words |= {"iodepth": draw(st.integers(1, 4096))}
    return workload_from_words(rw, "64k", threads=threads, **special, **words)


GOALS = st.lists(
    st.one_of(
        st.builds(Goal, figure=st.sampled_from(["mean", "99", "99.9", "flush 50"]), most=st.floats(1, 1e12)),
        st.builds(Goal, figure=st.just("mean"), most=st.just(2e6), good=st.just(1e6)),
        st.builds(Goal, figure=st.sampled_from(["iops", "bytes_per_second"]), least=st.floats(1, 1e12)),
    ),
    max_size=3,
).map(tuple)


@given(workloads(), TEXT, TEXT, st.text(), GOALS)
def test_what_is_written_reads_back_equal(
    workload: Workload, name: str, title: str, head: str, goals: tuple[Goal, ...]
) -> None:
    one = ProfileWorkload(name=name, workload=workload, why=title, goals=goals)
    profile = Profile(name="mine", title=title, source=name, workloads=(one,))
    text = toml_of(profile, [head])
    assert profile_of(text, "mine", "mine.toml") == profile


def test_those_that_come_with_strata_can_be_written_too() -> None:
    for name in shipped.profiles():
        profile = own_profile(name)
        text = toml_of(profile)
        assert profile_of(text, name, name) == profile
        assert "seed" not in text


def test_what_says_nothing_is_not_written() -> None:
    one = ProfileWorkload(name="a", workload=workload_from_words("randread", "8k", iodepth=4))
    text = toml_of(Profile(name="p", title="t", source="s", workloads=(one,)), ["one\nline \x07"])
    assert text.splitlines()[0] == "# one line"
    assert tomllib.loads(text)["workload"] == [{"name": "a", "rw": "randread", "bs": 8192, "iodepth": 4}]


def test_a_short_workload_has_a_table_of_its_own_too() -> None:
    """People go on with it; `tomli_w` folds tables into inline ones where all of them are short."""
    one = ProfileWorkload(name="a", workload=workload_from_words("randread", "8k"))
    goals = (Goal(figure="mean", most=2e6), Goal(figure="99", most=9e6))
    two = ProfileWorkload(name="b", workload=workload_from_words("read", "8k"), why="w", goals=goals)
    assert toml_of(Profile(name="p", title="t", source="s", workloads=(one, two))) == (
        'title = "t"\nsource = "s"\n'
        '\n[[workload]]\nname = "a"\nrw = "randread"\nbs = 8192\niodepth = 1\n'
        '\n[[workload]]\nname = "b"\nrw = "read"\nbs = 8192\niodepth = 1\nwhy = "w"\n'
        'goals = [{ figure = "mean", most = 2000000.0 }, { figure = "99", most = 9000000.0 }]\n'
    )


def test_what_no_words_say_is_refused_by_name() -> None:
    thirds = BsSplit(read=(BsShare(bs=4096, weight=1), BsShare(bs=8192, weight=2)))
    odd = Workload(rw=Rw.READ, bs=8192, bssplit=thirds, arrival=ClosedLoop(iodepth=1))
    profile = Profile(name="p", title="t", source="s", workloads=(ProfileWorkload(name="thirds", workload=odd),))
    with pytest.raises(UsageError) as e:
        toml_of(profile)
    assert "thirds" in e.value.why
