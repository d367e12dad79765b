"""What nodes kept under a measurement's name is taken for its result only where all of it is of one call."""

from __future__ import annotations

from typing import Any

import pytest

from strata.engine.clients import client_words, measure_client
from strata.engine.job import Timing
from strata.engine.port import Request
from strata.fleet.clients import _of_kept
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words


@pytest.fixture(scope="module")
def clients() -> list[dict[str, Any]]:
    """What two nodes keep of one client each."""
    asked = Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload_from_words("randread", clients=2, rate_iops=400, iodepth=4),
        segments=(Segment(start=0, length=1 << 26, target=0),),
        timing=Timing(ramp_s=0.0, runtime_s=0.1, interval_s=0.05),
    )
    return [
        {"client": n, "node": f"n{n}", "offset_ns": 0, "bound_ns": 0, "result": measure_client(words)}
        for n, words in enumerate(client_words(asked))
    ]


def kept(run: str | None, *clients: dict[str, Any]) -> dict[str, Any]:
    return {"clients": list(clients)} | ({} if run is None else {"run": run})


def test_results_of_one_call_are_given_out(clients: list[dict[str, Any]]) -> None:
    one, other = clients
    for run in ("a", None):  # an older node says nothing of the call
        found = _of_kept([kept(run, other), kept(run, one)], 2)
        assert found is not None and [c.node for c in found] == ["n0", "n1"]


def test_results_of_two_calls_are_none_though_they_have_the_same_name(clients: list[dict[str, Any]]) -> None:
    """n1 was away when it was measured anew, and has its own of before on its disk."""
    one, other = clients
    assert _of_kept([kept("a", one), kept("b", other)], 2) is None
    assert _of_kept([kept(None, one), kept("b", other)], 2) is None


def test_half_a_result_and_one_that_is_there_twice_are_none(clients: list[dict[str, Any]]) -> None:
    one, other = clients
    assert _of_kept([kept("a", one)], 2) is None
    assert _of_kept([kept("a", one, other), kept("a", other)], 2) is None
    for harmed in ({**other, "result": {}}, {k: v for k, v in other.items() if k != "node"}, {**other, "client": "x"}):
        assert _of_kept([kept("a", one), kept("a", harmed)], 2) is None
    assert _of_kept([{"run": "a", "clients": "no list"}], 1) is None
    assert _of_kept([{"run": "a"}], 1) is None
