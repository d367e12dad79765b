"""No server holds a command: one that drips, is silent, says nothings or lies about lengths is given up.

Without a bound for the whole of an answer a byte now and then kept a command for ever, SIGTERM included.
"""

from __future__ import annotations

import errno
import json
import resource
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import liars
import pytest
from commands import started
from liars import Script, drips, hangs_up, liar, never_answers, repeats

from strata import _core
from strata.engine import remote_file
from strata.errors import RunFailed
from strata.model.endpoint import Endpoint

PATIENCE_NS = 200_000_000
"""Given to each answer here; a liar goes on forty times as long."""

Ask = Callable[[int, int], object]


def _nbd(port: int, patience_ns: int) -> object:
    return _core.remote_probe(f"nbd://127.0.0.1:{port}/", 1, patience_ns)


def _portmapper(port: int, patience_ns: int) -> object:
    # The port of MOUNT is told, so the first thing that is asked is MOUNT itself: the same calls as the portmapper's.
    return _core.remote_probe(f"nfs://127.0.0.1/export/file?mountport={port}", 1, patience_ns)


def _iscsi(port: int, patience_ns: int) -> object:
    return _core.remote_probe(f"iscsi://127.0.0.1:{port}/iqn.2026-01.t:t/0", 1, patience_ns)


def _smb(port: int, patience_ns: int) -> object:
    return _core.remote_probe(f"smb://u:p@127.0.0.1:{port}/share/file", 1, patience_ns)


ASKS: dict[str, Ask] = {"nbd": _nbd, "nfs": _portmapper, "iscsi": _iscsi, "smb": _smb}
SMB_LONG = struct.pack(">I", (1 << 24) - 1)

LATE: dict[str, tuple[str, Script]] = {
    **{f"{name} never answers": (name, never_answers) for name in ASKS},
    "nbd drips its greeting": ("nbd", repeats(b"N", pause_s=0.05)),
    "nbd drips a reply": (
        "nbd",
        drips(liars.nbd_option(liars.REP_ACK, liars.OPT_STRUCTURED, length=65536), greets=liars.NBD_GREETING, hears=5),
    ),
    "nbd says one nothing after the other": (
        "nbd",
        repeats(liars.nbd_option(2, liars.OPT_STRUCTURED), greets=liars.NBD_GREETING, hears=5),
    ),
    "nfs drips": ("nfs", drips(liars.LONG_FRAGMENT, hears=4)),
    "nfs drips empty fragments": ("nfs", repeats(liars.EMPTY_FRAGMENT, hears=4)),
    "iscsi drips": ("iscsi", drips(liars.pdu(0x23, 0x81, 1 << 20), hears=48)),
    "iscsi never ends its login": ("iscsi", repeats(liars.LOGIN_GOES_ON, hears=48, pause_s=0.05)),
    "iscsi drips keep-alives": ("iscsi", liars.iscsi_after_login(lambda peer: peer.keep(liars.NOTHING_IN))),
    "smb drips": ("smb", drips(SMB_LONG, hears=4)),
    "smb says later and later": ("smb", repeats(liars.LATER, hears=4)),
}


@pytest.mark.parametrize("case", LATE)
def test_a_server_that_is_late_with_the_whole_of_an_answer_is_given_up(case: str) -> None:
    name, script = LATE[case]
    with liar(script) as server, pytest.raises(OSError, match=r"no answer within 200ms") as told:
        ASKS[name](server.port, PATIENCE_NS)
    assert told.value.errno == errno.ETIMEDOUT


def _nbd_nothings(peer: liars.Peer) -> None:
    peer.say(liars.NBD_GREETING)
    peer.hear(5)
    # An answer to INFO of a kind that nobody knows carries nothing.
    while True:
        peer.say(liars.nbd_option(2, liars.OPT_STRUCTURED) * 100)


