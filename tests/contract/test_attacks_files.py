"""Another file takes the test file's name between its check and its use: every byte of it stays, and it is said.

The names are swapped between two steps, by a hook in the second one; one test races for real. What is written goes to
the file that was checked, through every path: fill, engine, fio, verification, server of our own, removal.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from absent import absent
from loops import checksum
from others import as_another, directory_of_another, ended
from tiers import rest_in_ci

import strata.app.driver
import strata.app.measure
import strata.app.place
import strata.app.safety_gate
import strata.app.verify
from strata.app.measure import OneResult, measure_endpoint
from strata.app.place import Place
from strata.app.safety_gate import opened
from strata.app.verify import VerifyOptions, verify_endpoint
from strata.engine import Timing, build_job, run_job
from strata.errors import RunFailed, SafetyRefusal, StrataError
from strata.host import registry, testfile
from strata.model.endpoint import Endpoint
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload

MIB = 1 << 20
SIZE = 4 * MIB
QUICK = Timing(ramp_s=0.0, runtime_s=0.3, interval_s=0.05)
WRITES = Workload(rw=Rw.RANDWRITE, bs=4096, direct=False, arrival=ClosedLoop(iodepth=4))


class Scene:
    """``path`` is where the test file is made; ``victim`` is somebody's file, of the same size."""

    def __init__(self, folder: Path) -> None:
        self.path, self.victim, self.aside = folder / "strata.dat", folder / "thesis", folder / "aside"
        self.victim.write_bytes(os.urandom(SIZE))
        self.before = checksum(self.victim)
        self.swapped = 0

    def link(self) -> None:
        """The test file is put aside, and its name is a link to the victim."""
        self.path.rename(self.aside)
        self.path.symlink_to(self.victim)
        self.swapped += 1

    def rename_over(self) -> None:
        """By accident: the victim is renamed over the test file."""
        self.victim = self.victim.rename(self.path)
        self.swapped += 1

    def before_the_step(self, monkeypatch: pytest.MonkeyPatch, step: str, swap: Callable[[], None]) -> None:
        """``swap`` comes right before the step ``module.function``, once."""
        module, _, name = step.rpartition(".")
        owner = {
            m.__name__: m for m in (strata.app.measure, strata.app.safety_gate, strata.app.place, strata.app.driver)
        }.get(f"strata.app.{module}", strata.app.verify)
        real = getattr(owner, name)

        def hooked(*words: Any, **named: Any) -> Any:
            if not self.swapped:
                swap()
            return real(*words, **named)

        monkeypatch.setattr(owner, name, hooked)

    def unharmed(self) -> None:
        assert self.swapped
        assert checksum(self.victim) == self.before


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def measured(path: Path, *, engine: str = "native", workload: Workload = WRITES) -> OneResult:
    return measure_endpoint(
        [f"file:{path}"], workload, QUICK, size=SIZE, keep=False, destructive=None,
        engine=engine,
    )  # fmt: skip


@pytest.mark.parametrize("step", ["safety_gate.fill", "measure.measure_generator", "driver.prepare_cell"])
@pytest.mark.parametrize("swap", rest_in_ci([Scene.link, Scene.rename_over], every_day=1), ids=["link", "accident"])
def test_a_new_file_swapped_before_a_step_of_measure(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, step: str, swap: Callable[[Scene], None]
) -> None:
    scene.before_the_step(monkeypatch, step, lambda: swap(scene))
    done = measured(scene.path)
    scene.unharmed()
    assert done.result.write.ops
    assert str(scene.path) in (done.moved or "")
    # The file that was measured is gone, also from where it was put aside, and nothing else is.
    assert not scene.aside.exists()
    assert os.path.lexists(scene.path)
    assert registry.entries() == ()


def test_fio_is_given_the_file_that_was_checked(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("fio") is None:
        absent("fio is not installed")
    scene.before_the_step(monkeypatch, "driver.prepare_cell", scene.link)
    assert measured(scene.path, engine="fio").result.write.ops
    scene.unharmed()


def test_a_file_of_ours_swapped_between_its_check_and_the_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with testfile.new(scene.path, SIZE) as held:
        held.keep()
    scene.before_the_step(monkeypatch, "driver.prepare_cell", scene.link)
    assert "aside" in (measured(scene.path).moved or "")
    scene.unharmed()
    # It was kept: it stays, where it is now.
    assert testfile.was_kept(scene.aside)


@pytest.mark.parametrize("swap", [Scene.link, Scene.rename_over], ids=["link", "accident"])
def test_verify_writes_and_removes_the_file_that_was_checked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, swap: Callable[[Scene], None]
) -> None:
    scene.before_the_step(monkeypatch, "verify.run_verification", lambda: swap(scene))
    done = verify_endpoint(f"file:{scene.path}", VerifyOptions(size=2 * MIB, direct=False), lambda _: None)
    scene.unharmed()
    assert done.verdict.value == "sound", done.why
    assert str(scene.path) in done.why
    assert os.path.lexists(scene.path)


