"""An option with a field of its own is one row: whatever passes it on finds it there, also one that is added later."""

from __future__ import annotations

from typing import Any

import pytest

from strata.engine.job import Timing, build_job
from strata.formats.diskspd import diskspd_words
from strata.formats.fio import fio_command, job_options
from strata.formats.fio_job import job_of_fio_line, section_of, workloads_of_fio_job
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.workload import Workload
from strata.model.workload_options import PLAIN, Kind, WorkloadOption
from strata.plan.profiles.emit import words_of
from strata.plan.words import workload_from_words
from strata.units import MIB

ROWS = pytest.mark.parametrize("row", PLAIN.values(), ids=lambda row: row.name)
FILE = Endpoint.parse("file:/a")
SEGMENTS = (Segment(start=0, length=16 * MIB, target=0),)
USUAL = workload_from_words("randrw", "4k")


def asked(row: WorkloadOption) -> tuple[Any, Workload]:
    """A value that asks for something, and the workload with it."""
    unusual = {Kind.FLAG: not row.default, Kind.COUNT: 3, Kind.SIZE: 1024, Kind.NUMBER: 1.5}
    value = unusual[row.kind] if row.kind in unusual else next(c for c in row.choices if c != row.default)
    return value, workload_from_words("randrw", "4k", **{row.name: value})


@ROWS
def test_its_word_becomes_the_field_and_the_field_its_word(row: WorkloadOption) -> None:
    value, workload = asked(row)
    assert row.field is not None and getattr(workload, row.field) == value != getattr(USUAL, row.field)
    assert list(workload.asked()) == [(row, value)] and list(USUAL.asked()) == []
    assert words_of(workload)[row.name] == value
    assert workload_from_words(**words_of(workload)) == workload
    assert Workload.model_validate_json(workload.model_dump_json()) == workload


@ROWS
def test_the_job_has_it_under_the_name_of_its_field(row: WorkloadOption) -> None:
    value, workload = asked(row)
    told, usual = (
        build_job(FILE, one, SEGMENTS, Timing(ramp_s=0, runtime_s=1))["workload"] for one in (workload, USUAL)
    )
    apart = {name for name in told if told[name] != usual[name]} - {"seed"}
    # The seed of a job is made of the workload's seed and key.
    assert told["seed"] != usual["seed"] or not row.key
    assert apart == ({row.field} if row.engine else set())
    assert not row.engine or told[row.field] == value


@ROWS
def test_key_and_label_tell_it(row: WorkloadOption) -> None:
    _, workload = asked(row)
    assert (workload.key != USUAL.key) == bool(row.key)
    assert (workload.shape != USUAL.shape) == bool(row.label)
    assert " " not in workload.key and "{" not in workload.key + workload.label


@ROWS
def test_fio_is_told_it_or_is_not_asked(row: WorkloadOption) -> None:
    value, workload = asked(row)
    line = fio_command(FILE, workload, SEGMENTS, 0, 1)
    if row.fio is None:
        assert line is None
    elif row.fio and row.key:
        said = f"--{row.fio}" if row.kind is Kind.FLAG else f"--{row.fio}={value}"
        assert line is not None and line.split().count(said) == 1
        options = job_options(FILE, workload, SEGMENTS, 0, 1)
        assert options is not None
        _, words, complaints = section_of("a", options)
        assert complaints == [] and words[row.name] == value


@ROWS
def test_diskspd_says_it_or_is_said_to_lack_it(row: WorkloadOption) -> None:
    _, workload = asked(row)
    usual, made = diskspd_words(USUAL, 16 * MIB), diskspd_words(workload, 16 * MIB)
    lacks = [row.asks or row.name] if row.key and not row.diskspd else []
    assert made.complaints == [*usual.complaints, *lacks]
    assert not row.diskspd or made.words != usual.words


def test_two_options_that_lack_the_same_are_one_complaint() -> None:
    made = diskspd_words(USUAL.model_copy(update={"fsync": 3, "fdatasync": 3}), 16 * MIB)
    assert made.complaints == ["flushes between writes (fsync, fdatasync)"]


def test_zeros_of_a_fio_command_line_are_read_with_all_that_it_says() -> None:
    """The lines that Strata writes fill the buffers anew for each write: so do ours."""
    line = fio_command(FILE, workload_from_words("write", "4k", zero_buffers=True), SEGMENTS, 0, 1)
    assert line is not None and "--zero_buffers" in line.split() and "--refill_buffers" in line.split()
    text, complaints, _ = job_of_fio_line(line.split()[1:])
    [(_, words, more)] = workloads_of_fio_job(text)
    assert (complaints, more) == ((), []) and workload_from_words(**words).zero_buffers


@pytest.mark.parametrize(
    ("words", "key", "label"),
    [
        ({"fsync": 1}, "fsync1", "fsync after each write"),
        ({"fsync": 8}, "fsync8", "fsync after 8 writes"),
        ({"zero_buffers": True}, "zeros", "writes zeros"),
        ({"misalign": 1536}, "off1536b", "misaligned by 1.50 KiB"),
        ({"blockalign": "8k", "misalign": 512}, "align8k-off512b", "aligned to 8 KiB · misaligned by 512 B"),
        ({"fdatasync": 2, "threads": 3, "range": "1m", "rwmix_run": 4},
         "t3-run4-from1m-fdatasync2", "3 threads · from 1 MiB · fdatasync after 2 writes"),
    ],
)  # fmt: skip
def test_stored_names_stay_what_they_are(words: dict[str, Any], key: str, label: str) -> None:
    workload = workload_from_words("randrw", "4k", **words)
    assert workload.key == f"randrw50-4KiB-qd1-{key}"
    assert workload.shape == f"4 KiB · depth 1 · {label}"
