"""Profiles: those that come with Strata, users' own, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.app.profiles import find_profile
from strata.errors import UsageError
from strata.host import shipped
from strata.model.access import Zipf
from strata.model.workload import Sync
from strata.plan.profiles import own_profile, profile_of

ONE = """
title = "Ours"
source = "measured by us"
[[workload]]
name = "pages"
rw = "randrw"
rwmixread = 80
bs = "16k"
iodepth = 8
goals = [{ figure = "99", most = "3ms" }, { figure = "bytes_per_second", least = "100MiB/s" }]
"""


def test_the_profiles_that_come_with_strata() -> None:
    names = shipped.profiles()
    assert set(names) == {
        "sql-oltp", "sql-dw", "hyper-v", "exchange", "backup", "vdi", "kubernetes-etcd", "general",
    }  # fmt: skip
    for name in names:
        profile = own_profile(name)
        assert profile.name == name and profile.source and all(w.why for w in profile.workloads)


def test_a_log_of_a_database_is_durable_and_has_its_band() -> None:
    log = next(w for w in own_profile("sql-oltp").workloads if w.name.startswith("log, one"))
    assert (log.workload.sync, log.workload.arrival.iodepth) == (Sync.DSYNC, 1)
    assert [(g.good, g.most) for g in log.goals] == [(1e6, 5e6)]
    assert isinstance(own_profile("vdi").workloads[0].workload.order, Zipf)


def test_a_users_own_profile_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "strata" / "profiles" / "general.toml"
    own.parent.mkdir(parents=True)
    own.write_text(ONE)
    assert find_profile("general").title == "Ours"
    assert find_profile(str(own)).name == "general"
    assert find_profile("vdi").title == own_profile("vdi").title
    goals = find_profile("general").workloads[0].goals
    assert [g.words for g in goals] == ["p99 at most 3.00 ms", "at least 100 MiB/s"]


def test_every_problem_is_named() -> None:
    text = ONE.replace("rwmixread", "rwmixreed") + '[[workload]]\nname = "x"\nrw = "write"\nbs = "5"\n'
    text += '[[workload]]\nname = "y"\nrw = "read"\ngoals = [{ figure = "mean", least = 3 }]\n'
    with pytest.raises(UsageError) as e:
        profile_of(text, "ours", "ours.toml")
    assert [p.partition(":")[0] for p in e.value.problems] == ["pages", "x", "y"]
    assert "rwmixreed" in e.value.problems[0]
    assert "takes most" in e.value.problems[2]


def test_the_same_workload_twice_is_refused() -> None:
    twice = ONE + ONE[ONE.index("[[") :].replace('"pages"', '"again"')
    with pytest.raises(UsageError, match="profile") as e:
        profile_of(twice, "ours", "ours.toml")
    assert "pages, again" in e.value.problems[0]


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError) as e:
        find_profile("sql")
    assert "sql-oltp" in e.value.hint
