"""A load that runs while a number changes beneath it: how deep it falls, how long, where it then stands, what is lost.

Load and verification are commands of Strata, as a user would run them, so that nothing of what is done here is in their
I/O loops. The number goes to each value that was asked and back to what it was, with the same time before each change
and after the last one. What was acknowledged before and during the changes is read back at the end, by the journal of
the verification.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from strata import units
from strata.app.live import feed_of, measured_now
from strata.app.measure import OneResult
from strata.app.runner import Emit
from strata.app.scale import check_made
from strata.app.scale_points import Maker, run_users, words_of
from strata.app.signals import stop_on_signals
from strata.app.stacks import read_stack
from strata.app.where import is_endpoint
from strata.errors import RunFailed, Stopped, StrataError, UsageError, choices
from strata.host import process, programs, testfile
from strata.model.axis import Axis
from strata.model.elastic import ElasticRun, LoadChange, VerifiedBeside
from strata.model.endpoint import Endpoint
from strata.model.progress import Phase, Progress
from strata.model.scale import ScaleAsk
from strata.model.verify import Integrity, VerifyResult

LEAST_S = 3.0
"""Between two changes: the level of a shorter time is not known."""
RAMP_S, INTERVAL_S, INTERVALS = 1.0, 0.1, 200
"""The load's ramp, and its intervals: so many between two changes, and none shorter."""
LONGEST = "24h"
"""How long load and verification would run if nobody ended them."""
VERIFIED = "64m"
"""How much is verified beside the load, of an endpoint that is larger."""
LOOK_S = 0.1
END_S = 60.0
"""How long a command may take to end once it is asked to."""
CLEAN_S = 10.0
"""How long one whose result nobody wants may take to clean up."""
CHECK_S = 3600.0
"""How long all blocks may take to be read back."""
SPREAD_BYTES = 1 << 16
"""Of what the command says that tells where the data is."""
SPREAD = "for example: --spread 'show-usage'; each line of its output is NAME SIZE"


@dataclass(frozen=True)
class LoadWords:
    """The load and what is asked beside it. ``words``: of the workload, as `strata measure` takes them. ``layer``: of a
    stack file, None: the last. ``verify``: an endpoint on the same storage that is written to and read meanwhile.
    ``spread``: a command that tells where the data is. ``destructive``: what may be written to, by its name."""

    words: tuple[str, ...] = ()
    layer: str | None = None
    verify: str | None = None
    spread: str | None = None
    destructive: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Made:
    """One change, by this machine's CLOCK_MONOTONIC."""

    old: int
    new: int
    from_ns: int
    to_ns: int
    data_before: dict[str, int]
    data_after: dict[str, int]


def measure_elastic(where: str, ask: ScaleAsk, load: LoadWords, emit: Emit, maker: Maker | None = None) -> ElasticRun:
    """The load runs while ``maker`` makes each value of ``ask`` and what there was before.

    Raises `UsageError`, `RunFailed` where a command, the load or the verification fails, and `Stopped`. The number is
    put back whatever happens.
    """
    endpoint, maker = _aim(where, load.layer), _checked(ask, where, maker)
    values = [v for v in ask.values if v != maker.now]
    if not values:
        why = f"there are {maker.now} now"
        raise UsageError(f"cannot change {ask.axis.value} to", str(maker.now), why, f"--points {maker.now + 1}")
    pause_s = ask.budget_s / (len(values) + 2)
    if pause_s < LEAST_S:
        why = f"the load would run for {pause_s:.2g} s before each change, and its level needs {LEAST_S:g} s"
        least = units.duration(LEAST_S * (len(values) + 2) * units.NS_PER_S)
        raise UsageError("cannot use --budget", units.duration(ask.budget_s * units.NS_PER_S), why, f"{least} or more")
    spread = None if load.spread is None else words_of(load.spread, "--spread", SPREAD)
    beside = None if load.verify is None else Endpoint.parse(load.verify).model_copy(update={"netns": endpoint.netns})
    with (
        stop_on_signals() as stop, tempfile.TemporaryDirectory(prefix="strata-elastic-") as folder, ExitStack() as held
    ):  # fmt: skip
        emit(Progress(phase=Phase.PREPARE, message="waiting for the load to begin"))
        checking = None
        if beside is not None:
            checking = held.enter_context(_verification(beside, Path(folder) / "journal", load))
        running = held.enter_context(Beside(endpoint, *_measure(endpoint, load, pause_s)))
        while not running.measures():
            _pause(LOOK_S, stop, running)
        try:
            pause = partial(_pause, pause_s, stop, running)
            made = tuple(_changes((*values, maker.now), maker, emit, spread, pause))
        except StrataError as e:
            left = maker.put_back()
            if stop():
                # Ctrl-C at the terminal ends the user's command as well, which then failed.
                raise _stopped(left) from e
            e.problems = (*e.problems, *(() if left is None else (left,)))
            raise
        except BaseException:
            maker.put_back()
            raise
        result = OneResult.model_validate_json(running.ended())
        verified = None if checking is None or beside is None else _verified(checking, beside, folder)
    return _judged(endpoint.uri, ask.axis, result, made, verified)


