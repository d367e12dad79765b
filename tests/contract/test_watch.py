"""`strata watch` on this machine: a command from its start to its end, the ring, and looks back into it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.invoked import strata

from strata.app.watch import Watching, observe, told
from strata.app.watch_every import look_back, moment, ring_of, watch_on
from strata.errors import UsageError
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import Observed, Slice, WatchedLayer

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "state"))


def _watching(where: Path, *command: str, seconds: float | None = None) -> Watching:
    return Watching(where=str(where), command=command, seconds=seconds, trace=False)


def test_a_command_is_watched_to_its_end_and_its_status_is_told(tmp_path: Path) -> None:
    seen, traces = observe(_watching(tmp_path, sys.executable, "-c", "import time; time.sleep(1); raise SystemExit(3)"))
    assert traces is None
    assert seen.ran is not None
    assert seen.ran.status == 3
    assert 0.9 < seen.ran.seconds < 20
    assert "--no-trace" in " ".join(seen.absent)


def test_a_command_that_does_no_io_is_not_blamed_on_a_layer(tmp_path: Path) -> None:
    seen, _ = observe(_watching(tmp_path, sys.executable, "-c", "import time; time.sleep(3)"))
    verdict = told(seen).verdict
    assert (
        verdict.kind in (VerdictKind.IDLE, VerdictKind.INCONCLUSIVE, VerdictKind.APPLICATION)
        or verdict.confidence < 0.8
    )


def children() -> set[str]:
    """Of this process, also those that nobody has reaped."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(stat.parent.name)
    return found


def test_a_command_that_will_not_end_is_killed_and_reaped(tmp_path: Path) -> None:
    before = children()
    began = time.monotonic()
    seen, _ = observe(_watching(tmp_path, sys.executable, "-c", STUBBORN, seconds=1.0))
    assert seen.ran is not None
    assert seen.ran.status == -9
    assert time.monotonic() - began < 30
    # What other tests of this process have started is not looked at.
    assert children() <= before


def test_a_command_is_run_without_a_shell(tmp_path: Path) -> None:
    hers = tmp_path / "made"
    observe(_watching(tmp_path, "echo", f"; touch {hers}"))
    assert not hers.exists()


def test_what_cannot_be_started_or_found_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot start"):
        observe(_watching(tmp_path, str(tmp_path / "no-such-program")))
    with pytest.raises(UsageError, match="nothing to watch"):
        observe(_watching(tmp_path / "no-such-place"))


def test_an_observation_is_saved_and_judged_again_alike(tmp_path: Path) -> None:
    seen, _ = observe(_watching(tmp_path, seconds=2.5))
    again = Observed.model_validate_json(seen.model_dump_json())
    assert told(again) == told(seen)


def test_the_command_prints_one_document(tmp_path: Path) -> None:
    done = strata("watch", str(tmp_path), "--for", "2500ms", "--no-trace", "--json")
    found = json.loads(done.stdout)
    assert found["schema"] == "strata.watch/1"
    assert done.returncode == (4 if found["verdict"]["kind"] == "inconclusive" else 0)
    assert found["confirm"]["command"].startswith("strata diagnose ")


