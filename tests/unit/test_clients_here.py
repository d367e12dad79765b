"""The load of a node ends with whoever asked for it: nobody else would end it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strata.engine.clients import client_words
from strata.engine.job import Timing
from strata.engine.port import Request
from strata.fleet.clients_here import end_here, measure_here
from strata.fleet.node import Duties
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words


def silent(duties: Duties) -> None:
    """The scheduler answers no heartbeat any more."""
    duties._alive_s = 0.0


@pytest.mark.parametrize(
    "ends",
    [silent, lambda duties: duties.cancel("key"), Duties.leave, lambda _: end_here("run")],
    ids=["the scheduler is gone", "who asked is gone", "the node is ended", "it is asked to"],
)
def test_a_load_ends_with_whoever_asked_for_it(tmp_path: Path, ends: Callable[[Duties], None]) -> None:
    request = Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload_from_words("randread", clients=2, rate_iops=200, iodepth=2),
        segments=(Segment(start=0, length=1 << 26, target=0),),
        timing=Timing(ramp_s=0.0, runtime_s=60.0, interval_s=0.1),
    )
    words = [{**one, "node": "n", "offset_ns": 0, "bound_ns": 0} for one in client_words(request)]
    duties, begun = Duties("n", tmp_path), threading.Event()
    duties.speak(lambda *_: begun.set())
    duties.answered()

    def end() -> None:
        assert begun.wait(20)
        ends(duties)

    ending = threading.Thread(target=end)
    ending.start()
    began = time.monotonic()
    with duties.call("plan", "key"):
        told = measure_here({"run": "run", "clients": words, "kept_as": None, "tell_every_s": 0.1})
    ending.join()
    assert time.monotonic() - began < 25
    assert [one["result"]["stop_reason"] for one in told["clients"]] == ["stopped", "stopped"]
