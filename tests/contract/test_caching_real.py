"""Cold and warm on a real file, read back from the kernel; and what is said when somebody holds the pages."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import measured, strata, working_disk
from loops import MIB, image, loop, need_root

from strata import _core, units
from strata.engine import fill
from strata.host import testfile
from strata.host.mark import header_bytes

SIZE = 32 * units.MIB


@pytest.fixture
def own_file() -> Iterator[Path]:
    with working_disk() as disk:
        path = disk / "own.dat"
        mark = testfile.create(path, SIZE)
        fill(str(path), SIZE, 1, header_bytes(mark))
        yield path
        testfile.remove(path, mark)


def caching(*words: object) -> tuple[dict[str, Any], list[str]]:
    document = measured(*words)
    said = [c["message"] for c in document["checks"] if c["kind"] == "caching"]
    found: dict[str, Any] = document["result"]["caching"]
    assert found["departures"] == said
    return document, said


def test_cold_is_dropped_and_read_back(own_file: Path) -> None:
    own_file.read_bytes()
    # One pass and no more: the next one would be answered from memory.
    words = (f"file:{own_file}", "--rw", "read", "--bs", "128k", "--rate-iops", 500, "--runtime", "100ms")
    document, said = caching(*words, "--cache", "cold")
    state = document["result"]["caching"]
    assert state["asked"]["cache"] == state["in_force"]["cache"] == "cold"
    assert not document["result"]["effective"]["direct"]
    assert document["result"]["ramp_ns"] == 0
    assert state["before"]["resident"] == 0
    assert state["after"]["resident"] * mmap.PAGESIZE >= document["result"]["read"]["bytes"] > 0
    assert said == []


def test_pages_that_another_maps_are_named(own_file: Path) -> None:
    with own_file.open("rb") as f, mmap.mmap(f.fileno(), SIZE // 2, prot=mmap.PROT_READ) as held:
        assert sum(held[:: mmap.PAGESIZE]) > 0
        _, said = caching(f"file:{own_file}", "--cache", "cold", "--runtime", "50ms")
    assert len(said) == 1
    assert "a cold cache was requested" in said[0]
    assert "were in memory at the start" in said[0]


def test_a_cold_run_that_reads_the_same_again_says_how_much(own_file: Path) -> None:
    words = (f"file:{own_file}", "--rw", "read", "--bs", "1m", "--cache", "cold", "--runtime", "10s")
    document, said = caching(*words[:-1], "700ms")
    if document["result"]["read"]["bytes"] < 2 * SIZE:
        pytest.skip("this disk does not read the file twice in 0.7 s")
    assert "had been read before in the same measurement" in said[0]


def test_warm_is_read_and_read_back(own_file: Path) -> None:
    _core.drop_cached(str(own_file), 0, SIZE)
    document, said = caching(f"file:{own_file}", "--cache", "warm", "--runtime", "50ms")
    state = document["result"]["caching"]
    assert state["in_force"]["cache"] == "warm"
    # The first MiB holds the mark and is not measured.
    assert state["before"]["resident"] == state["before"]["pages"] == (SIZE - units.MIB) // mmap.PAGESIZE
    assert said == []


@pytest.mark.parametrize("state", ["cold", "warm"])
def test_several_targets_are_all_brought_into_the_state(own_file: Path, state: str) -> None:
    other = own_file.with_name("other.dat")
    mark = testfile.create(other, 2 * units.MIB)
    fill(str(other), 2 * units.MIB, 1, header_bytes(mark))
    for path in (own_file, other):
        if state == "cold":
            path.read_bytes()
        else:
            _core.drop_cached(str(path), 0, SIZE)
    words = (f"file:{own_file}", "--target", f"file:{other}", "--rate-iops", 100, "--runtime", "50ms")
    found = measured(*words, "--cache", state)["result"]["caching"]
    testfile.remove(other, mark)
    assert found["departures"] == []
    assert found["in_force"]["cache"] == state
    # The first MiB of each holds the mark: one MiB less of the one, one of the other.
    pages = SIZE // mmap.PAGESIZE
    assert (found["before"]["pages"], found["before"]["resident"]) == (pages, 0 if state == "cold" else pages)


def test_only_the_piece_that_is_used_is_warmed(own_file: Path) -> None:
    _core.drop_cached(str(own_file), 0, SIZE)
    document, said = caching(f"file:{own_file}", "--cache", "warm", "--range", "8m:1m", "--runtime", "50ms")
    assert document["result"]["caching"]["before"]["pages"] == units.MIB // mmap.PAGESIZE
    assert said == []


def test_direct_io_leaves_the_cache_as_it_was(own_file: Path) -> None:
    _core.drop_cached(str(own_file), 0, SIZE)
    document, said = caching(f"file:{own_file}", "--runtime", "50ms")
    state = document["result"]["caching"]
    assert state["in_force"] == {"direct": True, "sync": "none", "cache": "cold"}
    assert state["after"]["resident"] == 0
    assert said == []


def test_durability_is_in_force_and_shows_in_memory(own_file: Path) -> None:
    words = (f"file:{own_file}", "--rw", "write", "--bs", "64k", "--buffered", "--runtime", "50ms")
    document, said = caching(*words, "--sync", "rwf_dsync")
    state = document["result"]["caching"]
    assert state["in_force"]["sync"] == document["result"]["effective"]["sync"] == "rwf_dsync"
    assert state["after"]["unwritten"] in (0, None)
    assert said == []
    plain = measured(*words)["result"]["caching"]["after"]["unwritten"]
    assert plain is None or plain > 0


def test_a_device_that_nobody_else_holds_keeps_its_pages_for_the_measurement() -> None:
    need_root()
    with working_disk() as disk:
        backing = image(disk / "image", MIB)
        with loop(backing) as device:
            document, said = caching(f"block:{device}", "--cache", "warm", "--runtime", "50ms")
    state = document["result"]["caching"]
    assert state["before"]["resident"] == state["before"]["pages"] == MIB // mmap.PAGESIZE
    assert said == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nbd://127.0.0.1:1/x", "--cache", "cold"), "an NBD client has no cache"),
        (("block:/dev/null", "--cache", "cold"), "BLKFLSBUF"),
        (("null:", "--cache", "lukewarm"), "not one of cold, warm"),
        (("null:", "--rw", "write", "--dsync", "--sync", "none"), "--dsync"),
    ],
)
def test_what_cannot_be_had_is_a_usage_error(words: tuple[object, ...], said: str) -> None:
    done = strata("measure", *words, "--progress", "none")
    assert done.returncode == 2
    assert said in done.stderr


def test_layers_without_a_cache_are_left_out_with_the_reason() -> None:
    from strata.app.options import Options
    from strata.app.plan import plan_of
    from strata.model.stack import Layer, Stack
    from strata.plan.words import workload_from_words

    layers = (
        Layer(name="disk", endpoint="block:/dev/x"),
        Layer(name="file", endpoint="file:/x/y", on=("disk",)),
        Layer(name="share", endpoint="nbd://127.0.0.1:0/x", on=("file",)),
    )
    plan = plan_of(Stack(name="s", layers=layers), (workload_from_words("read", cache="cold"),), Options(), "r", SIZE)
    assert {c.layer: c.skip is None for c in plan.cells} == {"disk": False, "file": True, "share": False}
