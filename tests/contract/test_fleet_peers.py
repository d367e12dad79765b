"""``strata fleet``: the same run on eight hosts, processes of this machine, one of them with a slow share."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import strata, target
from fleet_peers import cluster

NAMES = [f"n{number}" for number in range(8)]
STACK = """
[stack]
name = "served"

[[layer]]
name = "file system"
endpoint = "file:{data}"

[[layer]]
name = "share"
on = ["file system"]
endpoint = "{uri}"
"""


@pytest.mark.slow
@pytest.mark.alone
def test_the_slow_one_of_eight_hosts_is_named_and_one_that_cannot_measure_is_said(tmp_path: Path) -> None:
    with ExitStack() as held:
        for name in NAMES:
            data = tmp_path / f"{name}.dat"
            made = strata(
                "measure", f"file:{data}", "--size", "16m", "--keep", "--runtime", "50ms", "--progress", "none"
            )
            assert made.returncode == 0, made.stderr
            shape = ("--service-threads", 4, "--service-time", "10ms" if name == "n4" else "1ms")
            uri, _ = held.enter_context(target("--file", data, *shape, "--socket", tmp_path / f"{name}.s"))
            (tmp_path / f"{name}.toml").write_text(STACK.format(data=data, uri=uri))
        running = held.enter_context(cluster(tmp_path, [*NAMES, "none"]))
        words = (tmp_path / "{node}.toml", "--nodes", running.address, "--rounds", 3, "--runtime", "200ms")
        done = strata("fleet", "diagnose", *words, "--ramp-time", "20ms", "--read-only", "--json")
        assert done.returncode == 1 and done.stdout, done.stderr
        found = json.loads(done.stdout)
        assert [one["name"] for one in found["lost"]] == ["none"] and "none.toml" in found["lost"][0]["why"]
        assert sorted(host["name"] for host in found["hosts"]) == NAMES
        assert {(one["host"], one["layer"], one["kind"]) for one in found["differs"]} == {("n4", "share", "reads")}
        # On the host's own disk first.
        assert all(list(running.state_of(name).glob("fleet-*.db")) for name in NAMES)
    runs = [host["run"] for host in found["hosts"]]
    again = strata("fleet", "compare", *runs, "--markdown", tmp_path / "fleet.md")
    assert again.returncode == 0, again.stderr
    assert "n4: share, reads, beyond the time of file system: " in " ".join(again.stdout.split())
    assert "n4" in (tmp_path / "fleet.md").read_text()
    few = strata("fleet", "compare", *runs[:3])
    assert few.returncode == 4 and "too few" in few.stdout
    twice = strata("fleet", "compare", runs[0], runs[0])
    assert twice.returncode == 2 and "with itself" in twice.stderr
