"""What a lab is made of, without making one: the ledger, the truths, the templates."""

from __future__ import annotations

import os
import string
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from strata.cli.lab_door import resizing
from strata.errors import InconclusiveError, RunFailed, UsageError
from strata.model.stack import Layer
from strata_lab import inject, shipped, sizes, stacks, where
from strata_lab.bound import Bound
from strata_lab.client import CellMeasured
from strata_lab.inject.busy_server import bind
from strata_lab.lab import Lab
from strata_lab.ledger import Ledger, names
from strata_lab.prove import _settle, put_in
from strata_lab.status import lab_state
from strata_lab.truth import How, InjectionSeverity, Signal

CAUSES = shipped.injections()
RISES, FALLS, STAYS, ABOVE = How.RISES, How.FALLS, How.STAYS, How.ABOVE


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("STRATA_LAB_DIR", str(tmp_path / "labs"))
    found = Ledger("one")
    found.create({"token": "t", "index": 0})
    return found


def test_a_line_torn_by_a_kill_hides_none_of_the_others(ledger: Ledger) -> None:
    ledger.append({"undo": "mount", "path": "/a"})
    with ledger.path.open("ab") as f:
        f.write(b'{"undo": "mount", "pa')
    assert ledger.undos() == [{"undo": "mount", "path": "/a"}]
    assert ledger.head["token"] == "t"


def test_what_was_made_last_is_undone_first_and_a_proven_namespace_only_as_proven(ledger: Ledger) -> None:
    ledger.append({"undo": "netns", "name": "a"})
    ledger.append({"undo": "netns", "name": "a", "inode": 7})
    ledger.append({"undo": "netns", "name": "b"})
    ledger.append({"undo": "mount", "path": "/m"})
    assert ledger.undos() == [
        {"undo": "mount", "path": "/m"},
        {"undo": "netns", "name": "b"},
        {"undo": "netns", "name": "a", "inode": 7},
    ]


def test_a_name_is_given_once_and_a_forgotten_lab_is_gone(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="a lab with that name exists"):
        Ledger("one").create({})
    assert names() == ("one",)
    ledger.forget()
    assert names() == ()
    with pytest.raises(UsageError, match="there is no lab"):
        ledger.lines()


@pytest.mark.parametrize("name", ["", "Lab", "a-b", "1a", "../up", "a" * 13, "a b"])
def test_names_that_a_namespace_could_not_carry_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a lab"):
        where.checked(name)


@pytest.mark.parametrize("cause", CAUSES)
def test_every_injection_says_the_whole_truth(cause: str) -> None:
    truth = inject.injection(cause)
    for severity in InjectionSeverity:
        (row,) = tomllib.loads(truth.toml(cause, severity, truth.value[severity]))["truth"]
        assert row["cause"] == cause
        assert row["class"] in {"medium", "wire", "server", "client", "data", "neighbour"}
        assert row["impact_at_least"] > 1
        assert row["mechanism"]
    assert truth.signals, "without a signature it could be anything"
    assert truth.must, "a diagnosis has to say something"
    assert not (set(truth.must) | set(truth.partly)) & set(truth.never)
    assert not set(truth.must) & set(truth.partly)
    assert truth.never, "a truth that excludes nothing convicts nobody"
    assert (
        truth.impact[InjectionSeverity.MILD]
        <= truth.impact[InjectionSeverity.MARKED]
        <= truth.impact[InjectionSeverity.SEVERE]
    )
    values = [truth.value[s] for s in InjectionSeverity]
    assert values in (sorted(values), sorted(values, reverse=True)), "severities go one way"
    # The stack that shows it has the options that it needs.
    assert set(truth.options) <= set(stacks.builder(truth.stack).OPTIONS)


@pytest.mark.parametrize("cause", CAUSES)
def test_between_and_beyond_the_severities_lie_values_that_can_be_put_in(cause: str) -> None:
    truth = inject.injection(cause)
    for place, severity in zip((0.0, 0.5, 1.0), InjectionSeverity, strict=True):
        assert truth.at(place) == pytest.approx(truth.value[severity])
    values = [truth.at(i / 20 - 0.25) for i in range(31)]
    assert values in (sorted(values), sorted(values, reverse=True)), "they go one way"
    for value in values:
        assert inject.parse(f"{cause}={value}").value(truth) == value


@pytest.mark.parametrize(
    ("signal", "healthy", "injected", "holds"),
    [
        (Signal("x", RISES, 2), 10, 20, True),
        (Signal("x", RISES, 2), 10, 19, False),
        (Signal("x", RISES, 2), 0, 0, False),
        (Signal("x", FALLS, 2), 10, 5, True),
        (Signal("x", FALLS, 2), 10, 6, False),
        (Signal("x", FALLS, 2), 0, 0, False),
        (Signal("x", STAYS, 1.5), 10, 14, True),
        (Signal("x", STAYS, 1.5), 10, 16, False),
        (Signal("x", STAYS, 1.5), 10, 6, False),
        (Signal("x", ABOVE, 3), None, 4, True),
        (Signal("x", ABOVE, 3), None, 3, False),
        (Signal("x", ABOVE, 3), None, None, False),
        (Signal("x", STAYS, 9), None, 5, False),
    ],
)
def test_a_signal_that_was_not_seen_does_not_hold(
    signal: Signal, healthy: float | None, injected: float | None, holds: bool
) -> None:
    assert signal.holds(healthy, injected) is holds


