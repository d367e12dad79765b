"""fio's command line as a job file."""

from __future__ import annotations

from strata.formats.command_line import program_of
from strata.formats.fio_job import job_of_fio_line


def read(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    program, arguments = program_of(line) or ("", [])
    assert program == "fio"
    return job_of_fio_line(arguments)


def test_options_before_the_first_name_are_for_all() -> None:
    job, complaints, notes = read(
        "sudo /usr/bin/fio --direct=1 --ioengine libaio --name=a --rw=randread --time_based --name=b -rw=write --bs 64k"
    )
    assert job == ("[global]\ndirect=1\nioengine=libaio\n[a]\nrw=randread\ntime_based\n[b]\nrw=write\nbs=64k\n")
    assert (complaints, notes) == ((), ())


def test_a_section_called_global_and_a_line_without_a_name() -> None:
    assert read("fio --name=global --bs=8k --name=x --rw=read")[0] == "[global]\nbs=8k\n[x]\nrw=read\n"
    assert read("fio --rw=randread --bs=8k")[0] == "[global]\nrw=randread\nbs=8k\n[fio]\n"


def test_what_a_line_cannot_bring_and_what_fio_makes_of_it() -> None:
    _, complaints, _ = read("fio jobs.fio --section=a")
    assert [c.partition(":")[0] for c in complaints] == ["jobs.fio", "--section=a"]
    _, _, notes = read("fio --name=x --rw=randread --iodepth=8")
    assert "one I/O in flight" in notes[0]
    assert read("fio --name=x --rw=randread --iodepth=8 --ioengine=io_uring")[2] == ()