def _changes(
    values: Sequence[int], maker: Maker, emit: Emit, spread: Sequence[str] | None, pause: Callable[[], None]
) -> Iterator[_Made]:
    """One after the other, with the load's own time before each and after the last."""
    for value in values:
        old = maker.at or maker.now
        _say(emit, f"the load runs with {maker.axis.value} {old}")
        pause()
        held = _spread(spread)
        _say(emit, f"setting {maker.axis.value} to {value}")
        from_ns = time.monotonic_ns()
        maker.make(value)
        to_ns = time.monotonic_ns()
        yield _Made(old, value, from_ns, to_ns, held, _spread(spread))
    _say(emit, f"the load runs with {maker.axis.value} {maker.now}")
    pause()


def _stopped(left: str | None = None) -> Stopped:
    said = filter(None, ("the rate under load is not stored", left))
    return Stopped("; ".join(said), hint="start again")


def _pause(seconds: float, stop: Callable[[], bool], running: Beside) -> None:
    """The load runs. Raises `Stopped` where somebody asked to stop, and `RunFailed` where the load is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if stop():
            raise _stopped()
        running.check()
        time.sleep(LOOK_S)


def _say(emit: Emit, text: str) -> None:
    emit(Progress(phase=Phase.MEASURE, label=text))
    emit(Progress(phase=Phase.MEASURE, label=text, finished=True))


def check_axis(axis: Axis) -> None:
    """Raises `UsageError` for an axis that no command changes."""
    if not axis.commanded:
        made = ", ".join(a.value for a in Axis if a.commanded)
        why = "it is an option of the load, which does not change while it runs"
        raise UsageError("cannot use --under-load with", f"--over {axis.value}", why, f"use it for {made}")


def _checked(ask: ScaleAsk, where: str, maker: Maker | None) -> Maker:
    """Raises `UsageError` for an axis of the load's own, and where nobody changes the number."""
    check_axis(ask.axis)
    check_made(ask, (where,), maker, None)
    assert maker is not None, "an axis that a command makes"
    return maker


def _aim(where: str, layer: str | None) -> Endpoint:
    """What the load drives. Raises `UsageError`."""
    if is_endpoint(where):
        if layer is not None:
            raise UsageError("cannot use --layer at", where, "it is one endpoint", "name a stack file")
        return Endpoint.parse(where)
    if not where.endswith(".toml"):
        why = "it is neither an endpoint nor a stack file"
        raise UsageError("cannot load", where, why, f"file:{Path(where).absolute() / 'new.dat'}")
    stack = read_stack(Path(where))
    names = [one.name for one in stack.layers]
    if layer is not None and layer not in names:
        raise UsageError("there is no layer", repr(layer), f"in {where}", choices(layer, names))
    chosen = stack.layers[-1] if layer is None else stack.layer(layer)
    if stack.scheduler is not None:
        why = "its layers are driven from other machines"
        raise UsageError("cannot change under load at", where, why, f"name the layer's endpoint: {chosen.endpoint}")
    return stack.endpoint_of(chosen)