@pytest.mark.parametrize(
    ("cause", "healthy", "injected", "said"),
    [
        ("slow-medium", [1300, 1600], [300, 320], "5.00x slower"),
        # The less disturbed of each: a twin that was held up once is none, and neither is such an injected cell.
        ("slow-medium", [1600, 1300], [100, 1300], "too little effect"),
        ("slow-medium", [1600, 1600], [320, 320], "lacks its signature"),
        # Four servers at 9.6 ms leave 415 IOPS: a twin below 2.4 times that is looked at again, up to five times.
        ("slow-medium", [800, 900, 1600], [320, 300, 300], "5.00x slower"),
        ("slow-medium", [900, 800, 700, 900, 900], [400] * 5, "the effect is inconclusive, the machine is busy"),
        # More than can be: it is not in force, whatever the twin did.
        ("slow-medium", [900, 800, 700, 900, 900], [800] * 5, "too little effect"),
        ("cache-fit", [5000, 5000], [5000, 20000], "4.00x too good"),
        ("cache-fit", [5000, 5000], [5000, 5000], "too little effect"),
        # It is warm again after one look.
        ("cold-cache", [9000, 9000], [900], "lacks its signature"),
    ],
)
def test_an_injection_that_changes_nothing_or_lacks_its_signature_is_an_error(
    cause: str, healthy: list[float], injected: list[float], said: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(ledger)
    lab.data, lab.stack = ledger.dir, inject.injection(cause).stack
    lab.fact("options", **inject.injection(cause).options)
    signed = "signature" not in said
    before = {"disk.service_us": 800.0, "disk.read_hit_share": 0.0}
    after = {"disk.service_us": 3200.0 if cause == "slow-medium" else 20.0, "disk.read_hit_share": 1.0}
    results = [CellMeasured(n, 1, 1, 1, 1, before) for n in healthy]
    results += [CellMeasured(n, 1, 1, 1, 1, after if signed else before) for n in injected]
    monkeypatch.setattr("strata_lab.prove.measure", lambda *_: results.pop(0))
    monkeypatch.setattr("strata_lab.inject.cold_cache.test_file", lambda _: None)
    monkeypatch.setattr("strata_lab.inject.cold_cache.read_once", lambda _: None)
    monkeypatch.setattr(inject.InjectionAsked, "apply", lambda *_: None)
    monkeypatch.setattr("strata_lab.prove.layer_of", lambda *_: Layer(name="file system", endpoint="null:"))
    heard: list[str] = []
    if "x " in said:
        put_in(lab, inject.parse(cause), heard.append)
        assert said in heard[0]
        assert f'cause = "{cause}"' in (lab.data / "truth.toml").read_text()
    else:
        with pytest.raises(InconclusiveError if "busy" in said else RunFailed, match=said):
            put_in(lab, inject.parse(cause), heard.append)
        assert not (lab.data / "truth.toml").exists()
    assert results == []


def test_a_tail_that_was_long_before_tells_nothing_of_a_stall() -> None:
    truth = inject.injection("stalls")
    seen = Bound(tail=True, least=5, most=truth.ceiling(250) if truth.ceiling else 0)
    twins = {ms: CellMeasured(1000, 1, 1, ms * 1e6, 1, {}) for ms in (50, 71, 270)}
    assert [seen.lets(m) for m in twins.values()] == [True, False, False]
    # A p99 of 71 ms with stalls of 250 ms: they are not there.
    assert [seen.holds(m) for m in twins.values()] == [False, False, True]


@pytest.mark.parametrize("causes", [("server-threads", "request-cost"), ("request-cost", "server-threads")])
def test_an_injection_that_would_undo_another_one_is_refused(causes: tuple[str, str], ledger: Ledger) -> None:
    lab = Lab(ledger)
    lab.fact("injection", cause=causes[0], word=causes[0])
    with pytest.raises(RunFailed, match=f"{causes[0]} is in it and sets the same options"):
        inject.parse(causes[1]).apply(lab)
    assert len(lab.facts("injection")) == 1


@pytest.mark.parametrize("value", ["1e6", "1500000", "0.2"])
def test_a_cost_of_a_request_that_the_server_could_not_read_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="is not a value in µs"):
        inject.parse(f"request-cost={value}")


def test_a_program_and_its_threads_are_bound_and_one_that_has_ended_is_none() -> None:
    words = "import threading, time; [threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(3)]"
    words += "; print('', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline()
            here = {max(os.sched_getaffinity(0))}
            bind(child.pid, here)
            tasks = [int(t.name) for t in Path(f"/proc/{child.pid}/task").iterdir()]
            assert len(tasks) == 4 and all(os.sched_getaffinity(t) == here for t in tasks)
        finally:
            child.kill()
    bind(child.pid, here)


