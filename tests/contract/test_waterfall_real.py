"""`strata trace --waterfall` of programs whose requests are known: each is followed through both devices of a loop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from loops import MIB, loop, need, need_root
from tiers import rest_in_ci
from tracing import trace

from strata.model.trace import TraceResult
from strata.model.waterfall import Deed, PartKind, PathKind, RequestGroup, SubmittedBy, Waterfall

pytestmark = pytest.mark.root
COUNT = 300
SIZE = 8 * MIB


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    """A loop device over a file whose blocks all lie on a disk."""
    need_root()
    image = tmp_path / "image"
    with image.open("wb") as f:
        f.write(os.urandom(SIZE))
        os.fsync(f.fileno())
    with loop(image, "--direct-io=on") as made:
        yield made


def followed(device: str, *command: str) -> tuple[TraceResult, Waterfall]:
    done = trace(device, "--waterfall", "--json", "--", *command)
    assert done.returncode == 0, done.stderr
    result = TraceResult.model_validate_json(done.stdout)
    assert result.whole and result.waterfall is not None
    for sample in result.waterfall.samples:
        assert sum(ns for *_, ns in sample.segments) == sample.ns
    return result, result.waterfall


def parts(fall: Waterfall, group: RequestGroup) -> dict[tuple[PathKind, str, PartKind], int]:
    """(kind, name, part) → in how many requests it was."""
    return {
        (fall.layers[one.layer].kind, fall.layers[one.layer].name, part.part): part.times.count
        for one in group.layers
        for part in one.parts
    }


def test_direct_reads_go_through_the_loop_device_and_the_disk_below(device: str) -> None:
    dd = ["dd", f"if={device}", "of=/dev/null", "bs=8k", f"count={COUNT}", "iflag=direct"]
    result, fall = followed(device, *dd)
    (group,) = [g for g in fall.groups if g.deed is Deed.READ]
    assert (group.way, group.total.count, fall.missing.requests) == (SubmittedBy.CALL, COUNT, 0)
    found = parts(fall, group)
    upper = Path(device).name
    assert found[PathKind.CALL, "", PartKind.OWN] == COUNT
    # What the loop's worker adds is its own; what takes the time is the disk's.
    assert found[PathKind.DEVICE, upper, PartKind.OWN] == COUNT
    lower = [d.target.name for d in result.figures.devices if d.target.above == upper]
    if lower:
        assert found[PathKind.DEVICE, lower[0], PartKind.SERVICE] == COUNT
        assert (PathKind.DEVICE, upper, PartKind.SERVICE) not in found
    assert sum(p.mean_ns for layer in group.layers for p in layer.parts) == pytest.approx(group.total.mean_ns)


@pytest.mark.peer
@pytest.mark.parametrize(
    ("engine", "way"), rest_in_ci([("io_uring", SubmittedBy.IO_URING), ("libaio", SubmittedBy.AIO)], every_day=1)
)
def test_requests_at_depth_are_told_apart(device: str, engine: str, way: SubmittedBy) -> None:
    words = [need("fio"), "--name=a", f"--filename={device}", "--rw=randread", "--bs=4k", "--direct=1", "--iodepth=8"]
    words += [f"--ioengine={engine}", f"--io_size={4 * COUNT}k", "--norandommap", "--thread=0"]
    _, fall = followed(device, *words)
    (group,) = [g for g in fall.groups if g.way is way]
    # Two that read one block at one time are told of none.
    assert fall.missing.requests <= COUNT // 20
    assert group.deed is Deed.READ and COUNT - fall.missing.requests <= group.total.count <= COUNT


def test_a_sync_holds_its_flush_and_a_cached_read_needs_no_device(device: str) -> None:
    code = "import os,sys; f = os.open(sys.argv[1], os.O_RDWR); os.pwrite(f, bytes(4096), 0); os.fsync(f)"
    code += "; os.pread(f, 4096, 0)"
    need("python3")
    _, fall = followed(device, "python3", "-c", code, device)
    (sync,) = [g for g in fall.groups if g.deed is Deed.SYNC]
    assert sync.total.count == 1
    assert any(fall.layers[one.layer].kind is PathKind.DEVICE for one in sync.layers)
    assert fall.missing.above_devices >= 1