@pytest.fixture
def place(scene: Scene) -> Iterator[Place]:
    layers = (
        Layer(name="file", endpoint=f"file:{scene.path}"),
        Layer(name="share", endpoint="nbd://127.0.0.1:0/strata", on=("file",)),
    )
    place = Place(Stack(name="s", layers=layers), scene.path, {}, direct=False)
    try:
        yield place
    finally:
        place.close()


@pytest.mark.parametrize("step", rest_in_ci(["place.fill", "place.TargetProcess", None], every_day=1))
def test_a_stack_is_filled_served_and_written_through_one_descriptor(
    scene: Scene, place: Place, monkeypatch: pytest.MonkeyPatch, step: str | None
) -> None:
    if step is not None:
        scene.before_the_step(monkeypatch, step, scene.link)
    place.prepare_file(SIZE, keep=False)
    place.place_layers("tmpfs")
    if step is None:
        scene.link()
    for layer in ("file", "share"):
        place.check_still_ours(layer)
        done = run_job(build_job(place.endpoint(layer), WRITES, place.segments(layer), QUICK))
        assert done.write.ops and not done.errored
    scene.unharmed()
    assert str(scene.aside) in (place.gone() or "")
    place.close()
    assert not scene.aside.exists()
    assert scene.path.is_symlink()


def test_when_the_mark_is_written_over_it_says_where_the_writes_went(scene: Scene, place: Place) -> None:
    """Exit 5 in the middle of a run: something was written, and it says to what."""
    place.prepare_file(SIZE, keep=False)
    place.place_layers("tmpfs")
    with scene.path.open("r+b") as file:
        file.write(b"a thesis")
    with pytest.raises(SafetyRefusal, match="this run has written only to this file") as caught:
        place.check_still_ours("file")
    assert "nothing was written" not in caught.value.render()
    with pytest.raises(SafetyRefusal, match="does not carry"):
        place.close()
    assert scene.path.read_bytes()[:8] == b"a thesis"


def test_a_resumed_run_takes_no_other_test_file_for_its_own(scene: Scene, place: Place) -> None:
    testfile.create(scene.path, SIZE)
    before = checksum(scene.path)
    with pytest.raises(SafetyRefusal, match="not the one that this run started with"):
        place.prepare_file(SIZE, keep=True, expected="0b0e7a1c-1111-2222-3333-444455556666")
    assert checksum(scene.path) == before


def test_reading_a_file_of_somebody_else_stays_with_the_file_that_was_looked_at(scene: Scene, tmp_path: Path) -> None:
    reads = Workload(rw=Rw.RANDREAD, bs=4096, arrival=ClosedLoop(iodepth=1))
    scene.path.write_bytes(bytes(SIZE))
    with opened(Endpoint.parse(f"file:{scene.path}"), reads, None, False, None) as target:
        scene.path.unlink()
        os.mkfifo(scene.path)
        # Long enough for one read on a disk that others keep busy.
        timing = Timing(ramp_s=0.0, runtime_s=0.5, interval_s=0.5)
        assert run_job(build_job(target.endpoint, reads, target.segments, timing)).read.ops
    with (
        pytest.raises(SafetyRefusal, match="not a regular file"),
        opened(Endpoint.parse(f"file:{scene.path}"), reads, None, False, None),
    ):
        pass


def test_another_user_swaps_the_name_in_its_directory_as_fast_as_it_can(tmp_path: Path) -> None:
    """The real race: a process of another user, in a directory of its own, against measure run by root."""
    with directory_of_another() as folder:
        victim, path, aside = tmp_path / "root-owned", folder / "strata.dat", folder / "aside"
        victim.write_bytes(os.urandom(SIZE))
        before = checksum(victim)
        until = time.monotonic() + 1.5

        def swap() -> None:
            while time.monotonic() < until:
                with suppress(OSError):
                    # As soon as the file is there, its name leads to the victim for a while, and then back.
                    path.rename(aside)
                    path.symlink_to(victim)
                    time.sleep(0.003)
                    path.unlink()
                    aside.rename(path)
                    time.sleep(0.001)

        attacker = as_another(swap)
        runs = 0
        try:
            while time.monotonic() < until:
                for name in (path, aside):
                    with suppress(OSError):
                        name.unlink()
                with suppress(StrataError):
                    measured(path)
                    runs += 1
        finally:
            assert ended(attacker) == 0
        assert checksum(victim) == before
        assert runs


def test_swapping_while_it_is_removed_removes_nothing_else(scene: Scene) -> None:
    held = testfile.new(scene.path, SIZE)
    stop = threading.Event()

    def swap() -> None:
        with suppress(OSError):
            while not stop.is_set():
                scene.path.rename(scene.aside)
                os.link(scene.victim, scene.path)
                scene.path.unlink()
                scene.aside.rename(scene.path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        with suppress(SafetyRefusal, RunFailed):
            held.remove()
    finally:
        stop.set()
        thread.join()
        held.let_go()
    assert checksum(scene.victim) == scene.before
