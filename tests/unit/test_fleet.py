"""What of a cluster needs no other process: addresses, calls, bounds, and what is loaded for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invoked import strata

from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.fleet import Call, call, calling, clocks, doors, settings
from strata.fleet.node import MESSAGE_MOST, Duties, here
from strata.fleet.scheduler import heartbeat_s, lost_after_s
from strata.model.nodes import ClockOffset
from strata.probes.links import Link


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tls://scheduler", "tls://scheduler:8786"),
        ("tcp://127.0.0.1:0", "tcp://127.0.0.1:0"),
        ("tls://[fe80::1]:99/", "tls://[fe80::1]:99"),
    ],
)
def test_addresses_are_read(text: str, address: str) -> None:
    assert doors.parsed(text).address == address


@given(st.text(max_size=60))
def test_whatever_is_no_address_is_refused(text: str) -> None:
    try:
        door = doors.parsed(text)
    except UsageError:
        return
    assert doors.parsed(door.address) == door


@pytest.mark.parametrize(
    ("host", "fine"),
    [("127.0.0.1", True), ("localhost", True), ("[::1]", True), ("10.0.0.1", False), ("0.0.0.0", False), ("h", False)],
)
def test_a_plain_address_is_for_the_loopback(host: str, fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    door, encrypted = doors.parsed(f"tcp://{host}:1"), doors.parsed(f"tls://{host}:1")
    assert doors.admitted(encrypted, "will not") is encrypted
    if fine:
        assert doors.admitted(door, "will not") is door
    else:
        with pytest.raises(SafetyRefusal, match="without TLS"):
            doors.admitted(door, "will not")
        monkeypatch.setattr(doors, "isolated", lambda: True)
        assert doors.admitted(door, "will not") is door


V4 = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
NONE6 = f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 00000001 00000000 00200200 lo\n"


@pytest.mark.parametrize(
    ("four", "six", "out"),
    [
        (V4 + "wire 0007D50A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n", NONE6, False),
        (V4 + "wire 00000000 0107D50A 0003 0 0 0 00000000 0 0 0\n", NONE6, True),
        (V4, f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003 wire\n", True),
        (V4, None, False),
        (None, NONE6, True),
    ],
)
def test_a_default_route_is_a_way_out(four: str | None, six: str | None, out: bool, tmp_path: Path) -> None:
    for name, text in (("route", four), ("ipv6_route", six)):
        if text is not None:
            (tmp_path / name).write_text(text)
    assert doors._ways_out(tmp_path) is out


def test_only_interfaces_to_this_machine_make_a_namespace_a_place_of_its_own() -> None:
    def of(kind: str, loopback: bool = False) -> Link:
        return Link("x", kind, loopback, carrier=True, part=False)

    lo = of("", loopback=True)
    assert doors._inward([lo, of("veth"), of("bridge"), of("ifb")])
    for outward in ("", "vlan", "macvlan", "ipvlan", "tun", "wireguard", "vxlan"):
        assert not doors._inward([lo, of("veth"), of(outward)]), outward
    assert not doors._inward(None)


def test_errors_come_back_as_they_were() -> None:
    def through(error: Exception) -> object:
        return call.outcome(call.refused(error))  # type: ignore[arg-type]

    for kind in (UsageError, RunFailed, SafetyRefusal):
        with pytest.raises(kind) as raised:
            through(kind("what", "where", "why", "hint", ("one", "two")))
        error = raised.value
        assert (error.what, error.where, error.why, error.hint, error.problems) == (
            "what", "where", "why", "hint", ("one", "two")
        )  # fmt: skip


def test_arguments_have_a_bound_and_must_be_values() -> None:
    with pytest.raises(RunFailed, match="more than the limit of 16 MiB"):
        call.packed(Call.of(len, bytes(17 << 20)))
    made = Call.of(divmod, 7, 2)
    assert call.outcome(call.carried_out(call.packed(made))) == (3, 1)
    with pytest.raises(RunFailed, match=r"there\.is\.none"):
        call.outcome(call.carried_out(call.packed(Call("there.is.none:x"))))


def test_a_plan_is_carried_out_once_also_after_a_new_start(tmp_path: Path) -> None:
    Duties("n", tmp_path).begin("a" * 32)
    with pytest.raises(RunFailed, match="has carried it out already"):
        Duties("n", tmp_path).begin("a" * 32)
    Duties("n", tmp_path).begin("b" * 32)


def test_messages_are_small_values(tmp_path: Path) -> None:
    sent = []
    duties = Duties("n", tmp_path)
    duties.speak(lambda topic, message: sent.append(message))
    with duties.call("plan", "key"):
        state = here()
        assert state.tell({"a": [1, 2.5, None, "x"]})
        for wrong in ({"a": object()}, {"a": float("nan")}, {1: {2}}):
            with pytest.raises(TypeError):
                state.tell(wrong)
        with pytest.raises(ValueError, match="a message may have"):
            state.tell({"a": "x" * MESSAGE_MOST})
        assert not state.cancelled()
        duties.cancel("other")
        assert not state.cancelled()
        duties.leave()
        assert state.cancelled()
        assert not state.scheduler_alive()
        assert not state.tell({"a": 1})
    assert sent == [{"plan": "plan", "node": "n", "message": {"a": [1, 2.5, None, "x"]}}]
    with pytest.raises(RunFailed, match="nothing is being carried out"):
        here()


@given(
    offset=st.integers(-(10**15), 10**15),
    trips=st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=20),
)
def test_the_bound_of_a_clock_holds_whatever_the_ways_take(offset: int, trips: list[tuple[int, int]]) -> None:
    best: ClockOffset | None = None
    at = 10**12
    for there, back in trips:
        best = clocks.least(best, at, at + there + offset, at + there + back)
        at += there + back + 1000
    assert best is not None
    assert best.round_trip_ns == min(a + b for a, b in trips)
    assert abs(best.offset_ns - offset) <= best.bound_ns
    assert best.there(5) == 5 + best.offset_ns


@pytest.mark.parametrize("nodes", [1, 10, 100, 300, 450, 1000, 3000, 10_000])
def test_three_heartbeats_fit_into_the_time_after_which_a_node_is_lost(nodes: int, tmp_path: Path) -> None:
    every_s, lost_s = heartbeat_s(nodes), lost_after_s(nodes)
    assert every_s >= 1.0
    assert 3 * every_s <= lost_s
    assert (lost_s == settings.TTL_S) == (nodes <= 450)
    # Up to 3,000 nodes a scheduler hears the same number of heartbeats.
    assert nodes / every_s <= 150 or nodes > 3000
    # A node gives its scheduler up after two that are not answered, and before it is given up itself.
    duties = Duties("n", tmp_path)
    duties.answered(every_s)
    assert 2 * every_s < duties._alive_s < lost_s


LOADED = """
import sys
from strata.cli.main import app
{more}
print([m for m in ("distributed", "dask", "cryptography", "tornado") if m in sys.modules])
"""


@pytest.mark.parametrize("more", ["pass", "import strata.fleet, strata.fleet.node, strata.app.nodes, strata.api"])
def test_who_uses_no_nodes_does_not_load_their_libraries(more: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED.format(more=more)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_the_libraries_it_is_said_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None if name == "distributed" else object())
    for words in (
        ("serve",),
        ("list", "tcp://127.0.0.1:1"),
        ("trust", "--dir", tmp_path / "t"),
        ("join", "tcp://127.0.0.1:1"),
    ):
        done = strata("node", *words)
        assert done.returncode == 1
        assert "cannot use nodes: not installed: distributed\nhint: pip install 'strata[nodes]'" in done.stderr


def test_a_scheduler_file_is_read_with_care(tmp_path: Path) -> None:
    file = tmp_path / "f"
    for content in ("", "[]", "{}", '{"address": 5}', '{"address": "tcp://10.0.0.1:1"}'):
        file.write_text(content)
        done = strata("node", "join", "--scheduler-file", file, "--name", "n", "--wait", "0s")
        assert done.returncode == (5 if "10.0.0.1" in content else 2), (content, done.stderr)
    assert strata("node", "join").returncode == 2
    assert strata("node", "join", "tcp://127.0.0.1:1", "--scheduler-file", file).returncode == 2


async def gone(*answers: Callable[[], Awaitable[None]]) -> tuple[str | None, int]:
    """Why a scheduler is said to be gone that answers so, one question after the other and then always; None: it is
    not said. And how often it was asked."""
    asked = 0

    async def check_idle() -> None:
        nonlocal asked
        answer = answers[min(asked, len(answers) - 1)]
        asked += 1
        await answer()

    client = SimpleNamespace(scheduler=SimpleNamespace(check_idle=check_idle))
    try:
        return await asyncio.wait_for(calling._scheduler_gone(client), 4.0), asked
    except TimeoutError:
        return None, asked


async def at_once() -> None:
    """A scheduler that is there."""


async def never() -> None:
    """One that stands still: its connection stays open."""
    await asyncio.Event().wait()


async def stopped_meanwhile() -> None:
    """Whoever asks does not run for a while, and so reads no answer in time."""
    time.sleep(1.0)
    await never()


async def closed() -> None:
    raise OSError("the connection is closed")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "TTL_S", 0.4)
    monkeypatch.setattr(calling, "_WATCH_EVERY_S", 0.3)


@pytest.mark.usefixtures("patience")
def test_a_question_without_an_answer_is_asked_again_where_the_asking_process_was_itself_stopped() -> None:
    why, asked = asyncio.run(gone(stopped_meanwhile, at_once))
    assert why is None and asked > 2, "answered at the second attempt, and watched from then on"
    why, asked = asyncio.run(gone(stopped_meanwhile, never))
    assert why == "the scheduler did not answer for 0.4 s" and asked == 2, "one that never answers is gone"


@pytest.mark.usefixtures("patience")
def test_a_scheduler_that_does_not_answer_in_time_or_has_closed_is_gone() -> None:
    assert asyncio.run(gone(at_once, never)) == ("the scheduler did not answer for 0.4 s", 2)
    assert asyncio.run(gone(closed)) == ("the scheduler is gone", 1)
