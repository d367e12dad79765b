"""Data integrity of one endpoint: written, read back, and compared with a journal."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Any, Literal

from strata import units
from strata.app.safety_gate import Target, check_words, opened
from strata.app.signals import stop_on_signals
from strata.app.where import understood
from strata.engine import own_mark, remote_file
from strata.engine.job import local_target
from strata.engine.verify import Journal, VerifyProgress, read_journal, run_verification
from strata.errors import RunFailed, SafetyRefusal, StrataError, UsageError
from strata.model import verify_defaults as usual
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.progress import Phase, Progress
from strata.model.verify import VerifyResult, judge
from strata.model.workload_options import OPTIONS
from strata.plan.words import workload_from_words


class VerifyOptions(Value):
    """How to verify; sizes in bytes, times in ns. ``passes`` None: until ``runtime_ns`` is over.

    ``mode`` run writes and reads; check compares the data with the journal and writes nothing; resume does the
    one and then the other.
    """

    mode: Literal["run", "check", "resume"] = "run"
    size: int | None = None
    bs: int = units.parse_size(usual.BS)
    sector: int | None = None
    iodepth: int = usual.IODEPTH
    threads: int = usual.THREADS
    order: usual.Order = usual.ORDER
    passes: int | None = usual.PASSES
    write_percent: int = usual.WRITE_PERCENT
    runtime_ns: int | None = None
    flush_every: int = usual.FLUSH_EVERY
    journal: str | None = None
    journal_sync: bool = False
    power_loss: bool = False
    atomic: bool = False
    stuck_after_ns: int = usual.STUCK_AFTER_NS
    listed: int = usual.LISTED
    direct: bool = usual.DIRECT
    dsync: bool = usual.DSYNC
    seed: int = usual.SEED
    keep: bool = False
    destructive: str | None = None


def verify_endpoint(uri: str | None, options: VerifyOptions, on_progress: Callable[[Progress], None]) -> VerifyResult:
    """Verify it. Without ``uri`` the endpoint is the journal's.

    A file that does not exist is made (and removed again unless it is kept or there is a journal). SIGINT and SIGTERM
    end it, and what was verified until then is the result. Raises `SafetyRefusal` where it would write to something
    Strata did not create, `RunFailed` when the endpoint or the journal cannot be used, `UsageError` for words that do
    not go together.
    """
    o = options
    asked = {name: getattr(o, name) for name in ("bs", "iodepth", "threads")}
    problems = [
        f"{name}={n} is not in {OPTIONS[name].within}" for name, n in asked.items() if not OPTIONS[name].holds(n)
    ]
    if problems:
        raise UsageError("cannot verify with", ", ".join(problems), "", "see strata verify --help")
    known = None
    if o.mode != "run":
        if o.journal is None:
            raise UsageError(f"cannot {o.mode}", "", "the journal says what was written", "add --journal PATH")
        known = read_journal(o.journal)
    if uri is None and known is None:
        raise UsageError("nothing to verify", "", "", "strata verify file:/mnt/new.dat; see strata verify --help")
    endpoint = Endpoint.parse(understood(uri, "verify") if uri else str(known and known.head["endpoint"]))
    if endpoint.kind is EndpointKind.NULL:
        raise UsageError("cannot verify", endpoint.uri, "it holds no data", "name a file, a device or an export")
    if endpoint.scheme is not None and not endpoint.scheme.verified:
        hint = "verify the file or device on the server, or through a mount: file:/…, block:/dev/…"
        raise UsageError("cannot verify", endpoint.uri, f"verification does not support {endpoint.kind.name}", hint)
    if o.journal is not None and known is None and os.path.lexists(o.journal):
        hint = "use it with --check or --resume, or give another path"
        raise SafetyRefusal("will not overwrite", o.journal, "the file already exists", hint)
    new = not _exists(endpoint)
    if known is not None and new:
        raise RunFailed("cannot verify", endpoint.path or endpoint.uri, "it no longer exists")
    # The same gate as for any other workload that reads or writes.
    rw = "randread" if o.mode == "check" else "randwrite"
    workload = workload_from_words(rw, o.bs, direct=o.direct, seed=o.seed)
    check_words(endpoint, workload, keep=o.keep, destructive=o.destructive)
    keep = o.keep or o.journal is not None
    with opened(
        endpoint, workload, o.size, keep, o.destructive, fill_new=False, patience_ns=o.stuck_after_ns
    ) as target:
        # Of a file of this machine the gate has it, and removes it by that.
        mark = own_mark(endpoint) if keep and new and endpoint.path is None else None
        began_with = target.mark or (_remote_mark(endpoint, o.stuck_after_ns) if o.journal is not None else None)
        if known is not None:
            _check_same_file(endpoint, known, began_with)
        try:
            job = _job(endpoint, o, target, known) | {"mark": began_with}
            with stop_on_signals() as stop:
                told = _Teller(endpoint.uri, on_progress)
                result = run_verification(job, endpoint.uri, told, stop)
                told.over()
        except StrataError:
            # Nothing was begun: what was made for it is of no use to anybody.
            if mark is not None:
                remote_file.remove(endpoint, mark)
            if keep and new:
                target.remove()
            raise
        moved = target.gone()
    verdict, why = judge(result)
    why = "; ".join(filter(None, (why, moved)))
    return VerifyResult(endpoint=endpoint.uri, verdict=verdict, why=why, result=result, stopped_by=stop.signal)


def _exists(endpoint: Endpoint) -> bool:
    """Whether a file is there; of anything else that shows when it is opened."""
    if endpoint.path is not None:
        return os.path.lexists(endpoint.path)
    return endpoint.kind not in remote_file.FILES or remote_file.exists(endpoint)


def _remote_mark(endpoint: Endpoint, patience_ns: int) -> str | None:
    """The uuid of the mark that stands at the start of what is reached over connections; None where there is none."""
    if not endpoint.remote:
        return None
    mark = own_mark(endpoint, patience_ns)
    return None if mark is None else mark.uuid


def _check_same_file(endpoint: Endpoint, journal: Journal, mark: str | None) -> None:
    """Raises `RunFailed` when the journal is that of another file, whose missing blocks no storage has lost.

    A file without any mark is gone through: it may be the storage that lost it.
    """
    then = journal.head.get("mark")
    if then is None or mark in (None, then):
        return
    why = f"the journal is of another file: its mark was {then}, here is {mark}"
    raise RunFailed("cannot verify", endpoint.path or endpoint.uri, why, "name the file that the journal belongs to")


_OF_JOB = {
    "iodepth", "threads", "order", "seed", "mode", "passes", "write_percent", "runtime_ns", "flush_every", "atomic",
    "stuck_after_ns",
}  # fmt: skip
"""The options that the job has under the same name."""


def _job(endpoint: Endpoint, o: VerifyOptions, target: Target, known: Journal | None) -> dict[str, Any]:
    if known is None:
        segment = target.segments[0]
        length = segment.length if o.size is None else min(o.size, segment.length)
        layout = {
            "first_byte": segment.target,
            "blocks": length // o.bs if o.bs > 0 else 0,
            "bs": o.bs,
            "sector": o.sector or min(usual.SECTOR_BYTES, o.bs),
            "run": secrets.randbits(62),
        }
        dsync = o.dsync
    else:
        head = known.head
        layout = {key: head[key] for key in ("first_byte", "blocks", "run")}
        layout |= {"bs": head["block_bytes"], "sector": head["sector_bytes"]}
        dsync = bool(head["durable"])
    return layout | {
        "schema": 1,
        "target": _target(endpoint, o, target, dsync),
        "endpoint": endpoint.uri,
        **o.model_dump(include=_OF_JOB),
        "journal": None if o.journal is None else {"path": o.journal, "sync": o.journal_sync},
        "loss": "power" if o.power_loss else "process",
        "list": o.listed,
        "engine": "auto",
    }


def _target(endpoint: Endpoint, o: VerifyOptions, target: Target, dsync: bool) -> dict[str, Any]:
    if endpoint.remote:
        return {"kind": endpoint.kind.value, "uri": endpoint.uri, "connections": endpoint.connections, "dsync": dsync}
    disk = {**local_target(target.endpoint), "direct": o.direct, "dsync": dsync}
    return disk | ({"allow_write": target.allow_write} if endpoint.kind is EndpointKind.BLOCK else {})


class _Teller:
    """Turns how far it is into events for whoever watches; the rates are those since the last look."""

    def __init__(self, where: str, tell: Callable[[Progress], None]) -> None:
        self._where, self._tell = where, tell
        self._last: VerifyProgress | None = None
        self._pass_began: VerifyProgress | None = None

    def __call__(self, now: VerifyProgress) -> None:
        if self._last is None:
            self._pass_began = now
        elif now.pass_ != self._last.pass_:
            self.over()
            self._pass_began = self._last
        self._tell(self._event(now, self._last, finished=False))
        self._last = now

    def over(self) -> None:
        """The last pass is done."""
        if self._last is not None and self._pass_began is not None:
            self._tell(self._event(self._last, self._pass_began, finished=True))

    def _event(self, now: VerifyProgress, since: VerifyProgress | None, *, finished: bool) -> Progress:
        iops = rate = left = None
        if since is not None and (seconds := (now.elapsed_ns - since.elapsed_ns) / units.NS_PER_S) > 0:
            iops = (now.reads + now.writes - since.reads - since.writes) / seconds
            rate = (now.bytes - since.bytes) / seconds
        if now.planned and 0 < now.done < now.planned:
            left = (now.planned - now.done) * now.elapsed_ns / now.done / units.NS_PER_S
        label = "writing" if now.writing else "reading back"
        return Progress(
            phase=Phase.VERIFY,
            layer=self._where,
            label=f"{label}, {now.faults} faults" if now.faults else label,
            step=now.pass_ + 1,
            steps=now.passes,
            iops=iops,
            bytes_per_second=rate,
            seconds_left=left,
            finished=finished,
        )
