"""Both ends of the path over the rounds of one cell: what passed, what it cost, and where the time went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from strata.analyse.cycles import RoundWork, cycle_costs
from strata.analyse.flows import RoundBytes, flows
from strata.analyse.rounds import CellRounds
from strata.analyse.split import Ends, split
from strata.model import histogram
from strata.model.counters import Counter, Readings, smbd, target
from strata.model.ends import CycleCost, Flow, LatencySplit
from strata.model.percentiles import PERCENTILES, supported
from strata.model.result import CellResult, EngineResult

# The far ends that tell the time of a request: (requests, seconds, the labels of one direction).
_SERVERS: Mapping[str, tuple[Counter, Counter, Callable[[str], dict[str, str]]]] = {
    "target": (target.REQUESTS, target.SECONDS, lambda direction: {"direction": direction}),
    "smbd": (smbd.OPERATIONS, smbd.SECONDS, lambda direction: {"operation": direction, "part": smbd.PROTOCOL}),
}


def flows_of(cell: CellRounds, per_round: Sequence[Readings], carriers: Sequence[str] = ()) -> tuple[Flow, ...]:
    """Bytes at each place for each byte of the application, and requests for each of its I/Os."""
    rounds = [
        RoundBytes(
            read=r.read.bytes / r.seconds if cell.workload.rw.reads else 0.0,
            write=r.write.bytes / r.seconds if cell.workload.rw.carries else 0.0,
            told=told,
            reads=r.read.ops / r.seconds,
            writes=r.write.ops / r.seconds,
        )
        for r, told in _measured(cell, per_round)
    ]
    return flows(rounds, carriers)


def costs_of(cell: CellRounds, per_round: Sequence[Readings]) -> tuple[CycleCost, ...]:
    """Cycles per byte and per I/O of every end whose CPU time was read."""
    made = []
    for r, told in _measured(cell, per_round):
        user, system = r.cpu.get("user_ns"), r.cpu.get("system_ns")
        made.append(
            RoundWork(
                bytes_per_second=r.bytes_per_second,
                iops=r.iops,
                told=told,
                own_user=None if user is None else user / r.measured_ns,
                own_system=None if system is None else system / r.measured_ns,
            )
        )
    return cycle_costs(made)


def splits_of(cell: CellRounds, per_round: Sequence[Readings]) -> tuple[LatencySplit, ...]:
    """client = wire + server, for each direction and each far end that told its times in every round."""
    pairs = list(zip(cell.results, per_round, strict=True))
    made = []
    for server in _SERVERS:
        for direction in ("read", "write"):
            found = [e for one, told in pairs for e in _ends(one, told, server, direction, cell.ios)]
            if found and len(found) == len(pairs) and (told := split(direction, server, found)) is not None:
                made.append(told)
    return tuple(made)


def _ends(one: CellResult, told: Readings, server: str, direction: str, ios: int) -> Iterator[Ends]:
    requests, seconds, labels = _SERVERS[server]
    if one.result is None or one.result.seconds <= 0:
        return
    mine = one.result.read if direction == "read" else one.result.write
    rate = told.total(requests, **labels(direction)) or 0.0
    took = told.total(seconds, **labels(direction)) or 0.0
    if not mine.ops or rate <= 0:
        return
    theirs = None if one.server is None or one.server.source != server else getattr(one.server, direction)
    wanted = supported(PERCENTILES, ios)
    yield Ends(
        client_ns=mine.service_sum_ns / mine.ops,
        server_ns=took / rate * 1e9,
        client_iops=mine.ops / one.result.seconds,
        # A server that is asked at the two ends only counts the ramp too: its rate says nothing of the share.
        server_iops=rate if server == "target" else None,
        client=_percentiles(mine.service_time, wanted),
        server=_percentiles(theirs, wanted),
    )


def _percentiles(payload: str | None, wanted: Sequence[str]) -> dict[str, float]:
    if payload is None or not wanted:
        return {}
    times = histogram.quantiles(payload, [float(p) / 100 for p in wanted])
    return dict(zip(wanted, map(float, times), strict=True))


def _measured(cell: CellRounds, per_round: Sequence[Readings]) -> Iterator[tuple[EngineResult, Readings]]:
    for one, told in zip(cell.results, per_round, strict=True):
        if one.result is not None and one.result.seconds > 0:
            yield one.result, told