ENDLESS: dict[str, tuple[str, Script]] = {
    "nbd options": ("nbd", _nbd_nothings),
    "nfs fragments": ("nfs", repeats(liars.EMPTY_FRAGMENT * 1000, hears=4, pause_s=0)),
    "iscsi keep-alives": (
        "iscsi",
        liars.iscsi_after_login(lambda peer: peer.keep(liars.NOTHING_IN * 100, 0)),
    ),
    "iscsi login": ("iscsi", repeats(liars.LOGIN_GOES_ON * 10, hears=48, pause_s=0)),
    "smb interim answers": ("smb", repeats(liars.LATER * 100, hears=4, pause_s=0)),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_nothings_as_fast_as_the_wire_are_bounded_by_their_number(case: str) -> None:
    name, script = ENDLESS[case]
    with liar(script) as server, pytest.raises(OSError, match=r"without end|number of login answers"):
        ASKS[name](server.port, 10**10)


HUGE: dict[str, tuple[str, Script]] = {
    "nbd": (
        "nbd",
        drips(
            liars.nbd_option(liars.REP_ACK, liars.OPT_STRUCTURED, length=0xFFFFFFFF), greets=liars.NBD_GREETING, hears=5
        ),
    ),
    "nfs": ("nfs", drips(struct.pack(">I", 0xFFFFFFFF), hears=4)),
    "iscsi": ("iscsi", drips(liars.pdu(0x23, 0x81, 0xFFFFFF), hears=48)),
}


@pytest.mark.parametrize("case", HUGE)
def test_a_length_beyond_what_is_taken_is_refused_at_once(case: str) -> None:
    name, script = HUGE[case]
    with liar(script) as server, pytest.raises(OSError, match="more than the"):
        ASKS[name](server.port, 10**10)


@pytest.mark.parametrize("name", ASKS)
def test_a_server_that_hangs_up_midway_is_named(name: str) -> None:
    with liar(hangs_up) as server, pytest.raises(OSError, match=r"127\.0\.0\.1"):
        ASKS[name](server.port, 10**10)


def test_a_length_that_is_taken_makes_no_room_before_its_bytes_are_there() -> None:
    with liar(drips(SMB_LONG, hears=4)) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            with pytest.raises(TimeoutError):
                _smb(server.port, PATIENCE_NS // 4)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 12 * 1024


WHERE = {
    "nbd": "nbd://127.0.0.1:{}/",
    "nfs": "nfs://127.0.0.1/export/file?mountport={}",
    "iscsi": "iscsi://127.0.0.1:{}/iqn.2026-01.t:t/0",
    "smb": "smb://u:p@127.0.0.1:{}/share/file",
}
ENDS = {
    "nbd": (signal.SIGTERM, drips(b"NBDMAG")),
    "nfs": (signal.SIGHUP, repeats(liars.EMPTY_FRAGMENT, hears=4)),
    "iscsi": (signal.SIGINT, never_answers),
    "smb": (signal.SIGTERM, drips(SMB_LONG, hears=4)),
}


def _ended(words: list[str], server: liars.Liar, number: signal.Signals) -> tuple[int, float, str]:
    """Its exit code, the seconds from the signal to its end, and what it said."""
    running = started("measure", *words, "--progress", "none")
    try:
        assert server.heard.wait(60), "it never came"
        begun = time.monotonic()
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
        return running.returncode, time.monotonic() - begun, said
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("name", ENDS)
def test_a_signal_ends_a_command_that_waits_for_a_server(name: str) -> None:
    number, script = ENDS[name]
    with liar(script) as server:
        code, took_s, said = _ended([WHERE[name].format(server.port)], server, number)
    assert code == 128 + number, said
    # The patience it would have had is 10 s.
    assert took_s < 5, f"{took_s} s after {number.name}"


def _answers_no_read(peer: liars.Peer) -> None:
    liars.nbd_until_the_load(peer)
    liars.nbd_request(peer)
    peer.mute()


def _only_nothings(peer: liars.Peer) -> None:
    liars.nbd_until_the_load(peer)
    cookie, _, _ = liars.nbd_request(peer)
    peer.keep(liars.chunk_of_nothing(cookie) * 50, 0)


def test_a_signal_ends_a_load_whose_reads_are_never_answered() -> None:
    def script(peer: liars.Peer) -> None:
        liars.nbd_until_the_load(peer)
        peer.heard.clear()
        liars.nbd_request(peer)
        peer.mute()

    with liar(script) as server:
        words = [WHERE["nbd"].format(server.port), "--iodepth", "4", "--runtime", "30s"]
        code, took_s, said = _ended(words, server, signal.SIGTERM)
    assert code == 128 + signal.SIGTERM, said
    # A drain would have been 30 s, the runtime as long.
    assert took_s < 5, f"{took_s} s"


def test_a_signal_ends_a_fill_and_the_file_stays_on_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    mute = threading.Event()
    with liar(liars.nfs_file(mute, 32768)) as server:
        where = f"nfs://127.0.0.1:{server.port}/export/new?mountport={server.port}"
        running = started("measure", where, "--rw", "randwrite", "--size", "2m", "--progress", "none")
        try:
            assert mute.wait(60), "it never filled"
            begun = time.monotonic()
            running.terminate()
            _, said = running.communicate(timeout=60)
            took_s = time.monotonic() - begun
        finally:
            running.kill()
            running.wait()
    assert running.returncode == 128 + signal.SIGTERM, said
    # A fill has no end of its own, its drain would have been 30 s, and taking the file away asks the same server.
    assert took_s < 5, f"{took_s} s"
    assert any(where in path.read_text() for path in tmp_path.rglob("*") if path.is_file()), "strata clean knows it"


def test_a_fill_of_a_server_that_has_stopped_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(remote_file, "PATIENCE_NS", PATIENCE_NS)
    monkeypatch.setattr(remote_file, "SLOWEST_NS_PER_BYTE", 0)
    with liar(liars.nfs_file(threading.Event(), 32768)) as server:
        endpoint = Endpoint.parse(f"nfs://127.0.0.1:{server.port}/export/new?mountport={server.port}")
        mark = remote_file.create(endpoint, 2 << 20)
        with pytest.raises(RunFailed, match="filling it took longer than 200"):
            remote_file.fill(endpoint, mark, 1)


def _job(port: int, **more: object) -> str:
    segments = [{"start": 0, "length": 1 << 24, "target": 0}]
    words = {"rw": "randread", "bs": 4096, "iodepth": 4, "threads": 1, "seed": 1, "segments": segments}
    return json.dumps(
        {
            "schema": 1,
            "target": {"kind": "nbd", "uri": f"nbd://127.0.0.1:{port}/?replies=structured"},
            "workload": words,
            "ramp_ns": 0,
            "runtime_ns": 300_000_000,
            "drain_ns": 100_000_000,
            **more,
        }
    )


def test_a_flood_of_nothings_in_the_load_breaks_the_connection() -> None:
    with liar(_only_nothings) as server:
        done = _core.start(_job(server.port, runtime_ns=20_000_000_000)).wait(15)
    assert done is not None, "the load went on with nothing but nothings"
    assert "messages that carry nothing without end" in done


def test_nothings_now_and_then_do_not_make_a_load_longer() -> None:
    def script(peer: liars.Peer) -> None:
        liars.nbd_until_the_load(peer)
        cookie, _, _ = liars.nbd_request(peer)
        peer.keep(liars.chunk_of_nothing(cookie), 0)

    with liar(script) as server:
        done = _core.start(_job(server.port)).wait(liars.LONGEST_S / 2)
    assert done is not None, "the load has not ended with its time"