def test_a_twin_that_has_another_reason_to_be_slow_is_not_a_busy_machine(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(ledger)
    lab.data, lab.stack = ledger.dir, "local"
    lab.fact("options", model="c=1 svc=5000")
    cells = [CellMeasured(n, 1, 1, 1, 1, {}) for n in (190, 200, 100, 100)]
    monkeypatch.setattr("strata_lab.prove.measure", lambda *_: cells.pop(0))
    monkeypatch.setattr(inject.InjectionAsked, "apply", lambda *_: None)
    with pytest.raises(RunFailed, match="too little effect"):
        put_in(lab, inject.parse("slow-medium"))
    assert cells == []


def test_words_of_the_user_become_an_injection_or_are_refused_with_what_there_is() -> None:
    assert str(inject.parse("slow-medium")) == "slow-medium:marked"
    assert inject.parse("slow-medium:mild").severity is InjectionSeverity.MILD
    own = inject.parse("slow-medium=7000")
    assert (str(own), own.severity, own.value(own.injection)) == ("slow-medium=7000", None, 7000)
    for word in ("slow-medium=much", "slow-medium=-1", "slow-medium=inf"):
        with pytest.raises(UsageError, match="not a value in µs of service time"):
            inject.parse(word)
    with pytest.raises(UsageError, match="no injection 'nothing'") as refused:
        inject.parse("nothing")
    assert "slow-medium" in refused.value.hint
    with pytest.raises(UsageError, match="unknown severity 'huge'"):
        inject.parse("slow-medium:huge")


@pytest.mark.parametrize("name", shipped.stacks())
def test_every_stack_has_a_template_and_variants_of_its_own_options(name: str) -> None:
    text = (resources.files("strata_lab.stacks") / name.replace("-", "_") / "stack.toml").read_text()
    assert "nodes" in string.Template(text).get_identifiers()
    for options in stacks.variants(name):
        assert set(stacks.chosen(name, options)) == set(stacks.builder(name).OPTIONS)
    with pytest.raises(UsageError, match="has no option wheels"):
        stacks.chosen(name, {"wheels": "4"})


def test_the_guide_has_every_injection_with_its_values_and_every_stack() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "lab.md").read_text()
    assert [name for name in shipped.stacks() if f"| **{name}** |" not in guide] == []
    for cause in CAUSES:
        truth = inject.injection(cause)
        row = next((line for line in guide.splitlines() if line.startswith(f"| **{cause}** |")), "")
        values = " · ".join(f"{truth.value[s]:g}" for s in InjectionSeverity)
        assert truth.mechanism in row, cause
        assert f"| {values} {truth.unit} |" in row, cause


def test_a_lab_of_an_earlier_version_is_told_with_what_it_wrote_down(ledger: Ledger) -> None:
    for fact in ({"cause": "wire-loss", "severity": "mild"}, {"word": "slow-medium=7000", "cause": "slow-medium"}, {}):
        ledger.append({"fact": "injection", **fact})
    assert lab_state(Lab(ledger)).injections == ("wire-loss", "slow-medium=7000", "not written down")


def test_only_the_lab_s_own_test_file_is_dated(ledger: Ledger, tmp_path: Path) -> None:
    """What stands in its place is neither waited for nor followed nor written to, and the proof stands."""
    pipe, file, link = tmp_path / "pipe", tmp_path / "file", tmp_path / "link"
    os.mkfifo(pipe)
    file.write_bytes(b"x" * 8192)
    link.symlink_to(file)
    before = file.stat().st_mtime_ns
    for path in (pipe, tmp_path / "gone", link, file, tmp_path):
        ledger.append({"fact": "volume", "file": str(path)})
        _settle(Lab(ledger))
    assert file.stat().st_mtime_ns == before


@pytest.mark.usefixtures("ledger")
def test_the_lab_of_a_stack_file_says_how_it_makes_so_many(tmp_path: Path) -> None:
    path = tmp_path / "stack.toml"
    path.write_text("")
    assert resizing(str(path), "queues") is None, "no lab has written it"
    other = Ledger("two")
    other.create({"token": "t", "index": 1, "stack": "vm-disks"})
    lab = Lab(other)
    lab.fact("stack", path=str(path))
    lab.fact("controller", disk=0, uri="nbd://h/x", queue=2, queues=3)
    found = resizing(str(path), "queues")
    assert found is not None and (found.now, found.most) == (3, 16)
    assert found.command.endswith("strata lab resize queues '{}' --name two")
    assert resizing(str(path), "cards") is None and resizing("/mnt/volume", "queues") is None
    with pytest.raises(UsageError, match="vm-disks has none"):
        sizes.resize(lab, "cards", 2)
    with pytest.raises(UsageError, match="it can have 1 to 16"):
        sizes.resize(lab, "queues", 17)
    sizes.resize(lab, "queues", 3)
