"""What whoever asks does with the results of many clients: read, summed, judged, and the intervals while they run.

``benches/fleet/merging.py [--clients 100 1000 10000]``. One real result of five intervals stands for all: what is
measured is the work of one process, without nodes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from strata.engine import Timing, engine_of
from strata.engine.clients.collector import ClientCollector
from strata.engine.port import Request
from strata.model.clients import clients_of, pooled
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import ClientResult, EngineResult, Interval
from strata.plan.words import workload_from_words


def one_result(intervals: int) -> EngineResult:
    """Of the null endpoint at a low rate, with intervals as long as the run allows."""
    request = Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload_from_words("randread", rate_iops=1000.0, iodepth=4),
        segments=(Segment(start=0, length=1 << 30, target=0),),
        timing=Timing(ramp_s=0.0, runtime_s=0.5, interval_s=0.5 / intervals),
    )
    return engine_of("native").run(request)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the processor time it takes."""
    began = time.process_time()
    made = work()
    return made, time.process_time() - began


def row(clients: int, text: str) -> dict[str, str]:
    """All steps for so many."""
    read, read_s = timed(lambda: [EngineResult.model_validate_json(text) for _ in range(clients)])
    results = [ClientResult(client=n, node=f"node-{n}", result=r) for n, r in enumerate(read)]
    whole, sum_s = timed(lambda: pooled(results))
    assert isinstance(whole, EngineResult)
    _, judge_s = timed(lambda: clients_of(whole))
    told = json.loads(read[0].intervals[0].model_dump_json())
    collector = ClientCollector({n: f"node-{n}" for n in range(clients)})

    def live() -> None:
        for n in range(clients):
            collector.add(n, Interval.model_validate(told), 1000)
            collector.rows()

    _, live_s = timed(live)
    dumped, dump_s = timed(whole.model_dump_json)
    return {
        "clients": str(clients),
        "results read": f"{read_s:.2f} s",
        "summed": f"{sum_s:.2f} s",
        "table of each, fairness, who differs": f"{judge_s:.2f} s",
        "one interval of all, live": f"{live_s:.3f} s",
        "written as JSON": f"{dump_s:.2f} s, {len(dumped) / 1e6:.1f} MB",
        "memory of the process, most": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB",
    }


def main() -> int:
    """The table on stdout."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--clients", type=int, nargs="+", default=[100, 1000, 10_000])
    asked.add_argument("--intervals", type=int, default=5)
    given = asked.parse_args()
    text = one_result(given.intervals).model_dump_json()
    rows = [row(clients, text) for clients in given.clients]
    print(f"one result: {len(text) / 1000:.1f} kB, {given.intervals} intervals; processor time\n")
    print(f"| | {' | '.join(r['clients'] for r in rows)} |\n|---|{'---|' * len(rows)}")
    for name in list(rows[0])[1:]:
        print(f"| {name} | {' | '.join(r[name] for r in rows)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
