"""A verification for the terminal: what was done, each fault with its place, and what follows."""

from __future__ import annotations

import os
from functools import partial

from strata import units
from strata.model.verify import Fault, FaultKind, Integrity, Verified, VerifyResult
from strata.report import figures
from strata.report.text_layout import Paint, field, wrap

_LABEL = 12
_STYLE = {
    Integrity.SOUND: "green",
    Integrity.FAULTS: "red",
    Integrity.INCONCLUSIVE: "yellow",
    Integrity.FAILED: "red",
    Integrity.STOPPED: "yellow",
}
_FOREIGN = {
    "zeroes": "zeroes",
    "unstamped": "data without a stamp",
    "other_run": "data of another run of strata verify",
}


def verify_text(verified: VerifyResult, width: int, color: bool = False) -> str:
    """The whole of it in at most ``width`` columns, without a trailing newline."""
    paint, r = Paint(color), verified.result

    line = partial(field, width=width, column=_LABEL)
    size = (
        f"{units.size(r.blocks * r.block_bytes)} in {figures.plural(r.blocks, 'block')} of {units.size(r.block_bytes)}"
    )
    out = paint.lines(wrap(f"{verified.endpoint} · {size}", width), "bold")
    if r.journal is not None:
        j = r.journal
        said = f"{figures.plural(j.acknowledged, 'block')} acknowledged, {units.count(j.in_flight)} in flight"
        cut = "; its last record was being written when it stopped" if j.cut_short else ""
        out += line("journal", f"{said}, {units.count(j.unflushed)} not flushed{cut}")
    if r.mode != "check":
        out += line("written", f"{_done(r.writes, r.write_bytes)}, {_flushed(r)}")
    out += line("read back", f"{_done(r.reads, r.read_bytes)}; the last pass {_coverage(r)}")
    if r.in_flight.new or r.in_flight.old or r.in_flight.torn:
        out += line("in flight", _in_flight(r))
    out += line("faults", _counts(r))
    for fault in r.faults:
        told = f"byte {fault.offset}: {_fault(fault, r)}"
        out += paint.lines(field(fault.kind.value, told, width, indent=4, column=_LABEL - 2), "red")
    if (more := r.faulty - len(r.faults)) > 0:
        out += wrap(f"and {units.count(more)} more (--list {r.faulty} shows all)", width, "    ")
    for failed in r.write_failures:
        first = f"the first at byte {failed.first_offset}"
        out += line("refused", f"{figures.plural(failed.count, 'write')}: {_errno(failed.errno)}, {first}")
    if r.flush_failures:
        out += line("refused", f"to flush, {figures.plural(r.flush_failures, 'time')}")
    for stuck in r.stuck[:20]:
        at = "" if stuck.offset is None else f" at byte {stuck.offset}"
        out += line("stuck", f"{stuck.op}{at}, unanswered for {units.duration(stuck.age_ns)}")
    title = f"{verified.verdict.value}: {verified.why}"
    return "\n".join(out + [paint(x, _STYLE[verified.verdict], "bold") for x in line("verdict", title)])


def _done(count: int, size: int) -> str:
    return f"{figures.plural(count, 'I/O')}, {units.size(size)}"


def _flushed(r: Verified) -> str:
    if r.engine.get("dsync"):
        return "each write-through"
    if r.flush_unsupported:
        return "the target has no flush"
    return f"flushed {figures.plural(r.flushes, 'time')}"


def _coverage(r: Verified) -> str:
    all_of_them = r.verified_blocks == r.blocks
    return "covered every block" if all_of_them else f"covered {units.count(r.verified_blocks)} of them"


def _in_flight(r: Verified) -> str:
    f = r.in_flight
    torn = f"{units.count(f.torn)} torn"
    if f.torn_offsets:
        torn += f" (byte {', '.join(map(str, f.torn_offsets[:3]))}{', …' if f.torn > 3 else ''})"
    return f"of the writes with unknown outcome {units.count(f.new)} are present, {units.count(f.old)} are not, {torn}"


def _counts(r: Verified) -> str:
    named = [f"{units.count(n)} {kind.value}" for kind in FaultKind if (n := r.counts.get(kind, 0))]
    if r.faults_beyond:
        named.append(f"{units.count(r.faults_beyond)} more faults")
    return ", ".join(named) or "none"


def _errno(number: int) -> str:
    return f"errno {number} ({os.strerror(number).lower()})" if number else "done in part"


def _fault(f: Fault, r: Verified) -> str:
    sectors = r.block_bytes // r.sector_bytes

    def part(count: int | None) -> str:
        return "" if count in (None, sectors) else f" in {count} of {sectors} sectors"

    match f.kind:
        case FaultKind.LOST:
            return f"holds write {f.found} of this block; write {f.expected} was acknowledged and is missing"
        case FaultKind.STALE:
            return (
                f"returned write {f.found} of this block in one read and write {f.seen} in another, with no write in "
                "between"
            )
        case FaultKind.TORN:
            old = "the previous content" if f.oldest == 0 else f"write {f.oldest}"
            return f"parts of write {f.newest} and of {old}; {f.old_sectors} of {sectors} sectors are old"
        case FaultKind.MISDIRECTED:
            return f"holds write {f.generation} of the block at byte {f.origin}{part(f.sectors)}"
        case FaultKind.CORRUPTED:
            differ = "1 byte differs" if f.bytes == 1 else f"{f.bytes} bytes differ"
            return f"{differ} from what was written, the first at byte {f.first}"
        case FaultKind.FOREIGN:
            what = _FOREIGN.get(f.what or "") or f"write {f.generation} of this block, which was never started"
            return f"{what}{part(f.sectors)} where a write was acknowledged"
        case FaultKind.UNREADABLE:
            return f"cannot be read: {_errno(f.errno) if f.errno else 'the read ended early'}"
