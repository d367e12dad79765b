"""Single requests of a saved trace: as many, as large and as long as the compiled reader says of the same file."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from strata import _core
from strata.app import watch_traces
from strata.model.trace import TraceFigures
from strata.probes.trace.requests import requests_of

DEV = 7 << 20 | 4
QUEUE, ISSUE, COMPLETE = 0, 5, 7


def _saved(path: Path, count: int) -> None:
    """Requests of 8 KiB, four in flight, each for 2.4 ms, brought in by two threads in turn."""
    events = []
    for n in range(count):
        at = n * 600_000
        who, sector = 100 + n % 2, 16 * n
        events += [(at, sector, QUEUE, who, 1 + n % 2), (at + 500, sector, ISSUE, who, 1 + n % 2)]
        events.append((at + 500 + 2_400_000, sector, COMPLETE, 0, 0))
    events.sort()
    target = {"name": "loop4", "dev": DEV, "entrance": None, "sectors": None, "by_bio": False, "role": "device"}
    head = {
        "targets": [target], "names": ["", "app", "other"], "window_ns": [0, count * 600_000 + 3_000_000],
        "whole": True,
        "events": len(events), "recording": None,
    }  # fmt: skip
    text = json.dumps(head).encode()
    body = b"".join(
        struct.pack("<QQQIIihHBBBB", at, sector, 0, DEV, 16, who, 0, comm, kind, 0, 0, 0)
        for at, sector, kind, who, comm in events
    )
    path.write_bytes(b"strata-trace 1\n" + struct.pack("<I", len(text)) + text + body)


def saved_trace(path: Path, count: int = 400) -> TraceFigures:
    """A saved trace and its figures, as a recording gives them."""
    _saved(path, count)
    return TraceFigures.model_validate(json.loads(_core.trace_read(str(path)))["figures"])


def test_an_arrival_has_the_first_requests_who_sent_them_and_completions_in_bins(tmp_path: Path) -> None:
    figures = saved_trace(tmp_path / "saved")
    made = watch_traces._arrival(figures.devices[0], figures, tmp_path / "saved", 0.1, True, True)
    assert made.requests is not None
    assert made.requests.fresh
    assert made.requests.count == 400
    assert made.requests.issued_us[:3] == (0, 600, 1200)
    assert made.requests.took_us[0] == 2400
    assert [(s.pid, s.share) for s in made.sharers] == [(100, 0.5), (101, 0.5)]
    assert made.lengths == ((8192, 400),)
    assert len(made.done) == len(made.flying)
    assert set(made.flying[1:-1]) <= {3, 4}
    assert abs(sum(made.done) - 400) <= 40


def test_of_a_later_trace_the_middle_is_kept(tmp_path: Path) -> None:
    figures = saved_trace(tmp_path / "saved", 2000)
    made = watch_traces._arrival(figures.devices[0], figures, tmp_path / "saved", 7.0, False, True)
    assert made.requests is not None
    assert made.requests.count == watch_traces.REQUESTS_MOST
    assert not made.requests.fresh


def test_both_readers_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    _saved(path, 400)
    mine = requests_of(path, DEV)
    theirs = json.loads(_core.trace_read(str(path)))["figures"]["devices"][0]
    assert mine.issued_ns.size == theirs["read"]["issued"]["ios"] == 400
    assert int(mine.bytes.sum()) == theirs["read"]["issued"]["bytes"]
    assert np.median(mine.took_ns) == 2_400_000
    assert abs(theirs["read"]["service"]["p50_ns"] - 2_400_000) < 24_000
    assert not mine.writes.any()
    assert {(pid, name): n for pid, name, n in mine.who} == {(100, "app"): 200, (101, "other"): 200}


def test_what_was_not_traced_to_its_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    _saved(path, 50)
    content = path.read_bytes()
    head_bytes = struct.unpack("<I", content[15:19])[0]
    head = json.loads(content[19 : 19 + head_bytes])
    kept = head["events"] - 4
    text = json.dumps(head | {"events": kept}).encode()
    path.write_bytes(
        content[:15] + struct.pack("<I", len(text)) + text + content[19 + head_bytes : 19 + head_bytes + kept * 44]
    )
    found = requests_of(path, DEV)
    assert 46 <= found.issued_ns.size < 50
    assert (found.took_ns == 2_400_000).all()
