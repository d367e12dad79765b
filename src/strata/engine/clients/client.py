"""What one client does, on whatever machine: check what it may write to, start at the instant, measure, answer."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from strata import units
from strata.engine.native import POLL_S, run_job
from strata.engine.remote import own_mark
from strata.errors import RunFailed, SafetyRefusal
from strata.host import testfile
from strata.host.mark import read_mark_fd
from strata.host.rawcheck import check_raw_read
from strata.model.endpoint import SCHEMES, Endpoint
from strata.model.result import EngineResult, Interval
from strata.model.rw import Rw

LOOK_MOST_S = 0.5
"""How seldom a client looks at its run at least; twice in an interval, and not more often than any run is looked at."""
LEASE_S = 5.0
"""A load that its starter does not look at for so long stops by itself: a client, and one that is driven from afar."""


def measure_client(
    words: Mapping[str, Any],
    hear: Callable[[dict[str, Any]], None] = lambda _: None,
    alive: Callable[[], bool] = lambda: True,
    stop_requested: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Carry out ``words`` (`client_words`), which may hold ``start_at_ns`` of this machine's CLOCK_MONOTONIC. The
    answer is a result as JSON has it; each interval is told to ``hear`` on the way.

    While ``alive`` says so, asked at least twice a second, the engine's lease is renewed. It stops by itself `LEASE_S`
    after the last time, also where Python hangs. Raises what `run_job` raises, `SafetyRefusal` where it would write
    to what does not carry the mark it was told, and `RunFailed` where its process was stopped for longer than its
    lease.
    """
    looked_ns, wanted = time.monotonic_ns(), True
    pauses: list[tuple[int, int]] = []

    def look() -> bool:
        nonlocal looked_ns, wanted
        before_ns, looked_ns = looked_ns, time.monotonic_ns()
        if looked_ns - before_ns > LEASE_S * units.NS_PER_S:
            pauses.append((before_ns, looked_ns))
        wanted = alive()
        return wanted

    job = {**copy.deepcopy(words["job"]), "lease_ns": round(LEASE_S * units.NS_PER_S)}
    if words.get("start_at_ns") is not None:
        job["start_at_ns"] = int(words["start_at_ns"])
    writes = Rw.of(job["workload"]["rw"]).writes
    with ExitStack() as held:
        aims = [job] if "target" in job else job["targets"]
        for aim, mark in zip(aims, words["marks"], strict=True):
            aim["target"] = held.enter_context(_checked(aim["target"], mark, writes=writes))
        result = run_job(
            job,
            lambda interval: hear(_plain(interval)),
            stop_requested,
            with_interval=bool(words.get("stop_with_interval")),
            alive=look,
            poll_s=max(POLL_S, min(LOOK_MOST_S, job["interval_ns"] / units.NS_PER_S / 2)),
        )
    pauses.append((looked_ns, time.monotonic_ns()))
    _check_not_stopped(result, pauses, job["ramp_ns"], wanted=wanted)
    told: dict[str, Any] = json.loads(result.model_dump_json())
    return told


def _check_not_stopped(result: EngineResult, pauses: Sequence[tuple[int, int]], ramp_ns: int, *, wanted: bool) -> None:
    """``pauses``: between which looks; ``wanted``: whether its starter was there at the last one. While the whole
    process is stopped nobody sees the lease lapse either, and the run may come to its end: what it did not do is no
    figure of the target."""
    at = result.instants
    begun_ns, ended_ns = (0, pauses[-1][1]) if at is None else (at.measured_from_ns - ramp_ns, at.measured_to_ns)
    gaps = (after - max(before, begun_ns) for before, after in pauses if before < ended_ns)
    paused_s = max(gaps, default=0) / units.NS_PER_S
    lapsed = result.stop_reason == "lease" and wanted
    if paused_s > LEASE_S or lapsed:
        # The engine itself may have run where its lease lapsed: Python hangs, or waits for who hears it.
        what = "did not run, or hung," if lapsed else "did not run"
        how_long = f"{max(paused_s, LEASE_S):.1f} s"
        hint = "find out what stopped it, then measure again"
        raise RunFailed(f"its process {what} for {how_long} of the measurement", hint=hint)


def _plain(interval: Interval) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(interval.model_dump_json())
    return told


@contextmanager
def _checked(target: Mapping[str, Any], mark: str | None, *, writes: bool) -> Iterator[dict[str, Any]]:
    """The target as it may be driven. A descriptor handed over is what was checked where it was opened; without
    one the file is opened here, by the same gate. A file that is written to has to carry the mark."""
    kind = target["kind"]
    if kind == "file" and target.get("fd") is None:
        path = Path(target["path"])
        with testfile.own(path, lock=False) if writes else testfile.look(path, lock=False) as file:
            _same(None if file.mark is None else file.mark.uuid, mark, str(path), writes=writes)
            yield {**target, "fd": file.fd}
        return
    if kind == "file":
        found = read_mark_fd(target["fd"])
        _same(None if found is None else found.uuid, mark, target["path"], writes=writes)
    elif kind == "block" and target.get("fd") is None:
        if writes:
            why, hint = "it is written to by the process that claimed it alone", "measure reads, or a file"
            raise SafetyRefusal("will not write to", target["path"], why, hint)
        check_raw_read(target["path"])
    elif kind in SCHEMES and mark is not None:
        endpoint = Endpoint.parse(target["uri"]).with_password(target.get("password"))
        endpoint = endpoint.model_copy(update={"netns": target.get("netns")})
        there = own_mark(endpoint)
        _same(None if there is None else there.uuid, mark, target["uri"], writes=writes)
    yield dict(target)


def _same(found: str | None, mark: str | None, where: str, *, writes: bool) -> None:
    if writes and (mark is None or found != mark):
        why = f"it carries the mark {found}, not {mark}" if found else "it does not carry the mark that it began with"
        raise SafetyRefusal("will not write to", where, why, "find out what else writes to it")