@pytest.mark.ci
def test_a_clock_that_is_set_while_a_watching_goes_on_bends_no_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a machine that was suspended: its monotonic clock stood still meanwhile."""
    real, later_ns = time.time_ns, 0
    monkeypatch.setattr(time, "time_ns", lambda: real() + later_ns)
    found: list[Slice] = []

    def told(one: Slice) -> None:
        nonlocal later_ns
        found.append(one)
        later_ns = 3600 * 10**9

    watch_on(str(tmp_path), 5.0, told, 10.5)
    first, second = found
    assert second.at_unix_ns - first.at_unix_ns > 3600 * 10**9
    for one in found:
        assert one.seconds < 30
        assert any(row.kind == "processors" and row.busy is not None for row in one.layers), one


def test_slices_are_kept_and_found_again(tmp_path: Path) -> None:
    found: list[Slice] = []
    watch_on(str(tmp_path), 5.0, found.append, 10.5)
    assert len(found) == 2
    back = look_back(str(tmp_path), time.strftime("%H:%M"))
    assert [s.at_unix_ns for s in back.slices] == [s.at_unix_ns for s in found]
    assert back.gaps == ()
    last = back.slices[-1]
    assert [(x.name, x.endpoint) for x in last.stack][-1] == ("file system", f"file:{tmp_path}")
    assert last.explanation and last.next_step and last.proof == f"strata diagnose {tmp_path}"
    assert all(one.kind for one in last.issuers)
    with pytest.raises(UsageError, match="nothing was kept at that time"):
        look_back(str(tmp_path), "2001-01-01T00:00")


def _slice(at_s: float, iops: float, request_ns: float) -> Slice:
    row = WatchedLayer(layer="disk", what="sda", kind="device", iops=iops, in_flight=1.0, request_ns=request_ns)
    return Slice(
        at_unix_ns=round(at_s * 1e9), seconds=10.0, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM,
        confidence=0.6, headline="", layers=(row,),
    )  # fmt: skip


def test_a_slice_that_names_no_layer_is_found_again_too(tmp_path: Path) -> None:
    """What has no value is left out of a line, so it must not be missed there."""
    one = _slice(time.time(), 1.0, 1e6).model_copy(update={"layer": None, "kind": VerdictKind.INCONCLUSIVE})
    ring_of(str(tmp_path)).append(one.at_unix_ns, one.model_dump_json(exclude_none=True))
    assert look_back(str(tmp_path), time.strftime("%H:%M:%S")).slices == (one,)


def test_a_change_of_level_is_an_event_with_its_layer_and_gaps_are_told(tmp_path: Path) -> None:
    ring, at = ring_of(str(tmp_path)), time.time() - 250
    for n in range(20):
        slow = n >= 10
        one = _slice(
            at + 10 * n + (60 if n >= 15 else 0), 400 + n % 3 if slow else 1600 + n % 3, 2.5e6 if slow else 6e5
        )
        ring.append(one.at_unix_ns, one.model_dump_json())
    back = look_back(str(tmp_path), time.strftime("%H:%M:%S", time.localtime(at + 100)), 400)
    first = back.events[0]
    assert (first.layer, first.what) == ("disk", "sda")
    assert abs(first.at_unix_ns / 1e9 - (at + 100)) < 1
    assert {e.metric for e in back.events} == {"iops", "request_ns"}
    assert len(back.gaps) == 1


def test_a_time_of_day_is_the_last_one_that_was_kept() -> None:
    newest = round(time.mktime((2026, 11, 25, 14, 30, 0, 0, 0, -1)) * 1e9)
    assert moment("14:05", newest) == newest - 25 * 60 * 10**9
    assert moment("23:50", newest) == newest - (14 * 60 + 40) * 60 * 10**9
    assert moment("2026-11-25T14:30", newest) == newest
    for wrong in ("25:00", "noon", "", "99999999999999999999"):
        with pytest.raises(UsageError, match="not a time"):
            moment(wrong, newest)


def test_a_slice_that_names_no_layer_is_found_again(tmp_path: Path) -> None:
    idle = _slice(time.time(), 0.0, 0.0).model_copy(update={"kind": VerdictKind.IDLE, "layer": None})
    ring_of(str(tmp_path)).append(idle.at_unix_ns, idle.model_dump_json(exclude_none=True))
    assert look_back(str(tmp_path), time.strftime("%H:%M:%S")).slices == (idle,)


def test_lines_of_another_version_are_left_out(tmp_path: Path) -> None:
    ring = ring_of(str(tmp_path))
    now = time.time_ns()
    ring.append(now, "{}")
    with pytest.raises(UsageError, match="nothing was kept at that time"):
        look_back(str(tmp_path), time.strftime("%H:%M:%S"))