class Beside:
    """A command of Strata that runs beside us where the endpoint's node is, with what it prints. It ends with us."""

    def __init__(self, endpoint: Endpoint, *words: str) -> None:
        line = programs.in_netns(endpoint.netns, programs.python("strata", *words, "--json", "--progress", "none"))
        secret = {} if endpoint.password is None else {"STRATA_SMB_PASSWORD": endpoint.password}
        self._where, self._held = endpoint.uri, ExitStack()
        self._out = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed in __exit__
        self._said = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the same
        try:
            # A session of its own: Ctrl-C at the terminal is for us, and we end it.
            self._process = process.begin(
                line, secret, stdout=self._out, stderr=self._said, start_new_session=True,
                preexec_fn=process.dies_with_us(),
            )  # fmt: skip
        except OSError as e:
            self._held.close()
            raise RunFailed("cannot start", line[0], e.strerror or str(e)) from e

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *_: object) -> None:
        with self._held:
            if self._process.poll() is None:
                # It removes the file that it made; killed it would leave it behind.
                self._process.send_signal(signal.SIGINT)
                with suppress(process.TookTooLong):
                    self._process.wait(CLEAN_S)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()

    def measures(self) -> bool:
        """Whether an interval of its load was told."""
        for head in measured_now():
            if head.pid == self._process.pid and (feed := feed_of(head.run)) is not None:
                found = feed.look()
                return found is not None and found.now is not None and found.now.iops is not None
        return False

    def check(self) -> None:
        """Raises `RunFailed` where it is over: nobody asked it to end."""
        if self._process.poll() is not None:
            raise RunFailed("the load ended before its time at", self._where, self._why())

    def ended(self, *, asked: bool = True, within_s: float = END_S) -> bytes:
        """What it printed, once it is over; it is ``asked`` to end first. Raises `RunFailed` where that is nothing."""
        if asked and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(within_s)
        except process.TookTooLong as e:
            raise RunFailed("no result of", self._where, f"the command took longer than {within_s:g} s to end") from e
        self._out.seek(0)
        if not (printed := self._out.read()):
            raise RunFailed("no result of", self._where, self._why())
        return printed

    def _why(self) -> str:
        """Its own words."""
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace").strip().splitlines()
        errors = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
        return (errors or said or [f"exit code {self._process.returncode}"])[-1]


def _measure(endpoint: Endpoint, load: LoadWords, pause_s: float) -> list[str]:
    interval_s = max(INTERVAL_S, pause_s / INTERVALS)
    words = ["measure", endpoint.uri, *load.words, "--ramp-time", f"{RAMP_S:g}s", "--interval", f"{interval_s:.3g}s"]
    words += ["--runtime", LONGEST]
    return words + _destructive(endpoint, load)


def _destructive(endpoint: Endpoint, load: LoadWords) -> list[str]:
    """The user's word that this one may be written to, where it is this one that he named."""
    named = next((d for d in load.destructive if d in (endpoint.uri, endpoint.path)), None)
    return [] if named is None else ["--destructive", named]


@contextmanager
def _verification(endpoint: Endpoint, journal: Path, load: LoadWords) -> Iterator[Beside]:
    """Writes and reads with a journal until it is ended. A file of this machine that it made is removed afterwards."""
    new = endpoint.path is not None and not os.path.lexists(endpoint.path)
    words = ["verify", endpoint.uri, "--journal", str(journal), "--runtime", LONGEST, "--bs", "8k", "--iodepth", "2"]
    # Of what is larger a part: all of it is read back at the end. A file that is there has its size.
    words += ["--size", VERIFIED] if new or endpoint.path is None else []
    try:
        with Beside(endpoint, *words, *_destructive(endpoint, load)) as running:
            yield running
    except BaseException as e:
        # What ended it is said first: a file that cannot be removed may be a part of that.
        try:
            _remove(endpoint.path if new else None)
        except StrataError as left:
            if isinstance(e, Stopped):
                raise Stopped(f"{e.what}; {left.headline}", hint=e.hint) from left
            if isinstance(e, StrataError):
                e.problems = (*e.problems, left.headline)
        raise
    _remove(endpoint.path if new else None)


