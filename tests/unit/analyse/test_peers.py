"""Hosts against their peers: who is named, where, how often by mistake. Fleets are drawn, so the truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from strata.analyse.peers import _LINES, _TAILS, Host, judge, line
from strata.model.peers import FALSE_ALARM, LEAST
from strata.model.step_figures import RoundTimes

BELOW = {"disk": None, "file system": "disk", "share": "file system"}
WRITES = {"r1": False, "r8": False, "w1": True, "w8": True}
COSTS = {"disk": 1e5, "file system": 1.1e5, "share": 3e5}
Noise = Callable[[np.random.Generator], float]


def fleet(
    rng: np.random.Generator,
    hosts: int = 12,
    slow: dict[tuple[str, str, bool], float] | None = None,
    rounds: int = 6,
    lasting: Callable[[int], bool] = lambda _: True,
    between: float = 0.01,
    within: float = 0.02,
) -> list[Host]:
    """``slow``: by host, layer and whether of writes, times as long. A slow layer is slow for all above it."""
    made = []
    for number in range(hosts):
        name = f"h{number}"
        found = []
        own = {layer: between * rng.standard_normal() for layer in BELOW}
        for n in range(rounds):
            for key, written in WRITES.items():
                factor = 1.0
                for layer in BELOW:
                    here = (slow or {}).get((name, layer, written), 1.0)
                    factor *= here if lasting(n) else 1.0
                    noise = own[layer] + within * rng.standard_normal()
                    found.append(((layer, key), n, COSTS[layer] * factor * math.exp(noise)))
        made.append(Host(name, RoundTimes(*zip(*found, strict=True))))
    return made


def disturbed(host: Host, number: int, times: float) -> Host:
    """All that it measured in one round took so many times as long."""
    cells, rounds, mean_ns = host.times
    slower = [ns * times if n == number else ns for n, ns in zip(rounds, mean_ns, strict=True)]
    return Host(host.name, RoundTimes(cells, rounds, slower))


def named(hosts: list[Host]) -> list[tuple[str, str, str]]:
    return [(d.host, d.layer, d.kind) for d in judge(hosts, BELOW, WRITES).differs]


def test_one_disturbed_round_of_six_hides_no_slow_host_and_makes_none() -> None:
    for seed in range(20):
        made = fleet(np.random.default_rng([9, seed]), slow={("h3", "disk", False): 1.5})
        made[3], made[5] = disturbed(made[3], 2, 2.5), disturbed(made[5], 4, 2.5)
        assert named(made) == [("h3", "disk", "reads")]


@pytest.mark.parametrize(("layer", "written"), [("disk", False), ("file system", True), ("share", False)])
def test_a_slow_layer_is_named_where_it_is_and_nowhere_else(layer: str, written: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        assert named(fleet(rng, slow={("h3", layer, written): 1.6})) == [
            ("h3", layer, "writes" if written else "reads")
        ]


def test_several_of_a_fleet_in_different_layers() -> None:
    slow = {("h1", "disk", False): 1.8, ("h1", "disk", True): 1.8, ("h9", "share", True): 2.5}
    assert sorted(named(fleet(np.random.default_rng(2), hosts=24, slow=slow))) == [
        ("h1", "disk", "reads"), ("h1", "disk", "writes"), ("h9", "share", "writes"),
    ]  # fmt: skip


def test_healthy_fleets_are_left_alone() -> None:
    rng = np.random.default_rng(3)
    wrong = sum(bool(named(fleet(rng, hosts=8))) for _ in range(300))
    assert wrong <= 8, "more than 1 % with 99 % certainty"


def test_a_stall_of_one_round_and_a_small_difference_are_no_slow_host() -> None:
    rng = np.random.default_rng(4)
    assert not named(fleet(rng, slow={("h3", "disk", False): 30.0}, lasting=lambda n: n == 2))
    quiet = fleet(rng, slow={("h3", "disk", False): 1.06}, between=0.001, within=0.001)
    assert not named(quiet)
    assert judge(quiet, BELOW, WRITES).views[0].ratios["h3"] == pytest.approx(1.06, rel=0.01)


def test_a_host_that_is_noisy_by_itself_is_not_accused() -> None:
    rng = np.random.default_rng(5)
    hosts = fleet(rng, hosts=11, between=0.002, within=0.002)
    noisy = fleet(rng, hosts=1, within=0.8)[0]
    wrong = [one for one in named([*hosts, Host("noisy", noisy.times)]) if one[0] == "noisy"]
    assert len(wrong) <= 1


def test_few_hosts_are_shown_and_not_judged() -> None:
    found = judge(fleet(np.random.default_rng(6), hosts=LEAST - 1), BELOW, WRITES)
    assert found.line is None and not found.differs and len(found.views) == 6


def test_cells_that_not_all_have_are_left_out() -> None:
    hosts = fleet(np.random.default_rng(7))
    left = [row for row in zip(*hosts[0].times, strict=True) if row[0][1] != "w8" and row[0][0] != "share"]
    short = Host("h0", RoundTimes(*zip(*left, strict=True)))
    views = judge([short, *hosts[1:]], BELOW, WRITES).views
    assert [(v.layer, v.kind, v.cells) for v in views] == [
        ("disk", "reads", ("r1", "r8")), ("disk", "writes", ("w1",)),
        ("file system", "reads", ("r1", "r8")), ("file system", "writes", ("w1",)),
    ]  # fmt: skip


def test_in_which_order_a_host_measured_its_cells_changes_nothing() -> None:
    slow = {("h3", "share", False): 1.5}
    whole = judge(hosts := fleet(np.random.default_rng(8), slow=slow), BELOW, WRITES)
    rng = np.random.default_rng(9)
    for number in (1, 3, 6):
        rows = list(zip(*hosts[number].times, strict=True))
        mixed = [rows[i] for i in rng.permutation(len(rows))]
        hosts[number] = Host(hosts[number].name, RoundTimes(*zip(*mixed, strict=True)))
    assert judge(hosts, BELOW, WRITES) == whole and whole.differs


def test_the_lines_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(8)
    for hosts, scores in _LINES[::4]:
        drawn = rng.standard_t(5, (max(2000, 400_000 // hosts), hosts))
        away = drawn - np.median(drawn, axis=1, keepdims=True)
        largest = (away / (1.4826 * np.median(np.abs(away), axis=1))[:, None]).max(axis=1)
        share = float((largest > scores[0]).mean())
        spread = 3 * math.sqrt(0.01 * 0.99 / len(largest))
        assert share == pytest.approx(_TAILS[0], abs=spread + 1e-3), hosts


def test_more_views_and_fewer_hosts_raise_the_line() -> None:
    assert line(12, 1) < line(12, 4) < line(12, 20)
    assert line(24, 6) < line(12, 6) < line(5, 6)
    assert line(13, 6) == max(line(12, 6), line(14, 6))
    assert line(5000, 6) == _LINES[-1][1][_TAILS.index(0.001)], "1 % over six views is 0.17 % for each"
    assert pytest.approx(FALSE_ALARM) == _TAILS[0]