def _remove(path: str | None) -> None:
    """Raises `StrataError` where what is there is not ours any more."""
    if path is not None and os.path.lexists(path):
        with testfile.own(path) as held:
            held.remove()


def _verified(running: Beside, endpoint: Endpoint, folder: str) -> VerifiedBeside:
    """It ends, and everything that it was promised is read back."""
    meanwhile = VerifyResult.model_validate_json(running.ended())
    with Beside(endpoint, "verify", "--check", "--journal", f"{folder}/journal") as check:
        finally_ = VerifyResult.model_validate_json(check.ended(asked=False, within_s=CHECK_S))
    # Ended in the midst of its work it has no verdict of its own, unless it found something.
    faults = Integrity.FAULTS in (meanwhile.verdict, finally_.verdict)
    verdict = finally_ if not faults or finally_.verdict is Integrity.FAULTS else meanwhile
    journal = finally_.result.journal
    return VerifiedBeside(
        endpoint=endpoint.uri, verdict=verdict.verdict, why=verdict.why, writes=meanwhile.result.writes,
        acknowledged=0 if journal is None else journal.acknowledged,
        faulty=meanwhile.result.faulty + finally_.result.faulty,
    )  # fmt: skip


def _spread(words: Sequence[str] | None) -> dict[str, int]:
    """Bytes by name, as the user's command tells them. Raises `RunFailed`."""
    found: dict[str, int] = {}
    for line in () if words is None else run_users(words, "cannot ask where the data is:", SPREAD_BYTES).splitlines():
        name, _, size = line.strip().partition(" ")
        if not name:
            continue
        try:
            found[name] = units.parse_size(size.strip())
        except UsageError as e:
            raise RunFailed("cannot read where the data is:", line.strip()[:80], "it is not NAME SIZE", SPREAD) from e
    return found


def _judged(
    where: str, axis: Axis, result: OneResult, made: Sequence[_Made], verified: VerifiedBeside | None
) -> ElasticRun:
    # Here: the numerical libraries are loaded by what judges a measurement, not by a word that is refused before it.
    from strata.analyse.scaling.elastic import LAST, Moment, elastic

    at = result.result.instants
    if at is None:
        raise RunFailed("cannot judge the load of", where, "its engine does not tell when it began", "--engine native")
    series = [
        Moment((i.start_ns + i.end_ns) / 2e9, (i.read.ops + i.write.ops) / (i.end_ns - i.start_ns) * 1e9)
        for i in result.result.intervals if i.end_ns > i.start_ns
    ]  # fmt: skip
    spans = [((m.from_ns - at.measured_from_ns) / 1e9, (m.to_ns - at.measured_from_ns) / 1e9) for m in made]
    changes = []
    for number, (one, (begun, ended)) in enumerate(zip(made, spans, strict=True)):
        # Before a change stands what the one before it had settled to.
        since = 0.0 if number == 0 else spans[number - 1][1]
        since += 0.0 if number == 0 else (begun - since) * (1 - LAST)
        until = spans[number + 1][0] if number + 1 < len(spans) else series[-1].at + 1
        found = elastic([m for m in series if since <= m.at < until], begun, ended)
        told = {"refused": "too few intervals of the load lie beside it"} if found is None else {
            "before": found.before, "after": found.after, "dip": found.dip, "recovered_s": found.recovered_s,
            "gain": found.gain,
        }  # fmt: skip
        changes.append(
            LoadChange(
                before_value=one.old, value=one.new, began_s=begun, ended_s=ended, data_before=one.data_before,
                data_after=one.data_after, **told,
            )
        )  # fmt: skip
    return ElasticRun(
        where=where, label=result.workload.label, axis=axis, changes=tuple(changes), verified=verified,
        series=tuple((round(m.at, 3), round(m.rate, 1)) for m in series),
    )  # fmt: skip
